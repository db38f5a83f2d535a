"""rclpy wiring, parameters, message conversion: no mathematics."""
