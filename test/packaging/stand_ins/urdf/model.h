// A stand-in for the tests: see README.md. urdfdom itself is the real one.
#pragma once

#include <urdf_parser/urdf_parser.h>

#include <string>

namespace urdf
{

class Model : public ModelInterface
{
public:
  bool initString(const std::string & xml)
  {
    const ModelInterfaceSharedPtr read = parseURDF(xml);
    if (!read) {
      return false;
    }
    static_cast<ModelInterface &>(*this) = *read;
    return true;
  }
};

}  // namespace urdf
