"""The same systems given to SymPy's KanesMethod: an independent derivation, by its own vectors and frames."""

import numpy as np
import sympy
from sympy.physics.mechanics import (
    KanesMethod,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
    msubs,
)

from kane_dynamics_ros.systems import Body, Coincident, Coupling, NoSlip, Perpendicular, System, equations
from kane_dynamics_ros.systems.model import Constraint


def vector(frame: ReferenceFrame, components) -> object:
    return sum((c * axis for c, axis in zip(components, frame, strict=True)), 0 * frame.x)


class Derivation:
    """KanesMethod of a system; ``q``, ``u``: its symbols by the names of coordinates and speeds.

    KanesMethod inverts the constraints' matrix, so that equations that are redundant at ``posture`` are left
    out.
    """

    def __init__(self, system: System, independent: tuple[str, ...], posture):
        names = system.coordinates
        self.names = system.speed_names
        self.q = dict(zip(names, dynamicsymbols(f"q:{len(names)}"), strict=True))
        self.u = dict(zip(self.names, dynamicsymbols(f"u:{len(names)}"), strict=True))
        qd = {name: symbol.diff() for name, symbol in self.q.items()}
        speeds = system.speeds(self.q, qd) if system.speeds else qd.values()
        kinematic = [symbol - speed for symbol, speed in zip(self.u.values(), speeds, strict=True)]
        self.rates = sympy.solve(kinematic, list(qd.values()))
        self.N, ground = ReferenceFrame("N"), Point("O")
        ground.set_vel(self.N, 0)
        self.frames, self.points = {"ground": self.N}, {"ground": ground}
        for body in system.bodies:
            self._place(body, self.rates.get(qd.get(body.name), 0))
        loaded = [body for body in system.bodies if body.mass or any(body.inertia)]
        rigid = [self._rigid_body(body) for body in loaded]
        loads = [(body.masscenter, body.mass * vector(self.N, system.gravity)) for body in rigid]
        found = [equation for constraint in system.constraints for equation in self._equations(constraint)]
        rows, _ = equations.independent_rows(equations.state_terms(system, posture, np.zeros(len(names))).A)
        closures, velocities = zip(*(found[row] for row in rows), strict=True) if rows else ((), ())
        closures = [h for h in closures if h is not None]
        dependent = [name for name in self.names if name not in independent]
        bound = dependent[-len(closures) :] if closures else []

        self.method = KanesMethod(
            self.N,
            q_ind=[self.q[name] for name in names if name not in bound],
            u_ind=[self.u[name] for name in independent],
            kd_eqs=kinematic,
            q_dependent=[self.q[name] for name in bound],
            configuration_constraints=closures or None,
            u_dependent=[self.u[name] for name in dependent] if velocities else [],
            velocity_constraints=velocities or None,
        )
        self.method.kanes_equations(rigid, loads)

    def _place(self, body: Body, rate: sympy.Expr) -> None:
        """The body's frame and origin, and their velocities."""
        parent, before = self.frames[body.parent], self.points[body.parent]
        frame = parent.orientnew(body.name, "DCM", sympy.Matrix(body.rotation))
        frame.set_ang_vel(parent, 0)
        axis = vector(frame, body.axis)
        origin = before.locatenew(body.name, vector(parent, body.at))
        origin.set_vel(parent, 0)
        origin.v2pt_theory(before, self.N, parent)
        if body.joint == "prismatic":
            rail, origin = origin, origin.locatenew(f"{body.name} moved", self.q[body.name] * axis)
            origin.set_vel(parent, rate * axis)
            origin.v1pt_theory(rail, self.N, parent)
        elif body.joint == "revolute":
            frame, fixed = frame.orientnew(f"{body.name} turned", "Axis", [self.q[body.name], axis]), frame
            frame.set_ang_vel(fixed, rate * axis)
        self.frames[body.name], self.points[body.name] = frame, origin

    def _rigid_body(self, body: Body) -> RigidBody:
        frame, origin = self.frames[body.name], self.points[body.name]
        center = origin.locatenew(f"{body.name} centre", vector(frame, body.com))
        center.v2pt_theory(origin, self.N, frame)
        xx, xy, xz, yy, yz, zz = body.inertia
        return RigidBody(
            body.name, center, frame, body.mass, (inertia(frame, xx, yy, zz, xy, yz, xz), center)
        )

    def _equations(self, constraint: Constraint) -> list[tuple[sympy.Expr | None, sympy.Expr]]:
        """h(q), None where there is none, and its rate or what is 0 of the velocities."""
        if isinstance(constraint, NoSlip):
            frame, origin = self.frames[constraint.body], self.points[constraint.body]
            arm = self.points[constraint.at].pos_from(origin)
            v = origin.vel(self.N) + frame.ang_vel_in(self.N).cross(arm)
            return [(None, v.dot(vector(self.frames[constraint.at], along))) for along in constraint.along]
        if isinstance(constraint, Coincident):
            a, b = constraint.a, constraint.b
            gap = self.points[a.body].pos_from(self.points[b.body])
            gap += vector(self.frames[a.body], a.position) - vector(self.frames[b.body], b.position)
            h = [gap.dot(vector(self.N, direction)) for direction in constraint.along]
        elif isinstance(constraint, Perpendicular):
            first = vector(self.frames[constraint.a], constraint.axis_a)
            h = [first.dot(vector(self.frames[constraint.b], constraint.axis_b))]
        elif isinstance(constraint, Coupling):
            leader = self.q[constraint.leader]
            h = [self.q[constraint.follower] - constraint.ratio * leader - constraint.offset]
        else:
            raise TypeError(constraint)
        return [(value, value.diff(dynamicsymbols._t).subs(self.rates)) for value in h]

    def accelerations(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """u' (n,) at numbers q, u (n,)."""
        at = dict(zip([*self.q.values(), *self.u.values()], [*map(float, q), *map(float, u)], strict=True))

        def evaluated(matrix: sympy.Matrix) -> np.ndarray:
            return np.array(msubs(matrix, at).tolist(), dtype=float)

        rates = np.linalg.solve(evaluated(self.method.mass_matrix), evaluated(self.method.forcing)[:, 0])
        by_speed = dict(zip(self.method.u, rates, strict=True))
        return np.array([by_speed[self.u[name]] for name in self.names])
