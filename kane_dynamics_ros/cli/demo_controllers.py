"""The controllers that the demonstration compares, as parameters of ``feedforward_node``."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.cli.demo_processes import Parameters
from kane_dynamics_ros.runtime.interface import DynamicsModel

MODEL = "manipulator_5dof"
PD_ALONE, PD_FEEDFORWARD, COMPUTED_TORQUE = "PD alone", "PD with feedforward", "computed torque"
BANDWIDTH = 20.0  # [rad/s] of every joint's error, critically damped
TERMS = ("inertia", "coriolis", "gravity", "friction")

CONTROLLERS: Mapping[str, Parameters] = {
    PD_ALONE: {"mode": "feedforward_pd", **{f"terms.{term}": False for term in TERMS}},
    PD_FEEDFORWARD: {"mode": "feedforward_pd"},
    COMPUTED_TORQUE: {
        "mode": "computed_torque",
        "computed_torque.kp": [BANDWIDTH**2],
        "computed_torque.kd": [2.0 * BANDWIDTH],
    },
}


def pd_gains(model: DynamicsModel, q: NDArray[np.float64]) -> Parameters:
    """Gains of the PD modes: those of the computed torque law times each joint's own inertia at ``q``."""
    inertia = np.diagonal(model.mass_matrix(q))
    return {
        "feedforward_pd.kp": (BANDWIDTH**2 * inertia).tolist(),
        "feedforward_pd.kd": (2.0 * BANDWIDTH * inertia).tolist(),
    }
