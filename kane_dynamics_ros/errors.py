"""The one base error, and the errors that more than one room raises.

A room has a class of its own where somebody catches it; it derives from ``KaneDynamicsError``.
"""

from collections.abc import Sequence
from typing import Any

from kane_dynamics_ros.text import did_you_mean, named

# Packages of others by the extras of setup.cfg that bring them; without an extra: every installation has them
EXTRAS: dict[str, tuple[str, ...]] = {
    "casadi": ("casadi",),
    "clarabel": ("identify",),
    "collada": ("view", "identify"),
    "dask": ("dask",),
    "fast_simplification": ("view",),
    "filelock": (),
    "jinja2": ("bags", "generate", "identify", "view"),
    "lz4": ("bags", "identify"),
    "markupsafe": ("bags", "identify", "view"),
    "matplotlib": ("bags", "identify", "papers", "retime"),
    "mujoco": ("mujoco",),
    "numpy": (),
    "platformdirs": (),
    "rosbags": ("bags", "identify"),
    "scipy": ("bags", "identify", "elastic", "papers", "retime"),
    "sympy": ("generate", "papers"),
    "toppra": ("retime",),
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
    """A path that the system refuses to read or write; ``path``."""


class ShapeError(KaneDynamicsError):
    """An array argument has the wrong shape; ``name``, ``found``.

    Codes: ``shape`` (``n``: the width that is allowed), ``batch`` (``first``: the shape of the first
    argument).
    """


class NonFiniteError(KaneDynamicsError):
    """An argument, or the result (``name`` is "result"), holds NaN or an infinity; ``name``.

    Codes: ``not_finite``, ``masked`` (an entry of a masked array).
    """


class UnknownJointError(KaneDynamicsError):
    """A joint name that the model does not have; ``found``, ``known``."""


class SingularMassMatrixError(KaneDynamicsError):
    """The mass matrix cannot be inverted: some joints move no inertia; ``joints``."""


class MissingPackageError(KaneDynamicsError):
    """A package that this part needs is not installed; ``package``."""


def path_error(error: OSError) -> PathError:
    """What the system says of a path."""
    message = f"{error.filename}: {error.strerror}; give another path, or fix this one"
    return PathError(message, path=error.filename)


def shape_error(name: str, found: tuple[int, ...], n: int) -> ShapeError:
    """An argument that is neither one state nor a batch of them."""
    message = f"{name}: found shape {found}; allowed are ({n},) and (N, {n})"
    return ShapeError(message, "shape", name=name, found=found, n=n)


def batch_error(name: str, found: tuple[int, ...], first: tuple[int, ...]) -> ShapeError:
    """Two arguments of one call that differ in shape."""
    message = f"{name}: found shape {found}; it must be {first}, like the first argument's"
    return ShapeError(message, "batch", name=name, found=found, first=first)


def non_finite(name: str) -> NonFiniteError:
    """An argument, or a result, that is not finite."""
    message = f"{name}: found a value that is not finite; every value must be finite"
    if name == "result":
        message = "the result is not finite: the arguments or the model's parameters are too large"
    return NonFiniteError(message, "not_finite", name=name)


def unknown_joint(found: str, known: Sequence[str]) -> UnknownJointError:
    """A joint that the model does not have."""
    names = ", ".join(map(repr, known))
    message = f"unknown joint {found!r}; {did_you_mean(found, known)}the model's joints are {names}"
    return UnknownJointError(message, found=found, known=tuple(known))


def singular_mass_matrix(joints: Sequence[str]) -> SingularMassMatrixError:
    """Joints whose acceleration nothing resists."""
    message = (
        f"the mass matrix is singular at {named('joint', joints)}: nothing resists its "
        "acceleration; lock it (--lock JOINT=VALUE), give the link an inertia, or give the joint a "
        "rotor inertia"
    )
    return SingularMassMatrixError(message, joints=tuple(joints))


def ros_missing(what: str) -> MissingPackageError:
    """What is done needs ROS 2, and this Python has none."""
    message = (
        f"{what} needs ROS 2's rclpy, which this Python does not have; source ROS's setup.bash, or "
        "install ROS 2 from PyPI with pip install '.[ros]' in the checkout"
    )
    return MissingPackageError(message, package="rclpy")


def missing_package(error: ImportError, extra: str = "") -> MissingPackageError | None:
    """What is missing and how to get it, of an import that failed; None where it is no package of others.

    ``extra``: the one that brings all that the caller needs, where several bring the package.
    """
    package = (error.name or "").partition(".")[0]
    if extras := EXTRAS.get(package):
        remedy = f"pip install '.[{extra if extra in extras else extras[0]}]' in the checkout brings it"
    elif extras is not None:
        remedy = "pip install . (or rosdep install --from-paths .) in the checkout brings it"
    elif package in FROM_ROS or package.endswith(("_msgs", "_interfaces")):
        remedy = (
            "it comes with ROS 2: source its setup.bash; without ROS: pip install '.[ros]' in the checkout"
        )
    else:
        return None
    message = f"the Python package {package!r} is not installed; {remedy}"
    return MissingPackageError(message, package=package)
