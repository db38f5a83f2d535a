// A stand-in for the tests: see README.md.
#pragma once

#include <any>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "rclcpp/parameter.hpp"
#include "rclcpp/rclcpp.hpp"

namespace rclcpp_lifecycle
{

struct State {};

namespace node_interfaces
{
struct LifecycleNodeInterface
{
  enum class CallbackReturn : std::uint8_t {SUCCESS = 97, FAILURE = 98, ERROR = 99};
  virtual ~LifecycleNodeInterface() = default;
  virtual CallbackReturn on_configure(const State &) {return CallbackReturn::SUCCESS;}
  virtual CallbackReturn on_cleanup(const State &) {return CallbackReturn::SUCCESS;}
  virtual CallbackReturn on_activate(const State &) {return CallbackReturn::SUCCESS;}
  virtual CallbackReturn on_deactivate(const State &) {return CallbackReturn::SUCCESS;}
};
}  // namespace node_interfaces

class LifecycleNode
{
public:
  explicit LifecycleNode(std::string name) : name_(std::move(name)) {}
  const char * get_name() const {return name_.c_str();}
  rclcpp::Logger get_logger() const {return logger_;}
  rclcpp::Clock::SharedPtr get_clock() const {return std::make_shared<rclcpp::Clock>();}
  rclcpp::Time now() const {return rclcpp::Time();}

  bool has_parameter(const std::string & name) const {return parameters.count(name) > 0;}
  rclcpp::Parameter get_parameter(const std::string & name) const {return parameters.at(name);}
  template<typename T>
  T declare_parameter(const std::string & name, const T & value)
  {
    parameters[name] = rclcpp::Parameter(value);
    return value;
  }

  template<typename Message, typename Callback>
  typename rclcpp::Subscription<Message>::SharedPtr create_subscription(
    const std::string & topic, const rclcpp::SystemDefaultsQoS &, Callback callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    topics[topic] = made;
    return made;
  }

  template<typename Message>
  typename rclcpp::Publisher<Message>::SharedPtr create_publisher(
    const std::string & topic, const rclcpp::SystemDefaultsQoS &)
  {
    auto made = std::make_shared<rclcpp::Publisher<Message>>();
    topics[topic] = made;
    return made;
  }

  template<typename Period, typename Callback>
  rclcpp::TimerBase::SharedPtr create_wall_timer(Period, Callback callback)
  {
    timer = std::make_shared<rclcpp::TimerBase>();
    timer->callback = callback;
    return timer;
  }

  std::map<std::string, rclcpp::Parameter> parameters;
  std::map<std::string, std::any> topics;
  rclcpp::TimerBase::SharedPtr timer;

private:
  std::string name_;
  rclcpp::Logger logger_;
};

}  // namespace rclcpp_lifecycle
