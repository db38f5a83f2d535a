// A stand-in for the tests: see README.md.
#pragma once

#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"

namespace diagnostic_msgs::msg
{

struct KeyValue
{
  std::string key;
  std::string value;
};

struct DiagnosticStatus
{
  unsigned char level = 0;
  std::string name;
  std::string message;
  std::string hardware_id;
  std::vector<KeyValue> values;
};

struct DiagnosticArray
{
  struct {rclcpp::Time stamp;} header;
  std::vector<DiagnosticStatus> status;
};

}  // namespace diagnostic_msgs::msg
