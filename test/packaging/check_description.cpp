// What a package says of each robot_description: the test's, not the package's.
//
//     check_description URDF_FILE...

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "description_check.hpp"

int main(int count, char ** arguments)
{
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string said;
    try {
      ROBOT::require_same_robot(text);
    } catch (const std::invalid_argument & error) {
      said = error.what();
    }
    std::cout << said << std::endl;
  }
}
