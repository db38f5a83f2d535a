// A stand-in for the tests: see README.md. ROS2_CONTROL is 4 or 5; from 5.13 on (and 4.44) reference interfaces are
// rather exported as a list of pointers, and the form without is deprecated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hardware_interface/handle.hpp"
#include "hardware_interface/loaned_command_interface.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace controller_interface
{

using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;

enum class return_type : std::uint8_t {OK = 0, ERROR = 1};

enum class interface_configuration_type : std::uint8_t {ALL = 0, INDIVIDUAL = 1, NONE = 2};

struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ControllerInterfaceBase : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() {return node_;}
  std::shared_ptr<const rclcpp_lifecycle::LifecycleNode> get_node() const {return node_;}
  const std::string & get_robot_description() const {return urdf_;}
  template<typename T>
  auto auto_declare(const std::string & name, const T & default_value)
  {
    return node_->has_parameter(name) ? node_->get_parameter(name).template get_value<T>() :
           node_->declare_parameter<T>(name, default_value);
  }

  // What controller_manager does
  CallbackReturn init(const std::string & name, const std::string & urdf)
  {
    node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>(name);
    urdf_ = urdf;
    return on_init();
  }
  void assign_interfaces(
    std::vector<hardware_interface::LoanedCommandInterface> && commands,
    std::vector<hardware_interface::LoanedStateInterface> && states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  std::vector<hardware_interface::LoanedStateInterface> & states() {return state_interfaces_;}

protected:
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  std::string urdf_;
};

class ChainableControllerInterface : public ControllerInterfaceBase
{
public:
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) final
  {
    if (!chained_ && update_reference_from_subscribers(time, period) != return_type::OK) {
      return return_type::ERROR;
    }
    return update_and_write_commands(time, period);
  }
  bool set_chained_mode(bool chained)
  {
    chained_ = on_set_chained_mode(chained) && chained;
    return true;
  }

  /// As controller_manager calls it; the pointers are what the controller before it writes to.
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces()
  {
    std::vector<hardware_interface::CommandInterface::SharedPtr> exported;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    for (auto & interface : on_export_reference_interfaces()) {
#pragma GCC diagnostic pop
      exported.push_back(std::make_shared<hardware_interface::CommandInterface>(std::move(interface)));
    }
    return exported;
  }

protected:
#if ROS2_CONTROL >= 5
  [[deprecated("Replaced by on_export_reference_interfaces_list().")]]
#endif
  virtual std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() {return {};}
#if ROS2_CONTROL >= 5
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
  {
    return {};
  }
#endif
  virtual bool on_set_chained_mode(bool) {return true;}
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

  std::vector<double> reference_interfaces_;

private:
  bool chained_ = false;
};

}  // namespace controller_interface
