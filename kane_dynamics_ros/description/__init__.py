"""URDF and xacro to a frozen, XML-free Robot, and its serial chain to a tip."""
