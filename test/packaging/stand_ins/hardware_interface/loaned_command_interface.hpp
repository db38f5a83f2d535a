// A stand-in for the tests: see README.md.
#pragma once

#include <optional>
#include <string>

#include "hardware_interface/handle.hpp"

namespace hardware_interface
{

class LoanedCommandInterface
{
public:
  explicit LoanedCommandInterface(CommandInterface::SharedPtr interface) : interface_(interface) {}
  LoanedCommandInterface(const LoanedCommandInterface &) = delete;
  LoanedCommandInterface(LoanedCommandInterface &&) = default;
  const std::string & get_name() const {return interface_->get_name();}

  /// false where the value could not be set in so many tries.
  template<typename T>
  [[nodiscard]] bool set_value(const T & value, unsigned int = 10)
  {
    *interface_->value() = value;
    return true;
  }
#if ROS2_CONTROL < 5
  [[deprecated("Use std::optional<T> get_optional() instead to retrieve the value.")]]
  double get_value() const {return *interface_->value();}
#endif

private:
  CommandInterface::SharedPtr interface_;
};

class LoanedStateInterface
{
public:
  explicit LoanedStateInterface(StateInterface::SharedPtr interface) : interface_(interface) {}
  LoanedStateInterface(const LoanedStateInterface &) = delete;
  LoanedStateInterface(LoanedStateInterface &&) = default;
  const std::string & get_name() const {return interface_->get_name();}

  /// Nothing where another thread holds it.
  template<typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const
  {
    return locked ? std::nullopt : std::optional<T>(*interface_->value());
  }
#if ROS2_CONTROL < 5
  [[deprecated("Use std::optional<T> get_optional() instead to retrieve the value.")]]
  double get_value() const {return *interface_->value();}
#endif

  bool locked = false;

private:
  StateInterface::SharedPtr interface_;
};

}  // namespace hardware_interface
