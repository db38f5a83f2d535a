"""Kane's equations for serial manipulators: derived from a URDF, generated, run under ROS 2."""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # a type checker would take it for a promise of every name

    def __getattr__(name: str) -> str:
        """``__version__``, when asked for: a node must handle signals before it imports what takes long."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from kane_dynamics_ros.share import package_version

        return package_version()
