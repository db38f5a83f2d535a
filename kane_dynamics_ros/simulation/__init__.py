"""Plant, integrator, actuators, sensors, faults: no clock, no ROS."""
