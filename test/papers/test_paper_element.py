"""[WindPump] eqs. (1) to (20), each by exact arithmetic: right as printed, or wrong by a difference shown.

Time derivatives are taken of a rotation that is a rational function of the time (Cayley's map of a quadratic
vector), so that R, R', R'' at t = 0 are matrices of fractions and every identity is exact.
"""

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from kane_dynamics_ros.elastic import equations as ours
from kane_dynamics_ros.elastic.arm_model import floating_inertia, turn
from kane_dynamics_ros.elastic.body import ElasticBody, element_arrays
from kane_dynamics_ros.elastic.link import BeamRates, Material, beam_rates, tube
from kane_dynamics_ros.papers import differentiation_counts as symbolic

t, s, x = sp.symbols("t s x")
E3 = sp.eye(3)


def skew(v):
    return sp.Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def vee(M):
    return sp.Matrix([M[2, 1], M[0, 2], M[1, 0]])


def numbers(M):
    """An exact matrix as floats; a column as (n,)."""
    values = np.array(sp.Matrix(M).tolist(), dtype=float)
    return values[:, 0] if values.shape[1] == 1 else values


ROUNDING = {"rtol": 1e-12, "atol": 1e-10}  # entries are up to 1e3


def fractions(rng, n):
    return sp.Matrix([sp.Rational(str(Fraction(rng.randint(-9, 9), rng.randint(1, 7)))) for _ in range(n)])


@pytest.fixture(params=[1, 2, 3], scope="module")
def rotation(request):
    """R, R', R'' at t = 0, exact."""
    rng = random.Random(request.param)
    K0, K1, K2 = (skew(fractions(rng, 3)) for _ in range(3))  # K(t) = K0 + t K1 + t^2 K2 / 2
    inverse = (E3 - K0).inv()
    R = inverse * (E3 + K0)  # (E - K) R = E + K, and its derivatives:
    Rd = inverse * (K1 + K1 * R)
    return [R, Rd, inverse * (K2 + K2 * R + 2 * K1 * Rd)]


def test_eqs_2_to_5_the_rotation_is_orthonormal_and_its_derivatives_are_skew(rotation):
    R, Rd, _ = rotation
    assert R * R.T == R.T * R == E3  # (3); (2) is its definition
    assert Rd * R.T + R * Rd.T == sp.zeros(3)  # (4)
    assert Rd.T * R + R.T * Rd == sp.zeros(3)  # (5)
    K0 = (R - E3) * (R + E3).inv()  # the code's rotation is Cayley's map of theta = 2 vee(K0) as well
    K1 = (E3 - K0) * Rd * (E3 + R).inv()
    found = turn(numbers(2 * vee(K0)), numbers(2 * vee(K1)))
    np.testing.assert_allclose(found.R, numbers(R), **ROUNDING)
    np.testing.assert_allclose(found.omega, numbers(vee(Rd * R.T)), **ROUNDING)


def test_eqs_6_to_8_both_angular_velocity_operators_are_skew(rotation):
    R, Rd, _ = rotation
    omega_G, omega_L = Rd * R.T, R.T * Rd
    assert omega_G == -R * Rd.T == skew(vee(omega_G))  # (6)
    assert omega_L == R.T * omega_G * R == -Rd.T * R == skew(vee(omega_L))  # (7)
    assert (-omega_G, -omega_L) == (omega_G.T, omega_L.T)  # (8)
    assert vee(omega_G) == R * vee(omega_L)
    np.testing.assert_allclose(ours.skew(numbers(vee(omega_G))), numbers(omega_G), **ROUNDING)
    np.testing.assert_allclose(ours.skew(numbers(vee(omega_L))), numbers(omega_L), **ROUNDING)


def test_eqs_9_and_10_both_angular_acceleration_operators_are_skew(rotation):
    R, Rd, Rdd = rotation
    epsilon_G = Rdd * R.T + Rd * Rd.T
    epsilon_L = Rd.T * Rd + R.T * Rdd
    assert epsilon_G == -Rd * Rd.T - R * Rdd.T == skew(vee(epsilon_G))  # (9)
    assert epsilon_L == -Rd.T * Rd - Rdd.T * R == skew(vee(epsilon_L))  # (10)
    np.testing.assert_allclose(ours.skew(numbers(vee(epsilon_G))), numbers(epsilon_G), **ROUNDING)
    np.testing.assert_allclose(ours.skew(numbers(vee(epsilon_L))), numbers(epsilon_L), **ROUNDING)


def test_eqs_11_and_12_the_operator_of_the_acceleration_is_right(rotation):
    R, Rd, Rdd = rotation
    omega_G, omega_L = Rd * R.T, R.T * Rd
    epsilon_G, epsilon_L = Rdd * R.T + Rd * Rd.T, Rd.T * Rd + R.T * Rdd
    assert Rdd * R.T == epsilon_G - Rd * Rd.T == epsilon_G + omega_G * omega_G  # (11)
    assert R.T * Rdd == epsilon_L - Rd.T * Rd == epsilon_L + omega_L * omega_L  # (12)
    field = Field(rotation, 5)
    body = field.body()
    found = ours.coefficients(body, field.rigid_motion())
    in_frame = field.integral(field.N.T * (R.T * Rdd) * field.N)
    np.testing.assert_allclose(found.k - body.k, numbers(in_frame), **ROUNDING)


def printed_operator(e, w, lower_right_sign):
    """The matrices that eqs. (11) and (12) print; they differ in the sign of epsilon_x in row 3."""
    return sp.Matrix(
        [
            [-(w[1] ** 2 + w[2] ** 2), -e[2] + w[0] * w[1], -e[1] + w[0] * w[2]],
            [e[2] + w[0] * w[1], -(w[2] ** 2 + w[0] ** 2), -e[0] + w[1] * w[2]],
            [e[1] + w[0] * w[2], lower_right_sign * e[0] + w[1] * w[2], -(w[0] ** 2 + w[1] ** 2)],
        ]
    )


def test_eqs_11_and_12_the_printed_matrices_have_wrong_signs():
    """Exact differences: -2 epsilon_y at row 1, column 3 and 2 epsilon_y at row 3, column 1 in both; in (11)
    also -2 epsilon_x at row 3, column 2.
    """
    e, w = sp.Matrix(sp.symbols("e_x e_y e_z")), sp.Matrix(sp.symbols("w_x w_y w_z"))
    right = skew(e) + skew(w) * skew(w)
    wrong_11 = (printed_operator(e, w, -1) - right).applyfunc(sp.expand)
    wrong_12 = (printed_operator(e, w, 1) - right).applyfunc(sp.expand)
    assert wrong_11 == sp.Matrix([[0, 0, -2 * e[1]], [0, 0, 0], [2 * e[1], -2 * e[0], 0]])
    assert wrong_12 == sp.Matrix([[0, 0, -2 * e[1]], [0, 0, 0], [2 * e[1], 0, 0]])
    field = Field([E3, skew([1, -2, 3]), skew([5, 7, -4]) + skew([1, -2, 3]) ** 2], 5)
    body = field.body()
    found = ours.coefficients(body, field.rigid_motion()).k - body.k
    values = dict(zip([*w, *e], [1, -2, 3, 5, 7, -4], strict=True))
    for operator, differs in (
        (right, False),
        (printed_operator(e, w, -1), True),
        (printed_operator(e, w, 1), True),
    ):
        expected = numbers(field.integral(field.N.T * operator.subs(values) * field.N))
        assert np.allclose(found, expected, **ROUNDING) is not differs


class Field:
    """A point of an element with any polynomial shape functions, and its motion to second order in t."""

    def __init__(self, rotation, seed):
        rng = random.Random(seed)
        self.R, self.Rd, self.Rdd = rotation
        self.N = sp.Matrix(3, 4, lambda i, j: sum(c * s**k for k, c in enumerate(fractions(rng, 4))))
        self.r = sp.Matrix([s, sp.Rational(1, 3), sp.Rational(-1, 5)])
        self.delta, self.rate, self.second = (fractions(rng, 4) for _ in range(3))
        self.r_O, self.v_O, self.a_O = (fractions(rng, 3) for _ in range(3))
        path = self.R + t * self.Rd + t**2 / 2 * self.Rdd
        nodal = self.delta + t * self.rate + t**2 / 2 * self.second
        origin = self.r_O + t * self.v_O + t**2 / 2 * self.a_O
        self.position = origin + path * (self.r + self.N * nodal)
        self.omega, self.epsilon = self.R.T * self.Rd, self.Rd.T * self.Rd + self.R.T * self.Rdd
        self.acceleration = expand(self.position.diff(t, 2).subs(t, 0))

    def integral(self, integrand):
        """int ... rho dV, with rho dV = ds from 0 to 1."""

        def over_length(f):
            return sum(c / (power + 1) for (power,), c in sp.Poly(f, s).terms())

        return integrand.applyfunc(over_length)

    def body(self, stiffness=None):
        """The field's integrals as the code keeps those of a body: mass 1, length 1."""
        N, r = self.N, self.r
        D = [[numbers(self.integral(N[a, :].T * N[b, :])) for b in range(3)] for a in range(3)]
        E = [[numbers(self.integral(N[a, :].T * r[b])) for b in range(3)] for a in range(3)]
        rates = beam_rates(Material(1.0, 1.0, 1.0), tube(1.0))
        return ElasticBody(
            kind="space",
            element=element_arrays("space", 1.0, rates),
            elements=1,
            x0=0.0,
            free=(0, 1, 2, 3),
            D=np.array(D),
            E=np.array(E),
            m_O=numbers(self.integral(N)),
            k=np.zeros((4, 4)) if stiffness is None else stiffness,
            mass=1.0,
            S=numbers(self.integral(r)),
            R2=numbers(self.integral(r * r.T)),
        )

    def rigid_motion(self):
        """The frame's motion in its own axes."""
        vectors = (self.R.T * self.a_O, vee(self.omega), vee(self.epsilon))
        return ours.RigidMotion(*(numbers(v) for v in vectors))

    def definitions(self):
        """The right sides of eq. (18), as printed, but for [m_O], which (17) needs transposed."""
        N, w, e = self.N, self.omega, self.epsilon
        return {
            "Q_epsilon": self.integral(N.T * e * self.r),
            "Q_omega": self.integral(N.T * w * w * self.r),
            "k_epsilon": self.integral(N.T * e * N),
            "k_omega": self.integral(N.T * w * w * N),
            "c": 2 * self.integral(N.T * w * N),
            "m": self.integral(N.T * N),
            "m_O": self.integral(N),
        }


def code_inertia(field):
    """The generalized inertia force of the nodal coordinates as ``floating_inertia`` has it."""
    body, (a_O, omega, epsilon) = field.body(), field.rigid_motion()
    delta, rate, second = (numbers(v) for v in (field.delta, field.rate, field.second))
    found = floating_inertia(body, delta, rate, omega, np.concatenate([epsilon, a_O]))
    return found.bias_delta + ours.mass(body) @ second


def symbolic_element():
    """The element whose differentiations are counted, its N on the axis, and r + N delta."""
    element, N = symbolic.FiniteElement("space"), axis_of_space_element()
    return element, N, sp.Matrix([x, 0, 0]) + N * element.delta


def axis_of_space_element():
    """u, v, w of the axis by linear and cubic interpolation over an element of length 1, (3, 12)."""
    linear = (1 - x, x)
    h1, h2, h3, h4 = 1 - 3 * x**2 + 2 * x**3, x - 2 * x**2 + x**3, 3 * x**2 - 2 * x**3, x**3 - x**2
    N = sp.zeros(3, 12)
    N[0, 0], N[0, 6] = linear
    N[1, 1], N[1, 5], N[1, 7], N[1, 11] = h1, h2, h3, h4
    N[2, 2], N[2, 4], N[2, 8], N[2, 10] = h1, -h2, h3, -h4
    return N


def along_axis(field):
    """A field that is kept by powers of x."""
    return sum((part * x**power for power, part in enumerate(field)), sp.zeros(*field[0].shape))


def expand(M):
    return M.applyfunc(sp.expand)


@pytest.fixture(scope="module")
def field(rotation):
    return Field(rotation, 4)


def test_eq_1_velocity_of_a_point(field):
    v = expand(field.position.diff(t).subs(t, 0))
    printed = (
        field.v_O + field.Rd * field.r + field.Rd * field.N * field.delta + field.R * field.N * field.rate
    )
    assert expand(v - printed) == sp.zeros(3, 1)
    element, N, rho = symbolic_element()
    printed = element.v_O + element.omega.cross(rho) + N * element.delta.diff(symbolic.t)  # R^T (1)
    assert expand(along_axis(element.velocity()) - printed) == sp.zeros(3, 1)


def test_eq_15_acceleration_of_a_point(field):
    printed = (
        field.a_O
        + field.Rdd * field.r
        + field.Rdd * field.N * field.delta
        + 2 * field.Rd * field.N * field.rate
        + field.R * field.N * field.second
    )
    assert expand(field.acceleration - printed) == sp.zeros(3, 1)
    element, N, rho = symbolic_element()
    w, rate = element.omega, element.delta.diff(symbolic.t)
    W = skew(w.diff(symbolic.t)) + skew(w) ** 2  # R^T R'', (12)
    printed = element.v_O.diff(symbolic.t) + w.cross(element.v_O) + W * rho
    printed += 2 * w.cross(N * rate) + N * rate.diff(symbolic.t)  # R^T (15)
    found = along_axis(element.acceleration(symbolic.Differentiator()))
    assert expand(found - printed) == sp.zeros(3, 1)


def test_eq_16_partial_velocities(field):
    rates = sp.Matrix(sp.symbols("d_1:5"))
    v = field.v_O + field.Rd * (field.r + field.N * field.delta) + field.R * field.N * rates
    assert expand(v.jacobian(rates) - field.R * field.N) == sp.zeros(3, 4)
    element, N, _ = symbolic_element()
    found = symbolic.Differentiator().by_vector(element.velocity(), element.delta.diff(symbolic.t))
    assert expand(along_axis(found) - N) == sp.zeros(*N.shape)


def generalized_inertia(field):
    """int (dv / d delta')^T a dm, the right side of eq. (14) for the nodal coordinates."""
    return field.integral((field.R * field.N).T * field.acceleration)


def inertia_terms(field, sign):
    """The last line of eq. (17) with ``sign`` before m_O a_O, Q(omega) and Q(epsilon)."""
    terms = field.definitions()
    a_L = field.R.T * field.a_O
    return (
        sign * (terms["m_O"].T * a_L + terms["Q_omega"] + terms["Q_epsilon"])
        + (terms["k_omega"] + terms["k_epsilon"]) * field.delta
        + terms["c"] * field.rate
        + terms["m"] * field.second
    )


def test_eqs_17_and_18_with_plus_signs_are_the_generalized_inertia_force(field):
    assert generalized_inertia(field) == expand(inertia_terms(field, 1))
    body, (_, omega, epsilon), terms = field.body(), field.rigid_motion(), field.definitions()
    np.testing.assert_allclose(ours.mass(body), numbers(terms["m"]), **ROUNDING)
    w, e = ours.skew(omega), ours.skew(epsilon)
    for integral, W, name in (
        (ours.integral_NWN, 2 * w, "c"),
        (ours.integral_NWN, e, "k_epsilon"),
        (ours.integral_NWN, w @ w, "k_omega"),
        (ours.integral_NWr, e, "Q_epsilon"),
        (ours.integral_NWr, w @ w, "Q_omega"),
    ):
        np.testing.assert_allclose(integral(body, W), numbers(terms[name]), **ROUNDING)
    np.testing.assert_allclose(code_inertia(field), numbers(generalized_inertia(field)), **ROUNDING)


def test_eq_17_the_minus_signs_contradict_eq_18(field):
    """Exact difference: twice m_O^T a_O + Q(omega) + Q(epsilon), as (18) defines them."""
    terms = field.definitions()
    lost = 2 * (terms["m_O"].T * (field.R.T * field.a_O) + terms["Q_omega"] + terms["Q_epsilon"])
    assert expand(generalized_inertia(field) - inertia_terms(field, -1)) == expand(lost)
    assert lost != sp.zeros(4, 1)
    expected = numbers(inertia_terms(field, -1) + lost)
    np.testing.assert_allclose(code_inertia(field), expected, **ROUNDING)


def test_eq_17_the_third_line_has_one_rotation_too_many(field):
    """2 int N^T R^T R^T R' N: only without the first R^T is it the Coriolis term of the line after."""
    printed = 2 * field.integral(field.N.T * field.R.T * field.R.T * field.Rd * field.N)
    assert 2 * field.integral(field.N.T * field.R.T * field.Rd * field.N) == field.definitions()["c"]
    assert printed != field.definitions()["c"]
    others = inertia_terms(field, 1) - field.definitions()["c"] * field.rate
    coriolis = 2 * field.integral(field.N.T * field.R.T * field.Rd * field.N) * field.rate
    np.testing.assert_allclose(code_inertia(field), numbers(others + coriolis), **ROUNDING)


def test_eq_18_m_O_is_printed_untransposed(field):
    """int N dm is (3, n); eqs. (17) and (20) multiply it as (n, 3)."""
    m_O = field.definitions()["m_O"]
    assert m_O.shape == (3, 4)
    assert field.integral(field.N.T) == m_O.T
    unit = BeamRates(m=3.0, my=0.0, mz=0.0, ry=0.0, rz=0.0, EA=1.0, GJ=1.0, EIy=1.0, EIz=1.0)
    expected = 3 * axis_of_space_element().applyfunc(lambda f: sp.integrate(f, (x, 0, 1)))
    np.testing.assert_allclose(element_arrays("space", 1.0, unit).m_O, numbers(expected), **ROUNDING)


def test_eqs_19_and_20_the_balance_has_the_same_signs_to_mend(field):
    """(14): Q_active = inertia, with Q_active = Q_ext + Q_liaison - k delta. Eq. (19) prints its negative,
    and eq. (20), which follows from (17) as printed, has the inertia forces of the rigid motion reversed.
    """
    k = sp.Matrix(4, 4, lambda i, j: sp.Symbol(f"k_{min(i, j)}{max(i, j)}"))
    loads = sp.Matrix(sp.symbols("Q_1:5"))  # Q_ext + Q_liaison
    terms, a_L = field.definitions(), field.R.T * field.a_O
    active = loads - k * field.delta
    printed_19 = k * field.delta - loads
    assert printed_19 + active == sp.zeros(4, 1)
    left = (
        terms["m"] * field.second
        + terms["c"] * field.rate
        + (k + terms["k_epsilon"] + terms["k_omega"]) * field.delta
    )
    rigid = terms["m_O"].T * a_L + terms["Q_epsilon"] + terms["Q_omega"]
    residual = expand(generalized_inertia(field) - active)
    assert expand(left - (loads - rigid) - residual) == sp.zeros(4, 1)  # what the package solves
    assert expand(left - (loads + rigid) - residual) == expand(-2 * rigid)  # as printed
    stiffness = np.diag([2.0, 3.0, 5.0, 7.0])
    m, c, k_total, Q = ours.coefficients(field.body(stiffness), field.rigid_motion())
    delta, rate, second = (numbers(v) for v in (field.delta, field.rate, field.second))
    found = m @ second + c @ rate + k_total @ delta - Q  # without loads, the inertia less the active force
    expected = numbers(generalized_inertia(field)) + stiffness @ delta
    np.testing.assert_allclose(found, expected, **ROUNDING)
