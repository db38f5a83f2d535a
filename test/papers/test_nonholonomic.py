"""Kane's equations with chosen speeds, and multipliers, against closed forms of nonholonomic systems."""

import numpy as np
import pytest
import sympy
from nonholonomic_systems import (
    System,
    cart,
    g,
    kane,
    lagrange_with_multipliers,
    m,
    r,
    rolling_disk,
    skate,
)
from scipy.integrate import solve_ivp
from sympy import Matrix, cos, sin

from kane_dynamics_ros.papers import manipulator_maggi


def solved(system: System) -> Matrix:
    """du (p, 1) from F_r + F_r* = 0."""
    F = kane(system)
    du = Matrix(system.du)
    M = F.jacobian(du)
    return M.LUsolve(-F.subs(dict.fromkeys(system.du, 0)))


@pytest.mark.parametrize(
    "system", [rolling_disk(), skate(sympy.Rational(1, 2)), cart()], ids=["disk", "skate", "cart"]
)
def test_there_are_fewer_equations_than_coordinates(system):
    assert kane(system).shape == (len(system.u), 1)
    assert len(system.u) < len(system.q)


def test_cart_is_the_closed_form():
    """(m + 2 I / r^2) v' - m d w^2 = (T_L + T_R) / r, and the moments about the axle's middle likewise."""
    system = cart()
    (v, w), (dv, dw) = system.u, system.du
    J, wheel, b, d = sympy.symbols("J I b d", positive=True)
    T_L, T_R = sympy.symbols("T_L T_R")
    forward = (T_L + T_R) / r - (m + 2 * wheel / r**2) * dv + m * d * w**2
    turning = (T_R - T_L) * b / r - (J + m * d**2 + 2 * wheel * b**2 / r**2) * dw - m * d * v * w
    assert sympy.simplify(kane(system) - Matrix([forward, turning])) == sympy.zeros(2, 1)


def test_skate_on_a_slope_drifts_along_a_cycloid():
    """Started at rest while it turns at w, it does not slide down: x stays bounded, y grows:
    x = g sin a sin^2(w t) / (2 w^2), y = g sin a (w t - sin(2 w t) / 2) / (2 w^2).
    """
    a, w, t = sympy.symbols("a w t", positive=True)
    system = skate(a)
    x, y = (g * sin(a) / (2 * w**2) * f for f in (sin(w * t) ** 2, w * t - sin(2 * w * t) / 2))
    along = x.diff(t) * cos(w * t) + y.diff(t) * sin(w * t)
    motion = dict(zip(system.q, (x, y, w * t), strict=True))
    motion |= dict(zip(system.u, (along, w), strict=True)) | dict(
        zip(system.du, (along.diff(t), 0), strict=True)
    )
    assert sympy.simplify(kane(system).subs(motion)) == sympy.zeros(2, 1)
    kinematic = Matrix([x, y, w * t]).diff(t) - system.rates.subs(motion)
    assert sympy.simplify(kinematic) == sympy.zeros(3, 1)  # and it never slips sideways


def test_multipliers_give_the_skates_accelerations_and_the_force_on_its_edge():
    """lambda is the sideways force m (v w + g sin a sin phi), from Newton's law across the edge."""
    a = sympy.Symbol("a", positive=True)
    system = skate(a)
    x, _, phi = system.q
    qd, qdd = sympy.symbols("x_d y_d phi_d"), sympy.symbols("x_dd y_dd phi_dd")
    J = sympy.Symbol("J", positive=True)
    L = m * (qd[0] ** 2 + qd[1] ** 2) / 2 + J * qd[2] ** 2 / 2 + m * g * sin(a) * x
    A = Matrix([[-sin(phi), cos(phi), 0]])
    accelerations, multipliers = lagrange_with_multipliers(L, system.q, qd, qdd, A)
    on_the_edge = dict(zip(qd, system.rates, strict=True))
    v, w = system.u
    du = solved(system)
    expected = Matrix([du[0] * cos(phi) - v * w * sin(phi), du[0] * sin(phi) + v * w * cos(phi), du[1]])
    assert sympy.simplify(accelerations.subs(on_the_edge) - expected) == sympy.zeros(3, 1)
    sideways = m * v * w + m * g * sin(a) * sin(phi)
    assert sympy.simplify(multipliers.subs(on_the_edge) - Matrix([sideways])) == sympy.zeros(1, 1)
    assert sympy.simplify(A * system.W) == sympy.zeros(1, 2)  # Maggi's W^T A^T = 0: the force does no work


def test_upright_rolling_disk_is_stable_above_its_critical_speed():
    """Spin^2 > g / (3 r): the closed form for a uniform disk, from the characteristic polynomial of ours."""
    system = rolling_disk()
    _, _, psi, theta, _ = system.q
    spin = sympy.Symbol("Omega", positive=True)
    du = solved(system)
    # what matters near upright: lean, its rate, and the turn about the spoke; heading and contact do not
    state = (theta, system.u[0], system.u[2])
    rates = Matrix([system.rates[3], du[0], du[2]])
    upright = {theta: 0, system.u[0]: 0, system.u[2]: 0, system.u[1]: spin, psi: 0}
    assert sympy.simplify(rates.subs(upright)) == sympy.zeros(3, 1)
    jacobian = rates.jacobian(Matrix(state)).subs(upright).applyfunc(sympy.simplify)
    s = sympy.Symbol("s")
    polynomial = sympy.factor(jacobian.charpoly(s).as_expr())
    expected = s * (s**2 + sympy.Rational(12, 5) * spin**2 - sympy.Rational(4, 5) * g / r)
    assert sympy.simplify(polynomial - expected) == 0


def test_a_wobbling_disk_keeps_its_energy():
    """Integrated to 1e-10: the constraint forces do no work."""
    system = rolling_disk()
    numbers = {m: 1.3, r: 0.4, g: 9.81}
    rhs = sympy.lambdify(
        [system.q, system.u], [system.rates.subs(numbers), solved(system).subs(numbers)], cse=True
    )
    body = system.bodies[0]
    height = (r * cos(system.q[3])).subs(numbers)
    T = (body.mass * body.v.dot(body.v) + (body.omega.T * body.J * body.omega)[0]) / 2
    energy = sympy.lambdify([system.q, system.u], T.subs(numbers) + 1.3 * 9.81 * height)

    def rate(_, state):
        q_rate, u_rate = rhs(state[:5], state[5:])
        return np.concatenate([np.ravel(q_rate), np.ravel(u_rate)])

    start = np.array([0.0, 0.0, 0.2, 0.3, 0.0, 0.4, 9.0, 0.5])
    found = solve_ivp(rate, (0.0, 2.0), start, rtol=1e-11, atol=1e-12, method="DOP853")
    energies = [energy(state[:5], state[5:]) for state in found.y.T]
    assert np.ptp(energies) < 1e-8 * energies[0]
    assert np.ptp(found.y[3]) > 0.01  # it does wobble


def test_multipliers_of_the_papers_manipulator_are_the_forces_on_its_mass_centres():
    """Phi = A^T lambda: (18) eliminates them, (22) gives them back; of x_j, y_j, z_j they are m_j (a - g)."""
    system = manipulator_maggi.maggi_system()
    symbols = sorted(system.residuals.free_symbols | system.jacobian.free_symbols, key=str)
    rng = np.random.default_rng(3)
    at = {
        symbol: sympy.Rational(str(round(value, 3)))
        for symbol, value in zip(symbols, rng.uniform(0.2, 1, 99), strict=False)
    }
    Phi, A = system.residuals.subs(at), system.jacobian.subs(at)
    dependent = A[:, 3:]  # of the ten coordinates that the constraints determine
    multipliers = dependent.T.LUsolve(Phi[3:, :])
    for k, j in enumerate(manipulator_maggi.BODIES):
        rows = [manipulator_maggi.COORDINATES.index(s) for s in manipulator_maggi.CENTRES[j]]
        a = Matrix([manipulator_maggi.ACCELERATIONS[row] for row in rows]).subs(at)
        weight = Matrix([0, 0, manipulator_maggi.g]).subs(at)
        expected = manipulator_maggi.MASSES[j].subs(at) * (a + weight)
        assert multipliers[1 + 3 * k : 4 + 3 * k, :] == expected
