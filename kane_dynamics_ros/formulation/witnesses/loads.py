"""What each body of a chain weighs, payloads at the tips included, and what the actuators add.

The witnesses share this and nothing of their dynamics: it moves numbers between frames, and adds what
acts on each joint alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kane_dynamics_ros.description.geometry import Pose, moved_inertia
from kane_dynamics_ros.description.model import Chain, Inertia


@dataclass(frozen=True)
class Actuation:
    """What acts on each independent joint alone; tuples follow ``chain.coordinates``.

    Rotor inertia is reflected to the joint side [kg m^2] or [kg]; friction effort is
    ``viscous * qd + coulomb * tanh(qd / coulomb_velocity)``.
    """

    rotor_inertia: tuple[float, ...]
    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    coulomb_velocity: float

    def effort(self, qd: Any, qdd: Any) -> Any:
        """Effort [N m] or [N] that the actuators need beyond the rigid bodies' own; (n,)."""
        qd = np.asarray(qd)
        smooth_sign = np.tanh(qd / self.coulomb_velocity)
        return np.array(self.rotor_inertia) * qdd + np.array(self.viscous) * qd + self.coulomb * smooth_sign


def body_inertias(chain: Chain, *payloads: Inertia) -> list[list[Inertia]]:
    """The rigid bodies fixed to each moving frame of the chain, in that frame's axes.

    Each payload, given in the frame of its tip, rides on the frame that the tip is fixed in.
    """
    inertias = [[joint.inertia] for joint in chain.joints]
    for tip, payload in zip(chain.tip_frames, payloads, strict=False):
        if tip.body >= 0:
            inertias[tip.body].append(moved_inertia(Pose(tip.R_BT, tip.p_BoTo_B), payload))
    return inertias
