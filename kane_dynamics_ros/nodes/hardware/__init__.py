"""``simulated_hardware_node``: the simulated arm as a ROS 2 node."""
