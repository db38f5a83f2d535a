"""Kane's equations for serial manipulators: derived from a URDF, generated, run under ROS 2."""

from kane_dynamics_ros.share import package_version

__version__ = package_version()
