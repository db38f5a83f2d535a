// A stand-in for the tests: see README.md.
#pragma once

#include <stdexcept>
#include <string>

namespace rclcpp::exceptions
{

struct InvalidParameterValueException : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

struct ParameterUninitializedException : std::runtime_error
{
  explicit ParameterUninitializedException(const std::string & name)
  : std::runtime_error("parameter '" + name + "' is not initialized")
  {
  }
};

}  // namespace rclcpp::exceptions
