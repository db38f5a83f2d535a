// A stand-in for the tests: see README.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace hardware_interface
{

class Handle
{
public:
  [[deprecated("Use InterfaceDescription for initializing the Interface")]]
  Handle(const std::string & prefix, const std::string & interface, double * value)
  : prefix_(prefix), name_(prefix + "/" + interface), value_(value)
  {
  }
  const std::string & get_name() const {return name_;}
  const std::string & get_prefix_name() const {return prefix_;}
  double * value() const {return value_;}

private:
  std::string prefix_;
  std::string name_;
  double * value_;
};

struct StateInterface : Handle
{
  using SharedPtr = std::shared_ptr<StateInterface>;
  using Handle::Handle;
};

struct CommandInterface : Handle
{
  using SharedPtr = std::shared_ptr<CommandInterface>;
  using Handle::Handle;
  CommandInterface(const CommandInterface &) = delete;
  CommandInterface(CommandInterface &&) = default;
};

}  // namespace hardware_interface
