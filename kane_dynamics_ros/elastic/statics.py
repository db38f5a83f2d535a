"""Where an elastic arm's frames are, how far it sags at rest, and joint positions that undo it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel, turn
from kane_dynamics_ros.runtime.interface import Array

_ITERATIONS = 20


class Pose(NamedTuple):
    """Orientation (3, 3) and origin (3,) [m] of a frame in the root frame."""

    R: Array
    p: Array

    def moved(self, R: Array, r: Array) -> "Pose":
        """A frame fixed in this one."""
        return Pose(self.R @ R, self.p + self.R @ r)


class Arrangement(NamedTuple):
    """All frames of an arm: the bodies' (L, or T of an elastic link), the beams' B, and the chain's tip."""

    bodies: tuple[Pose, ...]
    beams: tuple[Pose | None, ...]
    tip: Pose


def arrangement(model: ArmModel, x: Array) -> Arrangement:
    """The frames at the generalized coordinates ``x`` (size,)."""
    frame = Pose(np.eye(3), np.zeros(3))
    bodies, beams = [], []
    for body in model.bodies:
        joint = body.joint
        position = joint.multiplier * x[joint.coordinate] + joint.offset
        R = body.orientation(position)
        slide = position * (R @ body.axis) if joint.kind == "prismatic" else 0.0
        frame = frame.moved(R, body.p_PJ + slide)
        beam = None
        if (flexure := body.flexure) is not None:
            beam = frame.moved(flexure.R_LB, flexure.p_LoBo_L)
            node = x[flexure.tip_place]
            r = np.array([flexure.body.length, 0.0, 0.0]) + node[:3]
            frame = beam.moved(turn(node[3:], np.zeros(3)).R @ flexure.R_LB.T, r)
        bodies.append(frame)
        beams.append(beam)
    return Arrangement(tuple(bodies), tuple(beams), frame.moved(model.R_BT, model.p_BoTo_B))


def potential_energy(model: ArmModel, x: Array, gravity: Array) -> float:
    """Strain energy plus potential of gravity [J]; the latter is 0 at the root frame's origin."""
    frames = arrangement(model, x)
    moments = np.zeros(3)  # int r dm in the root frame
    for body, frame, beam in zip(model.bodies, frames.bodies, frames.beams, strict=True):
        moments += _moment(body.spatial, frame)
        if body.flexure is not None and beam is not None:
            flexible = body.flexure.body
            S = flexible.S + flexible.m_O @ x[body.flexure.place]
            moments += flexible.mass * beam.p + beam.R @ S + _moment(body.flexure.rest, beam)
    return 0.5 * float(x @ model.k @ x) - float(gravity @ moments)


def _moment(spatial: Array, frame: Pose) -> Array:
    """int r dm of a rigid body whose inertia in ``frame`` is ``spatial`` (6, 6)."""
    S = np.array([spatial[2, 4], spatial[0, 5], spatial[1, 3]])
    return np.asarray(spatial[3, 3] * frame.p + frame.R @ S)


def sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Generalized coordinates (size,) in which the beams balance gravity at joint positions ``q`` (n,).

    Fixed-point iteration on k delta = -h(delta), which contracts by the ratio of sag to length.
    """
    n = model.n
    x, rest = np.zeros(model.size), np.zeros(model.size)
    x[:n] = q
    for _ in range(_ITERATIONS):
        load = -equations(model, x, rest, gravity).h[n:]
        delta = np.linalg.solve(model.k[n:, n:], load) if len(load) else load
        change = delta - x[n:]
        x[n:] = delta
        if not len(load) or abs(change).max() <= 1e-13 * max(1.0, abs(delta).max()):
            break
    return x


def tip_position(model: ArmModel, x: Array) -> Array:
    """Position (3,) of the chain's tip in the root frame [m]."""
    return arrangement(model, x).tip.p


def rigid_tip_position(model: ArmModel, q: ArrayLike) -> Array:
    """Where the tip would be without bending, (3,) [m]."""
    x = np.zeros(model.size)
    x[: model.n] = q
    return tip_position(model, x)


def compensate_sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Joint positions (n,) near ``q`` at which the sagging tip is where the rigid one is at ``q``.

    Gauss-Newton steps of least joint motion, with the rigid arm's Jacobian: the sag changes little with
    the small correction. Only the position of the tip is corrected.
    """
    target = rigid_tip_position(model, q)
    corrected = np.array(q, dtype=float)
    for _ in range(_ITERATIONS):
        error = target - tip_position(model, sag(model, corrected, gravity))
        if np.linalg.norm(error) < 1e-10:
            break
        corrected += np.linalg.pinv(_jacobian(model, corrected), rcond=1e-6) @ error
    return corrected


def _jacobian(model: ArmModel, q: Array, step: float = 1e-6) -> Array:
    """d(rigid tip position)/dq, (3, n), by central differences."""
    moves = step * np.eye(model.n)
    columns = [rigid_tip_position(model, q + d) - rigid_tip_position(model, q - d) for d in moves]
    return np.stack(columns, axis=1) / (2 * step)
