"""Kane's equations with chosen speeds where constraints bind velocities: a disk, a skate, a cart.

Both rigid papers stress that Kane's and Maggi's equations serve nonholonomic systems; their own examples are
chains. With n coordinates and p < n speeds u that the constraints leave free,

    q' = W(q) u                                                            kinematic equations
    v^k = sum_r v_r^k u_r, omega^k = sum_r omega_r^k u_r, r = 1 .. p       (nonholonomic) partial velocities
    F_r + F_r* = 0                                                         [Malvezzi2017] eqs. (1) to (3)

The constraint forces have no part in it. Lagrange's equations with multipliers give them, at the cost of as
many more unknowns: d/dt (dL/dq') - dL/dq = Q + A^T lambda with A q' = 0; Maggi's multiply that by W^T, and
W^T A^T = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sympy
from sympy import Matrix, cos, sin

g, m, r = sympy.symbols("g m r", positive=True)


@dataclass(frozen=True)
class RigidBody:
    """A rigid body: all vectors are in the fixed frame N.

    ``v`` velocity of the mass centre and ``omega`` angular velocity, of q and u; ``J`` (3, 3) inertia,
    of q; ``force`` and ``torque`` those that act on it, of q and u.
    """

    mass: sympy.Expr
    J: Matrix
    v: Matrix
    omega: Matrix
    force: Matrix
    torque: Matrix


@dataclass(frozen=True)
class System:
    """Coordinates q (n,), speeds u (p,), their rates du (p,), ``rates`` q' = W u (n, 1), and the bodies."""

    q: tuple[sympy.Symbol, ...]
    u: tuple[sympy.Symbol, ...]
    du: tuple[sympy.Symbol, ...]
    rates: Matrix
    bodies: tuple[RigidBody, ...]

    @property
    def W(self) -> Matrix:
        """q' by u, (n, p)."""
        return self.rates.jacobian(Matrix(self.u))


def kane(system: System) -> Matrix:
    """F_r + F_r*, (p, 1): zero along every motion. Linear in du."""
    total = sympy.zeros(len(system.u), 1)
    u = Matrix(system.u)
    for body in system.bodies:
        momentum_rate = _rate(body.J * body.omega, system)
        total += body.v.jacobian(u).T * (body.force - body.mass * _rate(body.v, system))
        total += body.omega.jacobian(u).T * (body.torque - momentum_rate)
    return total


def _rate(vector: Matrix, system: System) -> Matrix:
    """The time derivative of a vector of q and u along q' = W u."""
    return vector.jacobian(Matrix(system.q)) * system.rates + vector.jacobian(Matrix(system.u)) * Matrix(
        system.du
    )


def lagrange_with_multipliers(
    L: sympy.Expr,
    q: Sequence[sympy.Symbol],
    qd: Sequence[sympy.Symbol],
    qdd: Sequence[sympy.Symbol],
    A: Matrix,
) -> tuple[Matrix, Matrix]:
    """Accelerations (n, 1) and multipliers lambda of d/dt (dL/dq') - dL/dq = A^T lambda with A q' = 0.

    A^T lambda are the forces that keep the constraint.
    """
    Q, Qd = Matrix(q), Matrix(qd)
    momenta = Matrix([L]).jacobian(Qd)
    M = momenta.jacobian(Qd)
    bias = momenta.jacobian(Q) * Qd - Matrix([L]).jacobian(Q).T
    A_rate = (A * Qd).jacobian(Q) * Qd
    rows = len(A.col(0))
    system = M.row_join(-A.T).col_join(A.row_join(sympy.zeros(rows, rows)))
    solution = system.LUsolve((-bias).col_join(-A_rate))
    return solution[: len(q), :], solution[len(q) :, :]


def rolling_disk() -> System:
    """A thin uniform disk that rolls on the plane z = 0 without slip, with all its motions.

    q = (x, y, psi, theta, phi): point of contact, heading, lean from the vertical, spin. u: the angular
    velocity about the heading (lean), about the disk's axle, and about the line from contact to centre.
    """
    x, y, psi, theta, phi = sympy.symbols("x y psi theta phi")
    u, du = sympy.symbols("u_1:4"), sympy.symbols("du_1:4")
    heading = Matrix([cos(psi), sin(psi), 0])  # horizontal, in the disk's plane
    sideways = Matrix([-sin(psi), cos(psi), 0])
    up = Matrix([0, 0, 1])
    spoke = cos(theta) * up - sin(theta) * sideways  # from the contact to the centre
    axle = cos(theta) * sideways + sin(theta) * up
    # omega = theta' heading + psi' up + phi' axle, resolved along heading, axle and spoke
    omega = u[0] * heading + u[1] * axle + u[2] * spoke
    v = omega.cross(r * spoke)  # no slip: the point of contact of the disk is at rest
    psi_rate = u[2] / cos(theta)
    theta_rate, phi_rate = u[0], u[1] - psi_rate * sin(theta)
    contact = -r * phi_rate  # speed of the point of contact along the heading
    rates = Matrix([contact * cos(psi), contact * sin(psi), psi_rate, theta_rate, phi_rate])
    J = m * r**2 / 4 * (sympy.eye(3) + axle * axle.T)
    return System(
        (x, y, psi, theta, phi), u, du, rates, (RigidBody(m, J, v, omega, -m * g * up, sympy.zeros(3, 1)),)
    )


def skate(slope: sympy.Expr) -> System:
    """A knife edge on a plane that falls along x by ``slope`` [rad]: q = (x, y, phi), u = (speed, phi')."""
    x, y, phi = sympy.symbols("x y phi")
    u, du = sympy.symbols("u_1:3"), sympy.symbols("du_1:3")
    along = Matrix([cos(phi), sin(phi), 0])
    J = sympy.Symbol("J", positive=True)
    body = RigidBody(
        m,
        J * sympy.eye(3),
        u[0] * along,
        Matrix([0, 0, u[1]]),
        Matrix([m * g * sin(slope), 0, 0]),
        sympy.zeros(3, 1),
    )
    return System((x, y, phi), u, du, Matrix([u[0] * cos(phi), u[0] * sin(phi), u[1]]), (body,))


def cart() -> System:
    """A two-wheeled cart: q = (x, y, phi) of the axle's middle, u = (forward speed, phi').

    Mass m with its centre d before the axle, moment J about the vertical; two wheels of radius r at b to
    either side with moment I about the axle (their other inertia is the body's), torques T_L, T_R.
    """
    x, y, phi = sympy.symbols("x y phi")
    u, du = sympy.symbols("u_1:3"), sympy.symbols("du_1:3")
    J, I, b, d = sympy.symbols("J I b d", positive=True)  # noqa: E741 - the wheel's moment of inertia
    along, left, up = Matrix([cos(phi), sin(phi), 0]), Matrix([-sin(phi), cos(phi), 0]), Matrix([0, 0, 1])
    none = sympy.zeros(3, 1)
    torques = {"L": sympy.Symbol("T_L"), "R": sympy.Symbol("T_R")}
    bodies = [RigidBody(m, J * sympy.eye(3), u[0] * along + d * u[1] * left, u[1] * up, none, none)]
    for side, sign in (("L", 1), ("R", -1)):
        spin = (u[0] - sign * b * u[1]) / r  # rolls: forward speed of the wheel's centre over its radius
        bodies.append(
            RigidBody(sympy.Integer(0), I * left * left.T, none, spin * left, none, torques[side] * left)
        )
    # The motors push back on the cart; about the vertical this has no moment.
    bodies[0] = RigidBody(
        m, bodies[0].J, bodies[0].v, bodies[0].omega, none, -(torques["L"] + torques["R"]) * left
    )
    return System((x, y, phi), u, du, Matrix([u[0] * cos(phi), u[0] * sin(phi), u[1]]), tuple(bodies))
