"""From recorded motion to physically consistent parameters; motion worth recording. No rclpy, no SymPy."""
