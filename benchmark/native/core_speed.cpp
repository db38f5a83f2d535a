// The time of a cycle of a package's control core: computed torque with all terms, all checks, nothing at fault.
//
//     core_speed REPEATS
//
// Prints nanoseconds of processor time a cycle, the median over REPEATS rounds. Under callgrind,
// --toggle-collect='*ControlCore::update*' counts the instructions of the cycles alone.

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include CORE_HEADER

namespace robot = ROBOT;

namespace
{

constexpr int kCycles = 2000;
constexpr double kPeriod = 0.001;

double processor_time()
{
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

robot::JointArray filled(double value)
{
  robot::JointArray result;
  result.fill(value);
  return result;
}

robot::Settings all_terms()
{
  robot::Settings settings;
  settings.kp = filled(400.0);
  settings.kd = filled(40.0);
  settings.parameters.payload_mass = 1.0;
  settings.parameters.viscous = filled(0.5);
  settings.parameters.coulomb = filled(0.3);
  settings.model = robot::Model(settings.parameters);
  settings.beyond.load = filled(0.02);
  settings.beyond.stribeck = filled(0.1);
  settings.beyond.stribeck_velocity = filled(0.1);
  settings.beyond.coulomb_asymmetry = filled(0.01);
  settings.effort_limits = settings.effort_rate = filled(1e6);
  settings.lower = filled(-2.0);
  settings.upper = filled(2.0);
  settings.fastest = filled(5.0);
  settings.tolerance = filled(0.5);
  return settings;
}

}  // namespace

int main(int, char ** arguments)
{
  const int repeats = std::atoi(arguments[1]);
  const auto core = std::make_unique<robot::ControlCore>(all_terms());
  std::vector<robot::Input> inputs(kCycles);
  std::vector<double> times;
  double time = 0.0;
  double used = 0.0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (robot::Input & input : inputs) {  // a slow wave, followed closely
      time += kPeriod;
      input.time = time;
      input.reference_given = true;
      for (std::size_t i = 0; i < robot::kJoints; ++i) {
        const double phase = time + static_cast<double>(i);
        input.reference.q[i] = 0.5 * std::sin(phase);
        input.reference.qd[i] = 0.5 * std::cos(phase);
        input.reference.qdd[i] = -0.5 * std::sin(phase);
        input.q[i] = input.reference.q[i] + 1e-3 * std::sin(7.0 * phase);
        input.qd[i] = input.reference.qd[i];
      }
    }
    const double begin = processor_time();
    for (const robot::Input & input : inputs) {
      used += core->update(input).effort[0];
    }
    times.push_back((processor_time() - begin) / kCycles);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  const bool followed = core->condition().phase == robot::Phase::following && std::isfinite(used);
  std::printf("%.1f\n", followed ? 1e9 * times[static_cast<std::size_t>(repeats / 2)] : -1.0);
}
