"""The one base error, and the errors that more than one room raises.

A room has a class of its own where somebody catches it; it derives from ``KaneDynamicsError``.
"""

from collections.abc import Sequence
from typing import Any

from kane_dynamics_ros.text import named

# Packages of others by the extras of setup.cfg that bring them; without an extra: every installation has them
EXTRAS: dict[str, tuple[str, ...]] = {
    "casadi": ("casadi",),
    "clarabel": ("identify",),
    "collada": ("view", "identify"),
    "dask": ("dask",),
    "fast_simplification": ("view",),
    "jinja2": ("bags", "identify", "view"),
    "lz4": ("bags", "identify"),
    "markupsafe": ("bags", "identify", "view"),
    "matplotlib": ("bags", "identify", "papers"),
    "mujoco": ("mujoco",),
    "numpy": (),
    "rosbags": ("bags", "identify"),
    "scipy": ("bags", "identify", "elastic", "papers"),
    "sympy": ("generate", "papers"),
    "threadpoolctl": ("identify",),
    "tqdm": (),
    "trimesh": ("view", "identify"),
    "urdf_parser_py": (),
    "xacro": ("generate",),
    "yaml": (),
    "zstandard": ("bags", "identify"),
}
FROM_ROS = ("rclpy", "ament_index_python", "launch", "launch_ros", "rosidl_runtime_py", "rpyutils")


class KaneDynamicsError(Exception):
    """Base of every error that this package raises on purpose.

    The message is written where the error is raised: where, what was found, what is allowed, what to do.

    Args:
        message: whole sentences for the user.
        code: a word for the kind of fault, the same in every version: what programs and tests compare.
        values: what was found and allowed, as attributes of the error.
    """

    code = ""

    def __init__(self, message: str = "", /, code: str = "", **values: Any) -> None:
        super().__init__(message)
        self.__dict__.update(values, code=code or self.code)


class PathError(KaneDynamicsError):
    """A path that the system refuses to read or write: what it says of it."""

    def __init__(self, error: OSError) -> None:
        self.path = error.filename
        super().__init__(f"{error.filename}: {error.strerror}; give another path, or fix this one")


class ShapeError(KaneDynamicsError):
    """An array argument has the wrong shape."""

    def __init__(self, name: str, found: tuple[int, ...], n: int) -> None:
        self.name, self.found, self.n = name, found, n
        super().__init__(f"{name}: found shape {found}; allowed are ({n},) and (N, {n})")


class BatchError(KaneDynamicsError):
    """Two arguments of one call have different shapes."""

    def __init__(self, name: str, found: tuple[int, ...], first: tuple[int, ...]) -> None:
        self.name, self.found, self.first = name, found, first
        super().__init__(f"{name}: found shape {found}; it must be {first}, like the first argument's")


class NonFiniteError(KaneDynamicsError):
    """An argument holds NaN or an infinity."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name}: found a value that is not finite; every value must be finite")


class UnknownJointError(KaneDynamicsError):
    """A joint name that the model does not have."""

    def __init__(self, found: str, known: Sequence[str]) -> None:
        self.found, self.known = found, tuple(known)
        super().__init__(f"unknown joint {found!r}; the model's joints are {', '.join(map(repr, known))}")


class SingularMassMatrixError(KaneDynamicsError):
    """The mass matrix cannot be inverted: some joints move no inertia."""

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        super().__init__(
            f"the mass matrix is singular at {named('joint', joints)}: nothing resists its "
            "acceleration; lock it (--lock JOINT=VALUE), give the link an inertia, or give the joint a "
            "rotor inertia"
        )


class MissingPackageError(KaneDynamicsError):
    """A package that this part needs is not installed."""

    def __init__(self, package: str, remedy: str) -> None:
        self.package = package
        super().__init__(f"the Python package {package!r} is not installed; {remedy}")


class RosMissingError(KaneDynamicsError):
    """What a command does needs ROS 2, and this Python has none."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs ROS 2's rclpy, which this Python does not have; source ROS's setup.bash, or "
            "install ROS 2 from PyPI with pip install '.[ros]' in the checkout"
        )


def missing_package(error: ImportError, extra: str = "") -> MissingPackageError | None:
    """What is missing and how to get it, of an import that failed; None where it is no package of others.

    ``extra``: the one that brings all that the caller needs, where several bring the package.
    """
    package = (error.name or "").partition(".")[0]
    extras = EXTRAS.get(package)
    if extras is not None:
        chosen = extra if extra in extras or not extras else extras[0]
        command = (
            f"pip install '.[{chosen}]'" if extras else "pip install . (or rosdep install --from-paths .)"
        )
        return MissingPackageError(package, f"{command} in the checkout brings it")
    if package in FROM_ROS or package.endswith(("_msgs", "_interfaces")):
        return MissingPackageError(
            package,
            "it comes with ROS 2: source its setup.bash; without ROS: pip install '.[ros]' in the checkout",
        )
    return None
