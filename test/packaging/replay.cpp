// Feed recorded cycles to a package's control core, and write what it answers: the test's, not the package's.
//
//     replay RECORD ANSWERS
//
// Both are files of doubles. In RECORD, 1 begins other settings and 0 a cycle, in the order of recorded_loop.py.
// Prints the allocations during the cycles, which allocations.cpp counts.

#include <cstdio>
#include <vector>

#include "allocations.hpp"
#include ROBOT_HEADER

namespace robot = ROBOT;

namespace
{

struct Record
{
  std::vector<double> values;
  std::size_t at = 0;

  double number() {return values[at++];}
  template<typename Array>
  void array(Array & target)
  {
    for (auto & value : target) {
      value = number();
    }
  }
};

robot::Settings settings_of(Record & record)
{
  robot::Settings settings;
  settings.mode = static_cast<robot::Mode>(record.number());
  record.array(settings.kp);
  record.array(settings.kd);
  settings.inertia = record.number() > 0.0;
  settings.coriolis = record.number() > 0.0;
  settings.gravity = record.number() > 0.0;
  settings.friction = record.number() > 0.0;
  robot::Parameters & parameters = settings.parameters;
  record.array(parameters.gravity);
  parameters.payload_mass = record.number();
  record.array(parameters.payload_com);
  record.array(parameters.payload_inertia);
  record.array(parameters.rotor_inertia);
  record.array(parameters.viscous);
  record.array(parameters.coulomb);
  parameters.coulomb_velocity = record.number();
  settings.model = robot::Model(parameters);
  robot::FrictionBeyond & beyond = settings.beyond;
  for (auto * each : {&beyond.offset, &beyond.load, &beyond.stribeck, &beyond.coulomb_asymmetry,
      &beyond.viscous_asymmetry, &beyond.square_root, &beyond.stribeck_velocity,
      &beyond.at_rest})
  {
    record.array(*each);
  }
  for (auto * each : {&settings.effort_limits, &settings.effort_rate, &settings.lower, &settings.upper,
      &settings.fastest, &settings.tolerance})
  {
    record.array(*each);
  }
  settings.reference_limits = static_cast<robot::ReferenceLimits>(record.number());
  robot::Safety & safety = settings.safety;
  for (auto * each : {&safety.state_timeout, &safety.position_jump, &safety.saturation_time,
      &safety.overrun_period, &safety.recovery_time, &safety.no_effect_time})
  {
    *each = record.number();
  }
  for (auto & reaction : safety.reactions) {
    reaction = static_cast<robot::Reaction>(record.number());
  }
  return settings;
}

robot::Input cycle_of(Record & record)
{
  robot::Input input;
  input.time = record.number();
  record.array(input.q);
  record.array(input.qd);
  input.reference_given = record.number() > 0.0;
  record.array(input.reference.q);
  record.array(input.reference.qd);
  record.array(input.reference.qdd);
  return input;
}

Record read(const char * path)
{
  Record record;
  std::FILE * file = std::fopen(path, "rb");
  std::fseek(file, 0, SEEK_END);
  record.values.resize(static_cast<std::size_t>(std::ftell(file)) / sizeof(double));
  std::rewind(file);
  if (std::fread(record.values.data(), sizeof(double), record.values.size(), file) != record.values.size()) {
    record.values.clear();
  }
  std::fclose(file);
  return record;
}

}  // namespace

int main(int, char ** arguments)
{
  Record record = read(arguments[1]);
  std::vector<double> answers;
  answers.reserve(record.values.size());
  robot::ControlCore core;
  long allocated = 0;
  while (record.at < record.values.size()) {
    if (record.number() > 0.0) {
      core.configure(settings_of(record));
      continue;
    }
    const robot::Input input = cycle_of(record);
    const long before = allocations();
    const robot::Command command = core.update(input);
    allocated += allocations() - before;
    const robot::Condition & condition = core.condition();
    answers.push_back(command.given);
    answers.insert(answers.end(), command.effort.begin(), command.effort.end());
    answers.push_back(static_cast<double>(condition.phase));
    answers.push_back(static_cast<double>(condition.fault));
    answers.push_back(condition.lasting);
    for (const auto count : condition.faults) {
      answers.push_back(static_cast<double>(count));
    }
    answers.push_back(static_cast<double>(condition.refusal));
  }
  std::FILE * file = std::fopen(arguments[2], "wb");
  std::fwrite(answers.data(), sizeof(double), answers.size(), file);
  std::fclose(file);
  std::printf("allocations before: %ld, in the cycles: %ld\n", allocations() - allocated, allocated);
}
