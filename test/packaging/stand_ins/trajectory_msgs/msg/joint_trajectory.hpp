// A stand-in for the tests: see README.md.
#pragma once

#include <string>
#include <vector>

namespace trajectory_msgs::msg
{

struct JointTrajectoryPoint
{
  std::vector<double> positions;
  std::vector<double> velocities;
  std::vector<double> accelerations;
};

struct JointTrajectory
{
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};

}  // namespace trajectory_msgs::msg
