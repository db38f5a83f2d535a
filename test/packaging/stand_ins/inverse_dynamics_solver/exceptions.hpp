// A stand-in for the tests: see README.md.
#pragma once

#include "rclcpp/exceptions/exceptions.hpp"

namespace inverse_dynamics_solver
{

typedef rclcpp::exceptions::InvalidParameterValueException InvalidParameterValueException;
typedef rclcpp::exceptions::ParameterUninitializedException ParameterUninitializedException;

class UninitializedException : public std::runtime_error
{
public:
  UninitializedException() : std::runtime_error("Solver is not initialized") {}
};

}  // namespace inverse_dynamics_solver
