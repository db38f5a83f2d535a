"""Contacts in recordings: external efforts, thresholds for a rate of false alarms, reports. No rclpy."""
