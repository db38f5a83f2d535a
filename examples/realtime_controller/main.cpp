// A real-time control loop on the generated C code, with a second thread that reads the same model.
//
//     realtime_controller [CYCLES [PERIOD_US]]
//
// The loop drives a simulated arm along sine waves by computed torque; put your robot's driver in place of
// `Arm`. The second thread is a monitor as robots have them: it evaluates the model at the latest state, here
// its energy. Prints what was reached; exit code 1 when the arm did not follow or the loop allocated memory.

#include <time.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "allocations.hpp"
#include "computed_torque.hpp"

namespace {

constexpr double kStep = 1e-3;          // control period [s]
constexpr double kPayload = 2.0;        // [kg]
constexpr double kLargestError = 2e-3;  // the simulated arm is exact: what is left is the step of time [rad]
constexpr int kSettling = 1000;         // cycles until the initial error has died out

// Stands in for the robot and its driver.
class Arm {
 public:
  explicit Arm(const Model& model) : model_(model) {}
  const Joints& position() const { return q_; }
  const Joints& velocity() const { return qd_; }

  // The effort acts for one period; symplectic Euler in short steps.
  bool command(const Joints& tau) {
    constexpr int kSubsteps = 4;
    for (int k = 0; k < kSubsteps; ++k) {
      Joints qdd;
      if (!model_.forward_dynamics(q_, qd_, tau, qdd)) return false;
      for (int i = 0; i < kJoints; ++i) {
        qd_[i] += qdd[i] * kStep / kSubsteps;
        q_[i] += qd_[i] * kStep / kSubsteps;
      }
    }
    return true;
  }

 private:
  const Model& model_;
  Joints q_{}, qd_{};
};

Reference sine_waves(double t) {
  Reference wanted;
  for (int i = 0; i < kJoints; ++i) {
    const double amplitude = 0.5, rate = 1.0 + 0.3 * i;
    wanted.q[i] = amplitude * std::sin(rate * t);
    wanted.qd[i] = amplitude * rate * std::cos(rate * t);
    wanted.qdd[i] = -amplitude * rate * rate * std::sin(rate * t);
  }
  return wanted;
}

// The state that both threads share: each value atomic, no lock that the loop could wait for.
struct Shared {
  std::array<std::atomic<double>, kJoints> q{}, qd{};
  std::atomic<bool> running{true};
  std::atomic<long> evaluations{0};
};

void monitor(const Model& model, Shared& shared, double& most_energy) {
  while (shared.running.load()) {
    Joints q, qd;
    for (int i = 0; i < kJoints; ++i) q[i] = shared.q[i].load(), qd[i] = shared.qd[i].load();
    most_energy = std::fmax(most_energy, model.energy(q, qd)[0]);
    ++shared.evaluations;
  }
}

void sleep_until_next_cycle(timespec& next, long period_ns) {
  next.tv_nsec += period_ns;
  while (next.tv_nsec >= 1000000000L) next.tv_nsec -= 1000000000L, ++next.tv_sec;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
}

// The largest tracking error after settling [rad], or a negative number where the arm became singular.
double control(const Model& model, Shared& shared, int cycles, long period_ns) {
  const ComputedTorque controller(model, 400.0, 40.0);
  Arm arm(model);
  double worst = 0.0;
  timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int cycle = 0; cycle < cycles; ++cycle) {
    const Reference wanted = sine_waves(cycle * kStep);
    const Joints &q = arm.position(), &qd = arm.velocity();
    for (int i = 0; i < kJoints; ++i) {
      shared.q[i].store(q[i]), shared.qd[i].store(qd[i]);
      if (cycle >= kSettling) worst = std::fmax(worst, std::fabs(wanted.q[i] - q[i]));
    }
    if (!arm.command(controller.update(wanted, q, qd))) return -1.0;
    if (period_ns > 0) sleep_until_next_cycle(next, period_ns);
  }
  return worst;
}

}  // namespace

int main(int count, char** arguments) {
  const int cycles = count > 1 ? std::atoi(arguments[1]) : 5000;
  const long period_ns = count > 2 ? std::atol(arguments[2]) * 1000L : 1000000L;
  const Model model(kPayload);
  Shared shared;
  double most_energy = 0.0;
  std::thread watcher(monitor, std::cref(model), std::ref(shared), std::ref(most_energy));
  while (shared.evaluations.load() == 0) std::this_thread::yield();
  const long before = allocations();
  const double worst = control(model, shared, cycles, period_ns);
  const long allocated = allocations() - before;
  shared.running.store(false);
  watcher.join();
  std::printf("cycles: %d\nlargest error after settling: %.2e rad\n", cycles, worst);
  std::printf("allocations before the loop: %ld, in the loop: %ld\n", before, allocated);
  std::printf("evaluations by the second thread: %ld\n", shared.evaluations.load());
  std::printf("most kinetic energy: %.3f J\n", most_energy);
  return worst >= 0.0 && worst < kLargestError && allocated == 0 ? 0 : 1;
}
