// A stand-in for the tests: see README.md. The macro checks what pluginlib needs of a plugin.
#pragma once

#include <type_traits>

#define PLUGINLIB_EXPORT_CLASS(plugin, base) \
  static_assert(std::is_base_of_v<base, plugin> && std::is_default_constructible_v<plugin>, "no plugin"); \
  extern "C" void * make_plugin() {return static_cast<base *>(new plugin());}
