"""The hardest rival: recursive Newton-Euler in ``casadi.SX`` and the C code that CasADi makes of it.

It takes any segments: those of the URDF, or ours, re-framed and regrouped into base parameters. It is
written to be cheap: matrices U = [alpha]x + [omega]x[omega]x shared between translation and rotation,
structural zeros kept so that CasADi drops their products, CasADi's own elimination of common
sub-expressions at the end, and of the two ways to pass a joint the one that costs less in the whole.
"""

from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np

from kane_dynamics_ros.formulation.kane.segments import Segment, symmetric

GRAVITY = (0.0, 0.0, -9.81)  # free-fall acceleration in the root frame [m/s^2]


def inverse_dynamics(
    name: str, segments: Sequence[Segment], gravity: Sequence[float] = GRAVITY
) -> ca.Function:
    """tau(q, qd, qdd) of a chain whose every joint has a coordinate of its own; gravity in frame 0."""
    ways = [_inverse_dynamics(name, segments, gravity, factored) for factored in (False, True)]
    return min(ways, key=lambda function: function.n_instructions())


def derived_programs(name: str, torques: ca.Function) -> dict[str, ca.Function]:
    """What CasADi derives from inverse dynamics: work to program, each (q, qd, third) to an array row by row.

    M is the Jacobian of tau by qdd; accelerations solve it by L D L^T; the other Jacobians are CasADi's too.
    """
    n = torques.size1_in(0)
    q, qd, third = (ca.SX.sym(symbol, n) for symbol in ("q", "qd", "third"))
    tau = torques(q, qd, third)
    M = ca.jacobian(tau, third)
    spare = third - torques(q, qd, ca.SX(n, 1))
    factors = ca.ldl(M)
    qdd = ca.ldl_solve(spare, *factors)
    inverse = ca.ldl_solve(ca.densify(ca.SX.eye(n)), *factors)
    fixed = ca.SX.sym("qdd", n)
    slopes = [ca.jacobian(torques(q, qd, fixed), x) for x in (q, qd)]
    slopes = [ca.substitute(slope, fixed, qdd) for slope in slopes]
    outputs = {
        "mass_matrix": [M],
        "forward_dynamics": [qdd],
        "inverse_dynamics_derivatives": [ca.jacobian(tau, q), ca.jacobian(tau, qd)],
        "forward_dynamics_derivatives": [*(-(inverse @ slope) for slope in slopes), inverse],
    }
    return {
        work: ca.Function(
            f"{name}_{work}",
            [q, qd, third],
            [ca.cse(ca.vertcat(*(ca.vec(ca.densify(table).T) for table in tables)))],
        )
        for work, tables in outputs.items()
    }


def write_c(function: ca.Function, folder: Path) -> Path:
    """The C file that CasADi generates, in ``folder``."""
    generator = ca.CodeGenerator(f"{function.name()}.c")
    generator.add(function)
    return Path(generator.generate(f"{folder}/"))


def _inverse_dynamics(
    name: str, segments: Sequence[Segment], gravity: Sequence[float], factored: bool
) -> ca.Function:
    q, qd, qdd = (ca.SX.sym(symbol, len(segments)) for symbol in ("q", "qd", "qdd"))
    steps = [_Step(segment, q[i] + segment.offset, factored) for i, segment in enumerate(segments)]
    omega, alpha, a, U = ca.SX(3, 1), ca.SX(3, 1), _constant([-g for g in gravity]), ca.SX(3, 3)
    wrenches = []
    for i, step in enumerate(steps):
        omega, alpha, a = step.outwards(omega, alpha, a, U, qd[i], qdd[i])
        U = ca.skew(alpha) + omega @ omega.T - ca.dot(omega, omega) * ca.SX.eye(3)
        wrenches.append(step.inertia_wrench(U, a))
    tau, force, torque = ca.SX(len(segments), 1), ca.SX(3, 1), ca.SX(3, 1)
    for i in reversed(range(len(steps))):
        force, torque = force + wrenches[i][0], torque + wrenches[i][1]
        tau[i] = steps[i].axis.T @ (force if steps[i].prismatic else torque)
        force, torque = steps[i].inwards(force, torque)
    return ca.Function(name, [q, qd, qdd], [ca.cse(tau)], ["q", "qd", "qdd"], ["tau"])


class _Step:
    """One joint: how motion passes outwards and wrenches pass inwards, in the frames of the bodies.

    ``factored``: the constant and the turning rotation are applied one after the other, which is cheaper
    where the constant one is simple; otherwise their product is formed and applied.
    """

    def __init__(self, segment: Segment, position: ca.SX, factored: bool) -> None:
        self.prismatic = segment.prismatic
        self.axis, constant = _constant(segment.axis), _constant(segment.R_PJ)
        turn = ca.SX.eye(3) if segment.prismatic else _rotation(segment.axis, position)
        self.rotations = (constant, turn) if factored else (constant @ turn,)
        self.p = _constant(segment.p_PoJo_P)
        if segment.prismatic:
            self.p += constant @ (self.axis * position)
        self.mass, self.moment = float(segment.body.mass), _constant(segment.body.moment)
        self.second = _constant(symmetric(segment.body.second))

    def to_body(self, vector: ca.SX) -> ca.SX:
        for rotation in self.rotations:
            vector = rotation.T @ vector
        return vector

    def to_previous(self, vector: ca.SX) -> ca.SX:
        for rotation in reversed(self.rotations):
            vector = rotation @ vector
        return vector

    def outwards(
        self, omega: ca.SX, alpha: ca.SX, a: ca.SX, U: ca.SX, rate: ca.SX, push: ca.SX
    ) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Angular velocity and acceleration, and the origin's acceleration less free fall, of the body."""
        a = self.to_body(a + U @ self.p)
        omega, alpha, slide = self.to_body(omega), self.to_body(alpha), self.axis * rate
        coriolis = ca.cross(omega, slide)
        if self.prismatic:
            return omega, alpha, a + 2 * coriolis + self.axis * push
        return omega + slide, alpha + coriolis + self.axis * push, a

    def inertia_wrench(self, U: ca.SX, a: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Force and torque about the body's origin that its motion takes.

        The torque is the integral of rho x (a + U rho) dm: the axial vector of U S, and h x a.
        """
        S, spread = self.second, (U[2, 2] - U[1, 1], U[0, 0] - U[2, 2], U[1, 1] - U[0, 0])
        axial = ca.vertcat(
            *(
                U[k, j] * S[j, j] - U[j, k] * S[k, k] + U[k, i] * S[i, j] - U[j, i] * S[i, k]
                + spread[i] * S[j, k]
                for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
            )
        )  # fmt: skip
        return self.mass * a + U @ self.moment, axial + ca.cross(self.moment, a)

    def inwards(self, force: ca.SX, torque: ca.SX) -> tuple[ca.SX, ca.SX]:
        """A wrench on this body as one on the body before it."""
        force = self.to_previous(force)
        return force, self.to_previous(torque) + ca.cross(self.p, force)


def _constant(values: object) -> ca.SX:
    """A constant vector or matrix; its zeros are structural, so that CasADi drops their products."""
    return ca.SX(ca.sparsify(ca.DM(np.asarray(values, dtype=float).tolist())))


def _rotation(axis: Sequence[float], angle: ca.SX) -> ca.SX:
    """Rodrigues: cos 1 + sin [axis]x + (1 - cos) axis axis^T, without the terms that are zero."""
    s, c, k = ca.sin(angle), ca.cos(angle), _constant(axis)
    along, across = (_constant(m) for m in (np.outer(axis, axis), np.eye(3) - np.outer(axis, axis)))
    return ca.sparsify(along + c * across + s * ca.skew(k))
