// A package's controller between stand-ins of ros2_control: the test's, not the package's.
//
//     drive_controller SCENARIO URDF_FILE
//
// Prints one line for each thing that happens.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "controller.hpp"
#include "settings.hpp"

using controller_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;

namespace robot = ROBOT;
namespace parameters = PARAMETERS;

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string text_of(const char * path)
{
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The controller with its hardware, whose values are in two vectors.
struct Bench
{
  robot::Controller controller;
  std::vector<double> states, commands;
  std::vector<CommandInterface::SharedPtr> references;
  bool lacking = false;
  std::vector<std::string> controller_joints;

  void say(const char * what, CallbackReturn result)
  {
    std::printf("%s: %s\n", what, result == CallbackReturn::SUCCESS ? "success" : "error");
    for (const std::string & line : *controller.get_node()->get_logger().lines) {
      std::printf("log: %s\n", line.c_str());
    }
    controller.get_node()->get_logger().lines->clear();
  }

  bool start(const std::string & urdf)
  {
    controller.init("dynamics_controller", urdf);
    if (!controller_joints.empty()) {
      parameters::stand_in().joints = controller_joints;
    }
    const CallbackReturn configured = controller.on_configure({});
    say("configure", configured);
    if (configured != CallbackReturn::SUCCESS) {
      return false;
    }
    references = controller.export_reference_interfaces();
    lend();
    const CallbackReturn activated = controller.on_activate({});
    say("activate", activated);
    return activated == CallbackReturn::SUCCESS;
  }

  void lend()
  {
    std::vector<hardware_interface::LoanedStateInterface> lent_states;
    std::vector<hardware_interface::LoanedCommandInterface> lent_commands;
    const auto states_wanted = controller.state_interface_configuration().names;
    const auto commands_wanted = controller.command_interface_configuration().names;
    states.assign(states_wanted.size(), 0.0);
    commands.assign(commands_wanted.size(), kNaN);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    for (std::size_t i = 0; i < states.size(); ++i) {
      lent_states.emplace_back(std::make_shared<StateInterface>(prefix(states_wanted[i]), last(states_wanted[i]), &states[i]));
    }
    for (std::size_t i = lacking ? 1 : 0; i < commands.size(); ++i) {
      lent_commands.emplace_back(
        std::make_shared<CommandInterface>(prefix(commands_wanted[i]), last(commands_wanted[i]), &commands[i]));
    }
#pragma GCC diagnostic pop
    controller.assign_interfaces(std::move(lent_commands), std::move(lent_states));
  }

  static std::string prefix(const std::string & name) {return name.substr(0, name.rfind('/'));}
  static std::string last(const std::string & name) {return name.substr(name.rfind('/') + 1);}

  void cycle(double seconds = 0.001)
  {
    controller.update(rclcpp::Time(), rclcpp::Duration::from_seconds(seconds));
  }

  void print(const char * what) const
  {
    std::printf("%s:", what);
    for (const double command : commands) {
      std::printf(" %.17g", command);
    }
    std::printf("\n");
  }

  void print_status()
  {
    controller.get_node()->timer->callback();
    using Array = diagnostic_msgs::msg::DiagnosticArray;
    const auto publisher = std::any_cast<rclcpp::Publisher<Array>::SharedPtr>(
      controller.get_node()->topics.at("/diagnostics"));
    const auto & status = publisher->published.back().status.front();
    std::printf("status %d: %s\n", status.level, status.message.c_str());
    for (const auto & value : status.values) {
      std::printf("value %s = %s\n", value.key.c_str(), value.value.c_str());
    }
  }

  /// What a message on ~/reference does.
  void send(double position)
  {
    using Message = trajectory_msgs::msg::JointTrajectory;
    const auto subscription = std::any_cast<rclcpp::Subscription<Message>::SharedPtr>(
      controller.get_node()->topics.at("~/reference"));
    Message message;
    message.points.resize(1);
    for (std::size_t i = robot::kJoints; i-- > 0; ) {  // in another order than the model's
      message.joint_names.emplace_back(robot::kJointInfo[i].name);
      message.points[0].positions.push_back(position);
    }
    subscription->callback(message);
  }
};

void set_references(const Bench & bench, double position)
{
  for (std::size_t i = 0; i < bench.references.size(); ++i) {
    *bench.references[i]->value() = i < robot::kJoints ? position : 0.0;
  }
}

void chained(Bench & bench)
{
  bench.controller.set_chained_mode(true);
  for (const auto & reference : bench.references) {
    std::printf("reference %s\n", reference->get_name().c_str());
  }
  bench.cycle();
  bench.print("held");
  set_references(bench, 0.0);
  bench.cycle();
  bench.print_status();
  const long before = allocations();
  for (int k = 1; k <= 1000; ++k) {
    set_references(bench, 1e-5 * k);
    for (std::size_t i = 0; i < robot::kJoints; ++i) {
      bench.states[i] = 1e-5 * k;
    }
    bench.cycle();
  }
  std::printf("allocations in 1000 cycles: %ld of %ld\n", allocations() - before, before);
  bench.print("followed");
  bench.print_status();
  bench.controller.states()[0].locked = true;
  for (int k = 0; k < 200; ++k) {
    bench.cycle();
  }
  bench.print_status();
  bench.print("without states");
  bench.controller.states()[0].locked = false;
  bench.controller.on_deactivate({});
  bench.print("left");
}

void topic(Bench & bench)
{
  bench.cycle();
  bench.send(0.001);
  bench.cycle();
  bench.print_status();
  for (int k = 0; k < 150; ++k) {
    bench.cycle();
  }
  bench.print_status();
  parameters::stand_in().computed_torque.kp = {1.0, 2.0};
  parameters::ParamListener::changed()(parameters::stand_in());
  bench.say("set", CallbackReturn::ERROR);
  parameters::stand_in().computed_torque.kp = {100.0};
  parameters::stand_in().mode = "gravity_compensation";
  parameters::ParamListener::changed()(parameters::stand_in());
  bench.cycle();
  bench.print_status();
}

/// Settings that were given while the controller was active, and not taken, are not those of the next activation.
void configured_again(Bench & bench)
{
  parameters::stand_in().mode = "feedforward";
  parameters::ParamListener::changed()(parameters::stand_in());
  bench.controller.on_deactivate({});
  bench.controller.on_cleanup({});
  parameters::stand_in().mode = "gravity_compensation";
  bench.controller.on_configure({});
  bench.lend();
  bench.controller.on_activate({});
  for (std::size_t i = 0; i < robot::kJoints; ++i) {
    bench.states[i] = 0.2;
  }
  bench.cycle();
  bench.states[0] = 0.1;
  bench.cycle();  // only gravity_compensation leaves the position that was held
  bench.print("again");
}

/// The settings that the parameters make, in the order of replay.cpp.
void print_settings(const robot::Settings & settings)
{
  std::printf("settings: %g", static_cast<double>(settings.mode));
  const auto print = [](const auto & values) {
      for (const double value : values) {
        std::printf(" %.17g", value);
      }
    };
  print(settings.kp);
  print(settings.kd);
  std::printf(" %d %d %d %d", settings.inertia, settings.coriolis, settings.gravity, settings.friction);
  const robot::Parameters & model = settings.parameters;
  print(model.gravity);
  std::printf(" %.17g", model.payload_mass);
  print(model.payload_com);
  print(model.payload_inertia);
  for (const auto * each : {&model.rotor_inertia, &model.viscous, &model.coulomb}) {
    print(*each);
  }
  std::printf(" %.17g", model.coulomb_velocity);
  const robot::FrictionBeyond & beyond = settings.beyond;
  for (const auto * each : {&beyond.offset, &beyond.load, &beyond.stribeck, &beyond.coulomb_asymmetry,
      &beyond.viscous_asymmetry, &beyond.square_root, &beyond.stribeck_velocity, &beyond.at_rest, &settings.effort_limits,
      &settings.effort_rate, &settings.lower, &settings.upper, &settings.fastest, &settings.tolerance})
  {
    print(*each);
  }
  const robot::Safety & safety = settings.safety;
  std::printf(" %g", static_cast<double>(settings.reference_limits));
  for (const double value : {safety.state_timeout, safety.position_jump, safety.saturation_time,
      safety.overrun_period, safety.recovery_time, safety.no_effect_time})
  {
    std::printf(" %.17g", value);
  }
  for (const robot::Reaction reaction : safety.reactions) {
    std::printf(" %g", static_cast<double>(reaction));
  }
  std::printf("\n");
}

/// Parameters other than the defaults, the same as in test_package_classes.py.
void change(parameters::Params & params)
{
  params.mode = "feedforward_pd";
  params.feedforward_pd.kd = {3.0};
  params.terms.coriolis = false;
  params.gravity = {0.0, 0.0, -1.62};
  params.payload.mass = 2.0;
  params.payload.com = {0.0, 0.01, 0.1};
  params.payload.inertia = {0.02, 0.001, 0.0, 0.03, 0.002, 0.025};
  params.friction.urdf_friction = false;
  params.friction.viscous = {0.5};
  params.friction.stribeck = {0.1};
  params.limits.effort = {50.0};
  params.limits.effort_rate = {400.0};
  params.trajectory.limits = "clamp";
  params.safety.on_saturation = "stop";
}

}  // namespace

int main(int, char ** arguments)
{
  const std::string scenario = arguments[1];
  auto bench = std::make_unique<Bench>();
  auto & params = parameters::stand_in();
  if (scenario == "drives") {
    params.command_interfaces = {"position", "velocity", "effort"};
  } else if (scenario == "no effort") {
    params.command_interfaces = {"position"};
  } else if (scenario == "lacking") {
    bench->lacking = true;
  } else if (scenario == "wrong length") {
    params.limits.effort = {1.0, 2.0};
  } else if (scenario == "unchecked") {
    params.description_check = "off";
  } else if (scenario == "given limits") {
    params.limits.effort = {100.0};
  } else if (scenario == "some references") {
    params.reference_interfaces = {"velocity"};
  } else if (scenario == "required" || scenario == "none") {
    params.description_check = scenario == "none" ? "when_received" : "required";
  } else if (scenario == "impossible payload") {
    params.payload.mass = 1.0;
    params.payload.inertia = {1.0, 0.0, 0.0, 1.0, 0.0, 3.0};
  } else if (scenario == "changed settings") {
    change(params);
  } else if (scenario == "other joints") {
    bench->controller_joints = {"another"};
  }
  const bool described = scenario != "required" && scenario != "none";
  if (!bench->start(described ? text_of(arguments[2]) : "")) {
    return 1;
  }
  if (scenario == "given limits") {
    parameters::stand_in().limits.effort.clear();
    parameters::ParamListener::changed()(parameters::stand_in());
    bench->say("set", CallbackReturn::ERROR);
  } else if (scenario == "chained") {
    chained(*bench);
  } else if (scenario == "topic") {
    topic(*bench);
  } else if (scenario == "configured again") {
    configured_again(*bench);
  } else if (scenario == "default settings" || scenario == "changed settings") {
    print_settings(robot::settings_from(parameters::stand_in()));
  } else {
    bench->cycle();
    bench->print("held");
  }
}
