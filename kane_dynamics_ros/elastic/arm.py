"""Kane's equations of an arm with elastic links.

Generalized coordinates x = (joints q, nodal coordinates of the beams), speeds u = x'. One pass from root to
tip builds for every body the partial angular velocities and partial velocities of its origin, P (6, size),
the same body's angular velocity, and what remains of its acceleration at u' = 0. The generalized inertia
forces are then sums of P^T times inertia forces, as in [WindPump] eqs. (A43) to (A46): the liaison forces
drop out, because P^T maps them to 0.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm_model import (
    ArmBody,
    ArmModel,
    Flexure,
    FloatingInertia,
    floating_inertia,
    rigid_bias,
    transform,
    turn,
)
from kane_dynamics_ros.elastic.equations import RigidMotion, axial_load, geometric_stiffness, skew


class ArmEquations(NamedTuple):
    """M u' + h + c u + k x = (joint efforts, 0): ``M`` (size, size), ``h`` (size,) with gravity."""

    M: Array
    h: Array


@dataclass
class _Frame:
    """The moving frame while the pass goes outwards; all expressed in the frame itself."""

    P: Array  # (6, size) partial (angular velocity, velocity of the origin)
    omega: Array
    acceleration: Array  # (alpha, a_O) at u' = 0, free fall taken away

    def move(self, R: Array, r: Array) -> None:
        """Go on to a frame fixed in this one, at ``r`` with orientation ``R``."""
        K, X = skew(self.omega), transform(R, r)
        self.P = X @ self.P
        self.acceleration = X @ self.acceleration
        self.acceleration[3:] += (K @ (K @ r)) @ R
        self.omega = self.omega @ R


class _Beam(NamedTuple):
    """A beam in its frame: the partials, the motion at u' = 0, and its own inertia."""

    flexure: Flexure
    P: Array
    motion: RigidMotion
    inertia: FloatingInertia

    @property
    def acceleration(self) -> Array:
        """(alpha, a_O) at u' = 0."""
        return np.concatenate([self.motion.epsilon, self.motion.a_O])


def equations(
    model: ArmModel, x: Array, u: Array, gravity: Array, acceleration: Array | None = None
) -> ArmEquations:
    """Mass matrix and inertia forces: [WindPump] eqs. (13), (A1) and (A3) to (A5) for all bodies at once.

    Args:
        model: the arm.
        x, u: generalized coordinates and speeds, (size,), the joints' first.
        gravity: free-fall acceleration in the root frame, (3,) [m/s^2].
        acceleration: an estimate of u' (size,), default 0, for links with ``stiffened``: their axial load
            depends on it. The forces of geometric stiffening are part of ``h``.
    """
    root = _Frame(np.zeros((6, model.size)), np.zeros(3), np.concatenate([np.zeros(3), -gravity]))
    frames: list[_Frame] = []
    found = ArmEquations(np.zeros((model.size, model.size)), np.zeros(model.size))
    parts: list[tuple[Array, Array, Array]] = []  # of each rigid or floating body: P, inertia, inertia force
    stretched: list[_Beam] = []
    for body in model.bodies:
        frame = replace(frames[body.joint.parent] if body.joint.parent >= 0 else root)
        frames.append(frame)
        _pass_joint(frame, body, x, u)
        if (flexure := body.flexure) is not None:
            beam = _pass_beam(frame, found, flexure, x, u)
            force = beam.inertia.bias + rigid_bias(flexure.rest, beam.motion.omega, beam.acceleration)
            parts.append((beam.P, beam.inertia.spatial + flexure.rest, force))
            stretched += [beam] if flexure.stiffened else []
        if body.spatial.any():
            force = rigid_bias(body.spatial, frame.omega, frame.acceleration)
            parts.append((frame.P, body.spatial, force))
    P, spatial, forces = (np.stack(arrays) for arrays in zip(*parts, strict=True))
    flat = P.reshape(-1, model.size)
    M = found.M + flat.T @ (spatial @ P).reshape(-1, model.size)  # [WindPump] eqs. (A43) to (A46)
    M[range(model.n), range(model.n)] += model.rotor
    found = ArmEquations(M, found.h + forces.ravel() @ flat)
    for beam in stretched:
        _stiffen(found, beam, x, np.zeros(model.size) if acceleration is None else acceleration)
    return found


def _stiffen(found: ArmEquations, beam: _Beam, x: Array, a: Array) -> None:
    """Add k_G delta, with the axial load of the beam's own inertia and of all that its end carries."""
    place, end = beam.flexure.place, beam.flexure.tip_place.start
    frame = beam.P @ a
    own = beam.inertia.bias_delta + beam.inertia.coupling.T @ frame + beam.flexure.m @ a[place]
    carried = found.h[end] + found.M[end] @ a - own[end - place.start]
    omega = beam.motion.omega
    motion = RigidMotion(beam.motion.a_O + frame[3:], omega, beam.motion.epsilon + frame[:3])
    load = axial_load(beam.flexure.body, motion, float(carried))
    found.h[place] += geometric_stiffness(beam.flexure.body, load) @ x[place]


def _pass_joint(frame: _Frame, body: ArmBody, x: Array, u: Array) -> None:
    """Go over a joint: its axis is a column of the partial velocities."""
    joint, column = body.joint, body.joint.coordinate
    position = joint.multiplier * x[column] + joint.offset
    motion = (joint.multiplier * u[column]) * body.axis
    R = body.orientation(position)
    if joint.kind == "prismatic":
        frame.move(R, body.p_PJ + R @ (position * body.axis))
        frame.acceleration[3:] += 2.0 * (skew(frame.omega) @ motion)
        frame.P[3:, column] += joint.multiplier * body.axis
        return
    frame.move(R, body.p_PJ)
    frame.acceleration[:3] += skew(frame.omega) @ motion
    frame.omega = frame.omega + motion
    frame.P[:3, column] += joint.multiplier * body.axis


def _pass_beam(frame: _Frame, found: ArmEquations, flexure: Flexure, x: Array, u: Array) -> _Beam:
    """Add the inertia forces of the beam's own coordinates and go on to its tip frame."""
    frame.move(flexure.R_LB, flexure.p_LoBo_L)
    place = flexure.place
    inertia = floating_inertia(flexure.body, x[place], u[place], frame.omega, frame.acceleration)
    cross = frame.P.T @ inertia.coupling
    found.M[:, place] += cross
    found.M[place, :] += cross.T
    found.M[place, place] += flexure.m
    found.h[place] += inertia.bias_delta
    motion = RigidMotion(frame.acceleration[3:], frame.omega, frame.acceleration[:3])
    beam = _Beam(flexure, frame.P, motion, inertia)
    _pass_tip(frame, flexure, x[flexure.tip_place], u[flexure.tip_place])
    return beam


def _pass_tip(frame: _Frame, flexure: Flexure, node: Array, rate: Array) -> None:
    """Go on from B to the tip frame T, which the last node's six coordinates move."""
    r = np.array([flexure.body.length, 0.0, 0.0]) + node[:3]
    section = turn(node[3:], rate[3:])
    R = section.R @ flexure.R_LB.T
    K = skew(frame.omega)
    own_a = 2.0 * (K @ rate[:3])
    own_alpha = K @ section.omega + section.rest
    frame.move(R, r)
    frame.omega = frame.omega + section.omega @ R
    frame.acceleration[:3] += own_alpha @ R
    frame.acceleration[3:] += own_a @ R
    places = flexure.tip_place
    frame.P[:3, places.start + 3 : places.stop] = R.T @ section.J
    frame.P[3:, places.start : places.start + 3] = R.T
