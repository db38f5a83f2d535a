// A stand-in for the tests: see README.md.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "rclcpp/parameter.hpp"

namespace rclcpp::node_interfaces
{

struct NodeParametersInterface
{
  using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>;
  std::map<std::string, Parameter> parameters;
  bool get_parameter(const std::string & name, Parameter & parameter) const
  {
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      return false;
    }
    parameter = found->second;
    return true;
  }
};

}  // namespace rclcpp::node_interfaces
