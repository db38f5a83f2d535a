// A stand-in for the tests: see README.md.
#pragma once

#include <Eigen/Core>

#include <string>

#include "rclcpp/node_interfaces/node_parameters_interface.hpp"

namespace inverse_dynamics_solver
{

class InverseDynamicsSolver
{
public:
  virtual ~InverseDynamicsSolver() = default;
  virtual void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const = 0;
  virtual Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd & q, const Eigen::VectorXd & qd) const = 0;
  virtual Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const = 0;
  virtual Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & qd) const = 0;
  virtual Eigen::VectorXd getTorques(
    const Eigen::VectorXd & q, const Eigen::VectorXd & qd, const Eigen::VectorXd & qdd) const
  {
    return getInertiaMatrix(q) * qdd + getCoriolisVector(q, qd) + getGravityVector(q);
  }

protected:
  InverseDynamicsSolver() = default;
};

}  // namespace inverse_dynamics_solver
