// A stand-in for the tests: see README.md.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace rclcpp
{

class Parameter
{
public:
  using Value = std::variant<std::string, std::vector<double>, std::vector<std::string>>;
  Parameter() = default;
  explicit Parameter(Value value) : value_(std::move(value)) {}
  std::string as_string() const {return std::get<std::string>(value_);}
  std::vector<double> as_double_array() const {return std::get<std::vector<double>>(value_);}
  template<typename T>
  T get_value() const {return std::get<T>(value_);}

private:
  Value value_;
};

}  // namespace rclcpp
