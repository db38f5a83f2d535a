"""Trajectory sampling, computed torque, limits: pure functions of arrays."""
