"""What the papers say of constraints, on systems that have them: ``kane_dynamics_ros.systems``."""

import numpy as np
import pytest
import sympy
from sympy import Matrix

from kane_dynamics_ros.papers import manipulator_maggi
from kane_dynamics_ros.systems import (
    Body,
    Coincident,
    NoSlip,
    Point,
    System,
    close,
    complete_speeds,
    constraint_efforts,
    cos,
    energy,
    forward_dynamics,
    simulate,
    sin,
    verify,
)
from kane_dynamics_ros.systems.equations import state_terms
from kane_dynamics_ros.systems.symbolic import equations_of_motion
from kane_dynamics_ros.systems.witnesses import maggi, multipliers

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def speeds_of_a_vehicle(q, v):
    """Forward, across and turn of the frame ``turn``, then the others as they are."""
    c, s = cos(q["turn"]), sin(q["turn"])
    others = [v[name] for name in v if name not in ("x", "y", "turn")]
    return [v["x"] * c + v["y"] * s, v["turn"], v["y"] * c - v["x"] * s, *others]


def two_wheeled_cart() -> System:
    """Mass m with its centre d before the axle, two wheels of radius r at b to either side.

    The wheels have no mass, and a moment I about the axle.
    """
    m, J, I, b, d, r = sympy.symbols("m J I b d r", positive=True)  # noqa: E741 - the wheel's moment
    wheels, contacts = (), ()
    for side, sign in (("left", 1), ("right", -1)):
        wheels += (Body(side, "turn", axis=Y, at=(0, sign * b, 0), inertia=(0, 0, 0, I, 0, 0)),)
        wheels += (Body(f"under {side}", "turn", joint="fixed", at=(0, sign * b, -r)),)
        contacts += (NoSlip(side, at=f"under {side}", along=(X,)),)
    body = Body("turn", "y", axis=Z, mass=m, com=(d, 0, 0), inertia=(0, 0, 0, 0, 0, J))
    slides = (Body("x", joint="prismatic", axis=X), Body("y", "x", joint="prismatic", axis=Y))
    blade = (NoSlip("turn", at="turn", along=(Y,)),)
    return System(
        "cart", (*slides, body, *wheels), (*blade, *contacts), speeds_of_a_vehicle, (0, 0, 0), ("u_1", "u_2")
    )


def test_cart_is_the_closed_form():
    """(m + 2 I / r^2) v' - m d w^2 = (T_L + T_R) / r, and the moments about the axle's middle likewise."""
    equations = equations_of_motion(two_wheeled_cart())
    m, J, wheel, b, d, r = sympy.symbols("m J I b d r", positive=True)
    (v, w), (dv, dw) = equations.u, equations.u_rates
    *_, T_L, T_R = equations.tau
    forward = (m + 2 * wheel / r**2) * dv - m * d * w**2 - (T_L + T_R) / r
    turning = (J + m * d**2 + 2 * wheel * b**2 / r**2) * dw + m * d * v * w - (T_R - T_L) * b / r
    residual = equations.residual.subs(dict.fromkeys(equations.tau[:3], 0))
    assert sympy.simplify(residual - Matrix([forward, turning])) == sympy.zeros(2, 1)


def test_there_are_fewer_equations_than_coordinates():
    equations = equations_of_motion(two_wheeled_cart())
    assert (len(equations.q), equations.residual.shape) == (5, (2, 1))


def skate(slope: float) -> System:
    """A knife edge on a plane that falls along x by ``slope`` [rad], 9.81 m/s^2."""
    body = Body("turn", "y", axis=Z, mass=1.7, inertia=(0, 0, 0, 0, 0, 0.3))
    slides = (Body("x", joint="prismatic", axis=X), Body("y", "x", joint="prismatic", axis=Y))
    gravity = (9.81 * np.sin(slope), 0, -9.81 * np.cos(slope))
    return System("skate", (*slides, body), (NoSlip("turn", at="turn", along=(Y,)),), gravity=gravity)


def test_skate_on_a_slope_drifts_along_a_cycloid():
    """Started at rest while it turns at w, it does not slide down: x stays bounded, y grows:
    x = g sin a sin^2(w t) / (2 w^2), y = g sin a (w t - sin(2 w t) / 2) / (2 w^2).
    """
    w, motion = 3.0, simulate(skate(0.4), [0, 0, 0], [0, 0, 3.0], 2.0, samples=21)
    push, t = 9.81 * np.sin(0.4) / (2 * w**2), motion.time
    assert motion.q[:, 0] == pytest.approx(push * np.sin(w * t) ** 2, abs=1e-9)
    assert motion.q[:, 1] == pytest.approx(push * (w * t - np.sin(2 * w * t) / 2), abs=1e-9)


def test_multipliers_give_the_skates_accelerations_and_the_force_on_its_edge():
    """The sideways force is m (v w + g sin a sin phi), from Newton's law across the edge."""
    system, q = skate(0.4), np.array([0.3, -0.2, 0.8])
    u = complete_speeds(system, q, [0.7, 0.0, 1.9])
    accelerations, efforts = multipliers(system, q, u, np.zeros(3))
    assert accelerations == pytest.approx(forward_dynamics(system, q, u, np.zeros(3)), abs=1e-12)
    assert accelerations == pytest.approx(maggi(system, q, u, np.zeros(3)), abs=1e-12)
    v = u[0] * np.cos(q[2]) + u[1] * np.sin(q[2])
    sideways = 1.7 * (v * u[2] + 9.81 * np.sin(0.4) * np.sin(q[2]))
    across = np.array([-np.sin(q[2]), np.cos(q[2])])
    assert across @ efforts[:2] == pytest.approx(sideways, rel=1e-12)
    assert constraint_efforts(system, q, u, np.zeros(3)) == pytest.approx(efforts, abs=1e-12)


def test_upright_rolling_disk_is_stable_above_its_critical_speed():
    """Spin^2 > g / (3 r): the closed form for a uniform disk, from the characteristic polynomial of ours."""
    m, r, g, spin = sympy.symbols("m r g Omega", positive=True)
    bodies = (
        Body("x", joint="prismatic", axis=X),
        Body("y", "x", joint="prismatic", axis=Y),
        Body("turn", "y", axis=Z),
        Body("lean", "turn", axis=X),
        Body(
            "spin",
            "lean",
            axis=Y,
            at=(0, 0, r),
            mass=m,
            inertia=(m * r**2 / 4, 0, 0, m * r**2 / 2, 0, m * r**2 / 4),
        ),
    )
    disk = System(
        "disk",
        bodies,
        (NoSlip("spin", at="turn", along=(X, Y)),),
        gravity=(0, 0, -g),
        independent=("turn", "lean", "spin"),
    )
    equations = equations_of_motion(disk)
    turn, lean, spinning = equations.u
    upright = {equations.q[2]: 0, equations.q[3]: 0, turn: 0, lean: 0, spinning: spin}
    A, _ = equations.linearised(upright | dict.fromkeys(equations.tau, 0))
    s = sympy.Symbol("s")
    expected = s**6 * (s**2 + sympy.Rational(12, 5) * spin**2 - sympy.Rational(4, 5) * g / r)
    assert sympy.simplify(A.charpoly(s).as_expr() - expected) == 0


def linkage() -> System:
    """Holonomic constraints alone: a four-bar whose pin closes it, in a plane of its own."""
    rod = {"axis": Y, "mass": 1.0, "com": (0.1, 0, 0), "inertia": (0, 0, 0, 0.01, 0, 0)}
    return System(
        "linkage",
        (Body("a", **rod), Body("b", "a", at=(0.2, 0, 0), **rod), Body("c", at=(0.5, 0, 0), **rod)),
        (Coincident(Point("b", (0.6, 0, 0)), Point("c", (0.4, 0, 0))),),
    )


def test_kane_and_maggi_work_with_holonomic_constraints():
    """[WindPump] doubts that they do. The constraints' speeds are linear as those of rolling are.

    What is left to the solver is to keep h(q) = 0, and to keep away from where the loop is singular.
    """
    system = linkage()
    q = close(system, [-1.0, 0.6, -1.1], fixed=["a"])
    found = verify(system, q)
    assert max(found.maggi, found.multipliers, found.constraint_efforts) < 1e-12
    motion = simulate(system, q, complete_speeds(system, q, [1.5, 0, 0]), 1.0)
    assert np.ptp(motion.energy.sum(axis=1)) < 1e-8 * np.abs(motion.energy).max()


def test_hamiltons_equations_are_kanes_in_momenta():
    """p = M q': p' = C^T q' - g + tau and q' = M^-1 p give the motion that Kane's equations give.

    As [WindPump] says, they are twice as many and of first order; M must be solved at each step all the same.
    """
    chain = System("chain", linkage().bodies[:2])
    q, qd, step = np.array([0.4, -0.9]), np.array([1.1, 0.7]), 1e-6

    terms = state_terms(chain, q, qd)
    p = terms.M @ qd

    def hamiltonian(position, momentum):
        speeds = np.linalg.solve(state_terms(chain, position, qd).M, momentum)
        return sum(energy(chain, position, speeds))

    units = np.eye(2) * step
    by_q = [(hamiltonian(q + e, p) - hamiltonian(q - e, p)) / (2 * step) for e in units]
    by_p = [(hamiltonian(q, p + e) - hamiltonian(q, p - e)) / (2 * step) for e in units]
    assert by_p == pytest.approx(qd, rel=1e-8)
    ahead, behind = (state_terms(chain, q + s * step * qd, qd).M for s in (1, -1))
    qdd = forward_dynamics(chain, q, qd, np.zeros(2))
    momentum_rate = (ahead - behind) @ qd / (2 * step) + terms.M @ qdd
    assert momentum_rate == pytest.approx(-np.array(by_q), rel=1e-7)


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
    found = dependent.T.LUsolve(Phi[3:, :])
    for k, j in enumerate(manipulator_maggi.BODIES):
        rows = [manipulator_maggi.COORDINATES.index(s) for s in manipulator_maggi.CENTRES[j]]
        a = Matrix([manipulator_maggi.ACCELERATIONS[row] for row in rows]).subs(at)
        weight = Matrix([0, 0, manipulator_maggi.g]).subs(at)
        expected = manipulator_maggi.MASSES[j].subs(at) * (a + weight)
        assert found[1 + 3 * k : 4 + 3 * k, :] == expected
