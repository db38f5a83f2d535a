"""The same systems given to SymPy's KanesMethod: an independent derivation, by its own vectors and frames."""

import numpy as np
import sympy
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

from kane_dynamics_ros.systems import Coincident, NoSlip, System


def vector(frame: ReferenceFrame, components) -> object:
    return sum((c * axis for c, axis in zip(components, frame, strict=True)), 0 * frame.x)


def kanes_method(system: System, independent: tuple[str, ...]) -> KanesMethod:
    """KanesMethod of a system with u = q' and constraints of the kinds ``Coincident`` and ``NoSlip``.

    ``independent`` names the independent speeds; where loops bind coordinates, those too.
    """
    N, O = ReferenceFrame("N"), Point("O")  # noqa: E741 - the fixed origin
    O.set_vel(N, 0)
    names = system.coordinates
    q = dict(zip(names, dynamicsymbols(f"q:{len(names)}"), strict=True))
    u = dict(zip(names, dynamicsymbols(f"u:{len(names)}"), strict=True))
    rates = {q[name].diff(): u[name] for name in names}
    frames, points = {"ground": N}, {"ground": O}
    bodies, loads = [], []
    for body in system.bodies:
        P, Po = frames[body.parent], points[body.parent]
        J = P.orientnew(f"J_{body.name}", "DCM", sympy.Matrix(body.rotation).T)
        place = vector(P, body.at)
        if body.joint == "prismatic":
            place = place + q[body.name] * vector(J, body.axis)
            B = J
        else:
            angle = 0 if body.joint == "fixed" else q[body.name]
            B = J.orientnew(f"B_{body.name}", "Axis", [angle, vector(J, body.axis)])
        Bo = Po.locatenew(f"o_{body.name}", place)
        frames[body.name], points[body.name] = B, Bo
        Bo.set_vel(N, Bo.pos_from(O).dt(N).subs(rates))
        if body.mass or any(body.inertia):
            xx, xy, xz, yy, yz, zz = body.inertia
            cm = Bo.locatenew(f"cm_{body.name}", vector(B, body.com))
            cm.set_vel(N, cm.pos_from(O).dt(N).subs(rates))
            bodies.append(RigidBody(body.name, cm, B, body.mass, (inertia(B, xx, yy, zz, xy, yz, xz), cm)))
            loads.append((cm, body.mass * vector(N, system.gravity)))
    closures, velocities = [], []
    for constraint in system.constraints:
        if isinstance(constraint, Coincident):
            a, b = (
                points[p.body].pos_from(O) + vector(frames[p.body], p.position)
                for p in (constraint.a, constraint.b)
            )
            closures += [(a - b).dot(vector(N, direction)) for direction in constraint.along]
        elif isinstance(constraint, NoSlip):
            place = points[constraint.at].pos_from(O)
            B, Bo = frames[constraint.body], points[constraint.body]
            omega = B.ang_vel_in(N).subs(rates)
            v = Bo.vel(N) + omega.cross(place - Bo.pos_from(O))
            velocities += [v.dot(vector(frames[constraint.at], d)) for d in constraint.along]
        else:
            raise TypeError(constraint)
    velocities += [h.diff(dynamicsymbols._t).subs(rates) for h in closures]
    dependent = [name for name in names if name not in independent]
    bound = dependent if closures else []
    free = [name for name in names if name not in bound]
    method = KanesMethod(
        N,
        q_ind=[q[name] for name in free],
        u_ind=[u[name] for name in independent],
        kd_eqs=[q[name].diff() - u[name] for name in names],
        q_dependent=[q[name] for name in bound],
        configuration_constraints=closures or None,
        u_dependent=[u[name] for name in dependent] if velocities else [],
        velocity_constraints=velocities or None,
    )
    method.kanes_equations(bodies, loads)
    method.coordinates = q, u
    return method


def accelerations(method: KanesMethod, q: np.ndarray, u: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """u' (n,) at numbers q, u (n,), in the order of ``names``."""
    symbols_q, symbols_u = method.coordinates
    at = dict(zip(symbols_q.values(), q, strict=True)) | dict(zip(symbols_u.values(), u, strict=True))
    M = np.array(method.mass_matrix.subs(at).evalf().tolist(), dtype=float)
    f = np.array(method.forcing.subs(at).evalf().tolist(), dtype=float)[:, 0]
    solved = dict(zip(method.u, np.linalg.solve(M, f), strict=True))
    return np.array([solved[symbols_u[name]] for name in names])
