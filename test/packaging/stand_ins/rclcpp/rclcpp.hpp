// A stand-in for the tests: see README.md.
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace rclcpp
{

class Time
{
public:
  explicit Time(std::int64_t nanoseconds = 0) : nanoseconds_(nanoseconds) {}
  double seconds() const {return 1e-9 * static_cast<double>(nanoseconds_);}

private:
  std::int64_t nanoseconds_;
};

class Duration
{
public:
  explicit Duration(std::chrono::nanoseconds span) : span_(span) {}
  static Duration from_seconds(double seconds)
  {
    return Duration(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
  }
  double seconds() const {return std::chrono::duration<double>(span_).count();}

private:
  std::chrono::nanoseconds span_;
};

struct Clock
{
  using SharedPtr = std::shared_ptr<Clock>;
};

/// What was logged; the tests read it.
struct Logger
{
  std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();

  [[gnu::format(printf, 2, 3)]] void log(const char * format, ...) const
  {
    char text[4096];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    lines->push_back(text);
  }
};

struct SystemDefaultsQoS {};

struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};

template<typename Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(const Message &)> callback;
};

template<typename Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  std::vector<Message> published;
  void publish(const Message & message) {published.push_back(message);}
};

}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) (logger).log(__VA_ARGS__)
#define RCLCPP_WARN_THROTTLE(logger, clock, period, ...) (static_cast<void>(clock), (logger).log(__VA_ARGS__))
