"""Kane's equations for serial manipulators: derived from a URDF, generated, run under ROS 2."""

__version__ = "0.1.0"
