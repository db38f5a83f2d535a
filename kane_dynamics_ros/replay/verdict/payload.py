"""Whether a body at the tip that the model does not know of explains the residuals of all joints."""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.replay.estimation.motion import Motion, Stretch
from kane_dynamics_ros.replay.reading.layout import Doubles
from kane_dynamics_ros.replay.verdict.comparison import Comparison, smoothed
from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.runtime.parameters import Payload

SAMPLES = 40_000  # of the motion that are looked at: minutes at the analysis rate
SMALLEST_SHARE = 0.9  # of the residuals' power, friction taken out, that the body must explain
SMALLEST_EFFORT = 0.005  # of the measured effort that it must amount to
RANK = 1e-3  # singular values below this part of the greatest are directions the motion does not show


@dataclass(frozen=True)
class TipBody:
    """A body fixed to the tip: mass [kg], centre of mass in the tip frame [m], and how much it explains.

    ``share``, 0 to 1, is of the residuals' power with friction taken out, each joint's in units of its
    measured effort, for a wrist that does not fit weighs as much as a shoulder.

    A negative mass is a tip that is lighter than the model says.
    """

    mass: float
    com: tuple[float, float, float]
    share: float


def tip_body(model: DynamicsModel, motion: Motion, comparison: Comparison) -> TipBody | None:
    """The body that explains the residuals best, or ``None`` when it explains little.

    The effort of a point-like body is linear in its mass m and first moment m c:
    residual = m Y_0 + m c_x Y_x + m c_y Y_y + m c_z Y_z. The columns are differences of the model's
    own torques: Y_0 = tau(m=1, c=0) - tau(m=0), and Y_x = (tau(m=1, c=e_x) - tau(m=1, c=-e_x)) / 2, in which
    the body's inertia, even in c, drops out. Friction and offset of each joint are fitted beside.
    Every joint is divided by the RMS of its measured effort.
    """
    columns = _columns_of_some(model, motion)
    samples = columns.shape[1]
    scale = np.sqrt(np.mean(comparison.measured**2, axis=0))
    joints = []
    for j, residual in enumerate(comparison.residual[:samples].T):
        friction = np.stack(
            [comparison.speed[:samples, j], comparison.direction[:samples, j], np.ones(samples)], axis=1
        )
        if not scale[j]:
            continue
        both = np.column_stack([columns[:, :, j].T, residual]) / scale[j]
        joints.append(both - friction @ np.linalg.lstsq(friction, both, rcond=None)[0])
    if not joints:
        return None
    stacked = np.concatenate(joints)
    return _solved(stacked[:, :-1], stacked[:, -1])


def _solved(columns: Doubles, residual: Doubles) -> TipBody | None:
    """Least squares over all joints, scaled: columns (N n, 4), residual (N n,)."""
    moments = np.linalg.lstsq(columns, residual, rcond=RANK)[0]
    explained = columns @ moments
    power = float(residual @ residual)
    share = 1 - float(np.sum((residual - explained) ** 2)) / power if power else 0.0
    effort = float(np.sqrt(np.mean(explained**2)))
    if share < SMALLEST_SHARE or effort < SMALLEST_EFFORT or not moments[0]:
        return None
    x, y, z = (moments[1:] / moments[0]).tolist()
    return TipBody(float(moments[0]), (x, y, z), share)


def _columns_of_some(model: DynamicsModel, motion: Motion) -> Doubles:
    """Y_0, Y_x, Y_y, Y_z of the first ``SAMPLES`` samples: (4, N, n)."""
    parts: list[Doubles] = []
    for stretch in motion.stretches:
        missing = SAMPLES - sum(part.shape[1] for part in parts)
        if missing > 0:
            parts.append(_columns(model, motion, stretch)[:, :missing])
    return np.concatenate(parts, axis=1)


def _columns(model: DynamicsModel, motion: Motion, stretch: Stretch) -> Doubles:
    """Y_0, Y_x, Y_y, Y_z of the beginning of one stretch, filtered: (4, N, n)."""
    first = slice(0, SAMPLES + 2 * motion.edge)

    def effort(mass: float, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Doubles:
        loaded = model.with_parameters(payload=Payload(mass, (x, y, z)))
        return loaded.inverse_dynamics(stretch.q[first], stretch.qd[first], stretch.qdd[first])

    columns = [effort(1.0) - effort(0.0)]
    columns += [(effort(1.0, *axis) - effort(1.0, *(-axis))) / 2 for axis in np.eye(3)]
    return np.stack([smoothed(column, motion) for column in columns])
