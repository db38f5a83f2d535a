"""MuJoCo's model of an arm for ``mj_inverse``: smooth rigid-body dynamics alone, as all rivals compute."""

from pathlib import Path

import mujoco


def save_model(urdf: Path, target: Path) -> Path:
    """Write MuJoCo's binary model of a URDF without contacts, limits, damping and dry friction."""
    model = mujoco.MjModel.from_xml_string(urdf.read_text())
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT
    model.opt.disableflags |= flags.mjDSBL_FRICTIONLOSS | flags.mjDSBL_SENSOR | flags.mjDSBL_ACTUATION
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    mujoco.mj_saveModel(model, str(target), None)
    return target
