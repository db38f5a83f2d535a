// Time of one call of inverse dynamics from C++: Pinocchio, MuJoCo and C functions, interleaved.
//
//     call_speed URDF MODEL.mjb REPEATS
//
// Prints "name nanoseconds difference" lines: the median over repeats, and the largest difference of the
// torques from Pinocchio's, relative to the largest torque. Compiled without -march=native, because the
// alignment of Eigen's types must be that of the library; the C functions are compiled with it, apart.

#include <mujoco/mujoco.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>
#include <random>
#include <string>
#include <vector>

#include "candidates.h"

namespace {

constexpr int kStates = 512;   // walked through in turn: nothing is learnt by heart
constexpr int kCalls = 4096;   // in one timed stretch

struct States {
  std::vector<Eigen::VectorXd> q, qd, qdd;

  explicit States(int n) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> angle(-3.0, 3.0), rate(-2.0, 2.0), push(-10.0, 10.0);
    for (int i = 0; i < kStates; ++i) {
      q.push_back(Eigen::VectorXd::NullaryExpr(n, [&] { return angle(random); }));
      qd.push_back(Eigen::VectorXd::NullaryExpr(n, [&] { return rate(random); }));
      qdd.push_back(Eigen::VectorXd::NullaryExpr(n, [&] { return push(random); }));
    }
  }
};

// tau of state i; the time of a call includes this one indirect call, the same for all.
using Evaluate = std::function<void(int i, double* tau)>;

struct Rival {
  std::string name;
  Evaluate evaluate;
  std::vector<double> nanoseconds;
  double difference = 0.0;
};

double sink = 0.0;  // printed, so that no call is optimised away

// Processor time, so that other programs on the machine do not count [ns].
double processor_time() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double timed(const Evaluate& evaluate, double* tau) {
  const double start = processor_time();
  for (int call = 0; call < kCalls; ++call) {
    evaluate(call % kStates, tau);
    sink += tau[0];
  }
  return (processor_time() - start) / kCalls;
}

void compare(Rival& rival, const Evaluate& reference, int n) {
  Eigen::VectorXd found(n), expected(n);
  for (int i = 0; i < kStates; ++i) {
    rival.evaluate(i, found.data());
    reference(i, expected.data());
    const double largest = std::max(1e-9, expected.cwiseAbs().maxCoeff());
    rival.difference = std::max(rival.difference, (found - expected).cwiseAbs().maxCoeff() / largest);
  }
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Evaluate mujoco_inverse(const mjModel* model, mjData* data, const States& states) {
  return [=, &states](int i, double* tau) {
    const std::size_t bytes = sizeof(double) * model->nv;
    std::memcpy(data->qpos, states.q[i].data(), bytes);
    std::memcpy(data->qvel, states.qd[i].data(), bytes);
    std::memcpy(data->qacc, states.qdd[i].data(), bytes);
    mj_inverse(model, data);
    std::memcpy(tau, data->qfrc_inverse, bytes);
  };
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: call_speed URDF MODEL.mjb REPEATS\n");
    return 2;
  }
  pinocchio::Model model;
  pinocchio::urdf::buildModel(std::string(arguments[1]), model);
  pinocchio::Data data(model);
  const States states(model.nv);

  std::vector<Rival> rivals;
  rivals.push_back({"pinocchio", [&](int i, double* tau) {
                      pinocchio::rnea(model, data, states.q[i], states.qd[i], states.qdd[i]);
                      std::copy(data.tau.data(), data.tau.data() + model.nv, tau);
                    }, {}});
  mjModel* mujoco = mj_loadModel(arguments[2], nullptr);
  if (mujoco != nullptr) rivals.push_back({"mujoco", mujoco_inverse(mujoco, mj_makeData(mujoco), states), {}});
  for (int k = 0; k < candidate_count; ++k) {
    const inverse_dynamics_function call = candidates[k].call;
    rivals.push_back({candidates[k].name, [call, &states](int i, double* tau) {
                        call(states.q[i].data(), states.qd[i].data(), states.qdd[i].data(), tau);
                      }, {}});
  }

  std::vector<double> tau(model.nv);
  for (Rival& rival : rivals) compare(rival, rivals.front().evaluate, model.nv);
  for (int repeat = 0; repeat < std::atoi(arguments[3]); ++repeat)
    for (Rival& rival : rivals) rival.nanoseconds.push_back(timed(rival.evaluate, tau.data()));
  for (const Rival& rival : rivals)
    std::printf("%s %.2f %.2e\n", rival.name.c_str(), median(rival.nanoseconds), rival.difference);
  std::fprintf(stderr, "sum of torques %g\n", sink);
  return 0;
}
