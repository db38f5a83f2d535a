"""A recorded bag against the model: arrays, verdict, report. No rclpy."""
