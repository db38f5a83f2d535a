"""Torques of a chain by this package: Kane's equations in floats, and the generated module."""

from pathlib import Path

import numpy as np

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.runtime import DynamicsModel, load_model


def inverse_dynamics(chain: Chain, q, qd, qdd, gravity=(0.0, 0.0, -9.81)):
    """tau of shape (n,), without friction and rotors."""
    segments = segments_of(chain)
    return np.array(dynamics.segment_efforts(segments, q, qd, qdd, gravity, sine_cosine), dtype=float)


def generated_model(chain: Chain, folder: Path) -> DynamicsModel:
    """The module that ``kane_dynamics generate`` writes, loaded without a compiler."""
    files = write_module(derive(chain), "robot", folder)
    return load_model(files[0], backend="python")
