"""The robots of the agreement tests, generated once a run, with Pinocchio's and MuJoCo's models of them."""

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
from example_robots import ROBOTS

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain

ROOT = Path(__file__).parents[1]
URDFS = {
    "manipulator_5dof": (ROOT / "urdf/manipulator_5dof.urdf", None),
    "ur5": (ROBOTS / "ur_description/urdf/ur5_robot.urdf", None),
    "so101": (ROBOTS / "so_arm_description/urdf/so101.urdf", "gripper_frame_link"),
    "panda": (ROBOTS / "panda_description/urdf/panda.urdf", "panda_link8"),
}


@dataclass(frozen=True)
class GeneratedRobot:
    """A generated module, and the same robot in another library, joints beyond the chain fixed at 0."""

    module: Path
    urdf: Path
    tip: str | None
    joint_names: tuple[str, ...]

    def pinocchio(self) -> tuple[Any, Any]:
        """Pinocchio's model and data of the chain."""
        whole = pinocchio.buildModelFromUrdf(str(self.urdf))
        others = [i for i in range(1, whole.njoints) if whole.names[i] not in self.joint_names]
        model = pinocchio.buildReducedModel(whole, others, pinocchio.neutral(whole)) if others else whole
        return model, model.createData()


@functools.cache
def generated(name: str) -> GeneratedRobot:
    """Generate a robot's module into a folder of this run."""
    urdf, tip = URDFS[name]
    chain = serial_chain(load_robot(urdf), tip)
    files = write_module(derive(chain), name, Path(folder().name))
    return GeneratedRobot(files[0], urdf, tip, chain.coordinates)


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Removed when the run ends."""
    return tempfile.TemporaryDirectory(prefix="kane-dynamics-test-")


def relative_error(found: Any, expected: Any) -> float:
    """Largest difference over the largest expected magnitude in each state."""
    found, expected = np.asarray(found), np.asarray(expected)
    axes = tuple(range(1, expected.ndim))
    return float((np.abs(found - expected).max(axes) / np.abs(expected).max(axes)).max())
