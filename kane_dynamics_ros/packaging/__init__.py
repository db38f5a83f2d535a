"""A robot's dynamics as a ROS 2 package in C++: what runs in ros2_control's thread."""
