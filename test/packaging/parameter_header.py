"""A stand-in of the header that generate_parameter_library makes of a package's parameters.yaml.

The names and types are those of the real one; the tests set the values in ``stand_in()``, before a listener
is made.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

CPP = {
    "string": "std::string",
    "bool": "bool",
    "double": "double",
    "double_array": "std::vector<double>",
    "string_array": "std::vector<std::string>",
}
LISTENER = """
inline Params & stand_in()
{
  static Params params;
  return params;
}

class ParamListener
{
public:
  template<typename Node>
  explicit ParamListener(std::shared_ptr<Node> node)
  {
    stand_in().joints = node->get_parameter("joints").template get_value<std::vector<std::string>>();
    for (const std::string & joint : stand_in().joints) {
      stand_in().constraints.joints_map[joint];
    }
  }
  Params get_params() const {return stand_in();}
  void setUserCallback(const std::function<void(const Params &)> & callback) {changed() = callback;}
  void clearUserCallback() {changed() = {};}
  static std::function<void(const Params &)> & changed()
  {
    static std::function<void(const Params &)> callback;
    return callback;
  }
};
"""


def header(text: str) -> str:
    """The header of a parameters.yaml."""
    ((name, tree),) = yaml.safe_load(text).items()
    lines = ["#pragma once", "", "#include <functional>", "#include <map>", "#include <memory>"]
    lines += [
        "#include <string>",
        "#include <vector>",
        "",
        f"namespace {name}",
        "{",
        "",
        "struct Params",
        "{",
    ]
    return "\n".join([*lines, *members(tree), "};", LISTENER, "}  // namespace", ""])


def members(tree: Mapping[str, Any]) -> Iterator[str]:
    """The members of a struct; nested ones, and maps over the values of another parameter, included."""
    for key, value in tree.items():
        mapped = key.removeprefix("__map_")
        if isinstance(value.get("type"), str):
            default = json.dumps(value["default_value"]).replace("[", "{").replace("]", "}")
            yield f"{CPP[value['type']]} {key} = {default};"
        elif mapped != key:
            yield from ("struct Map", "{", *members(value), "};", f"std::map<std::string, Map> {mapped}_map;")
        else:
            yield from ("struct", "{", *members(value), f"}} {key};")
