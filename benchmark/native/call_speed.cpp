// Time of one call of dynamics from C++: Pinocchio, MuJoCo and C functions, interleaved.
//
//     call_speed URDF MODEL.mjb REPEATS
//
// Prints "work name nanoseconds difference spread" lines: the median over repeats, the largest difference of the
// result from Pinocchio's, relative to the largest element, and half the distance of the rounds' quartiles over
// their median. Compiled without -march=native, because the
// alignment of Eigen's types must be that of the library; the C functions are compiled with it, apart.

#include <mujoco/mujoco.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>
#include <random>
#include <string>
#include <vector>

#include "candidates.h"

namespace {

constexpr int kStates = 512;   // walked through in turn: nothing is learnt by heart
constexpr int kCalls = 1024;   // in one timed stretch

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

// The result at state i; the time of a call includes this one indirect call, the same for all.
using Evaluate = std::function<void(int i, double* out)>;

struct Rival {
  std::string work, name;
  Evaluate evaluate;
  std::vector<double> nanoseconds;
  double difference = 0.0;
};

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// What Pinocchio computes, and its results row by row: only compared, because rivals need not copy either.
struct Work {
  std::string name;
  int tables;  // matrices (n, n) of the result; 0: one vector
  std::function<void(int i)> pinocchio;
  std::function<void(double* out)> result;

  int size(int n) const { return tables ? tables * n * n : n; }
};

double sink = 0.0;  // printed, so that no call is optimised away

// Processor time, so that other programs on the machine do not count [ns].
double processor_time() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double timed(const Evaluate& evaluate, double* out) {
  const double start = processor_time();
  for (int call = 0; call < kCalls; ++call) {
    evaluate(call % kStates, out);
    sink += out[0];
  }
  return (processor_time() - start) / kCalls;
}

void compare(Rival& rival, const Work& work, int size) {
  Eigen::VectorXd found(size), expected(size);
  for (int i = 0; i < kStates; ++i) {
    rival.evaluate(i, found.data());
    work.pinocchio(i);
    work.result(expected.data());
    const double largest = std::max(1e-9, expected.cwiseAbs().maxCoeff());
    rival.difference = std::max(rival.difference, (found - expected).cwiseAbs().maxCoeff() / largest);
  }
}

double quantile(std::vector<double> values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * (values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
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
  const int n = model.nv;
  const States states(n);
  const auto full = [n](Eigen::MatrixXd upper) {
    upper.triangularView<Eigen::StrictlyLower>() = upper.transpose().triangularView<Eigen::StrictlyLower>();
    return upper;
  };
  const auto put = [n](const Eigen::MatrixXd& table, double* out) { Eigen::Map<Rows>(out, n, n) = table; };
  const std::vector<Work> works = {
      {"inverse_dynamics", 0, [&](int i) { pinocchio::rnea(model, data, states.q[i], states.qd[i], states.qdd[i]); },
       [&](double* out) { std::copy(data.tau.data(), data.tau.data() + n, out); }},
      {"mass_matrix", 1, [&](int i) { pinocchio::crba(model, data, states.q[i]); },
       [&](double* out) { put(full(data.M), out); }},
      {"forward_dynamics", 0, [&](int i) { pinocchio::aba(model, data, states.q[i], states.qd[i], states.qdd[i]); },
       [&](double* out) { std::copy(data.ddq.data(), data.ddq.data() + n, out); }},
      {"inverse_dynamics_derivatives", 2,
       [&](int i) {
         pinocchio::computeRNEADerivatives(model, data, states.q[i], states.qd[i], states.qdd[i]);
       },
       [&](double* out) { put(data.dtau_dq, out), put(data.dtau_dv, out + n * n); }},
      {"forward_dynamics_derivatives", 3,
       [&](int i) {
         pinocchio::computeABADerivatives(model, data, states.q[i], states.qd[i], states.qdd[i]);
       },
       [&](double* out) {
         put(data.ddq_dq, out), put(data.ddq_dv, out + n * n), put(full(data.Minv), out + 2 * n * n);
       }},
  };
  std::vector<Rival> rivals;
  for (const Work& work : works)
    rivals.push_back({work.name, "pinocchio", [&work, &data](int i, double* out) {
                        work.pinocchio(i);
                        out[0] = data.tau[0];
                      }, {}});
  mjModel* mujoco = mj_loadModel(arguments[2], nullptr);
  if (mujoco != nullptr)
    rivals.push_back({"inverse_dynamics", "mujoco", mujoco_inverse(mujoco, mj_makeData(mujoco), states), {}});
  for (int k = 0; k < candidate_count; ++k) {
    const dynamics_function call = candidates[k].call;
    rivals.push_back({candidates[k].work, candidates[k].name, [call, &states](int i, double* out) {
                        call(states.q[i].data(), states.qd[i].data(), states.qdd[i].data(), out);
                      }, {}});
  }

  std::vector<double> out(3 * n * n + n);
  for (Rival& rival : rivals)
    for (const Work& work : works)
      if (work.name == rival.work && rival.name != "pinocchio") compare(rival, work, work.size(n));
  for (int repeat = 0; repeat < std::atoi(arguments[3]); ++repeat)
    for (Rival& rival : rivals) rival.nanoseconds.push_back(timed(rival.evaluate, out.data()));
  for (const Rival& rival : rivals) {
    const std::vector<double>& rounds = rival.nanoseconds;
    const double median = quantile(rounds, 0.5);
    std::printf("%s %s %.2f %.2e %.4f\n", rival.work.c_str(), rival.name.c_str(), median, rival.difference,
                (quantile(rounds, 0.75) - quantile(rounds, 0.25)) / 2 / median);
  }
  std::fprintf(stderr, "sum of results %g\n", sink);
  return 0;
}
