// A stand-in for the tests: see README.md.
#pragma once

#include <stdexcept>

namespace rclcpp::exceptions
{

struct InvalidParameterValueException : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

}  // namespace rclcpp::exceptions
