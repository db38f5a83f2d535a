// A package's solver behind the interface of inverse_dynamics_solver: the test's, not the package's.
//
//     solver_test URDF_FILE [GRAVITY]
//
// Prints what each function gives at q = 0.1, 0.2 ..., qd = 0.3, 0.4 ..., qdd = 0.5, 0.6 ...

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#include "rclcpp/exceptions/exceptions.hpp"

extern "C" void * make_plugin();

int main(int count, char ** arguments)
{
  using inverse_dynamics_solver::InverseDynamicsSolver;
  const std::unique_ptr<InverseDynamicsSolver> solver(static_cast<InverseDynamicsSolver *>(make_plugin()));
  std::ifstream file(arguments[1]);
  const std::string urdf{std::istreambuf_iterator<char>(file), {}};
  const auto parameters = std::make_shared<rclcpp::node_interfaces::NodeParametersInterface>();
  if (count > 2) {
    parameters->parameters["ids.gravity"] =
      rclcpp::Parameter(std::vector<double>{0.0, 0.0, std::atof(arguments[2])});
  }
  try {
    solver->getGravityVector(Eigen::VectorXd::Zero(JOINTS));
  } catch (const std::runtime_error & error) {
    std::cout << error.what() << "\n";
  }
  try {
    solver->initialize(parameters, "ids", urdf);
  } catch (const rclcpp::exceptions::InvalidParameterValueException & error) {
    std::cout << error.what() << "\n";
    return 1;
  }
  const Eigen::VectorXd q = Eigen::VectorXd::LinSpaced(JOINTS, 0.1, 0.1 * JOINTS);
  const Eigen::VectorXd qd = q.array() + 0.2, qdd = q.array() + 0.4;
  std::cout.precision(17);
  std::cout << solver->getInertiaMatrix(q) << "\n" << solver->getCoriolisVector(q, qd).transpose() << "\n"
            << solver->getGravityVector(q).transpose() << "\n" << solver->getFrictionVector(qd).transpose() << "\n"
            << solver->getTorques(q, qd, qdd).transpose() << "\n";
  try {
    solver->getGravityVector(Eigen::VectorXd::Zero(JOINTS + 1));
  } catch (const std::invalid_argument & error) {
    std::cout << error.what() << "\n";
  }
}
