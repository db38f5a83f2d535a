"""Implicit steps by the generalized-alpha method [ChungHulbert1993], of second order.

A step of an elastic arm is in two halves, so that joint friction can act in between. Stiffness and damping
are implicit, all other inertia terms are taken at a prediction of the same order, so that a step costs one
assembly and one solve:

    (1 - alpha_m) M a1 + (1 - alpha_f) (gamma h c + beta h^2 k) a1 = known terms

It is stable for any stiffness of the beams.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.compiled_pass import CompiledPass, compiled_pass
from kane_dynamics_ros.elastic.equations import Coefficients


class State(NamedTuple):
    """Coordinates, speeds and accelerations, each (size,); of an arm the joints' first, then the beams'."""

    x: Array
    u: Array
    a: Array


class GeneralizedAlpha(NamedTuple):
    """Coefficients of the method [ChungHulbert1993]."""

    alpha_m: float
    alpha_f: float
    gamma: float
    beta: float


def generalized_alpha(radius: float) -> GeneralizedAlpha:
    """Those for a spectral radius at infinite frequency, 0..1: what a step leaves there; 1 keeps all."""
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    return GeneralizedAlpha(alpha_m, alpha_f, 0.5 - alpha_m + alpha_f, (1 - alpha_m + alpha_f) ** 2 / 4)


# A beam whose frame moves as given


def sample_time(t: float, h: float, radius: float = 1.0) -> float:
    """The time within a step from ``t`` to ``t + h`` [s] at which ``beam_step`` wants its coefficients."""
    return t + h * (1 - generalized_alpha(radius).alpha_f)


def beam_step(state: State, system: Coefficients, h: float, radius: float = 1.0) -> State:
    """One step of m x'' + c x' + k x = Q, [WindPump] eq. (20), whose coefficients hold at ``sample_time``.

    ``radius`` as in ``generalized_alpha``: 1 keeps the energy, less damps what the step does not resolve.
    """
    alpha_m, alpha_f, gamma, beta = generalized_alpha(radius)
    x, u, a = state
    x_star, u_star = x + h * u + h**2 * (0.5 - beta) * a, u + h * (1 - gamma) * a
    load = system.Q - alpha_m * (system.m @ a)
    load -= system.c @ ((1 - alpha_f) * u_star + alpha_f * u)
    load -= system.k @ ((1 - alpha_f) * x_star + alpha_f * x)
    matrix = (1 - alpha_m) * system.m + (1 - alpha_f) * (gamma * h * system.c + beta * h**2 * system.k)
    a = np.asarray(np.linalg.solve(matrix, load), dtype=float)
    return State(x_star + h**2 * beta * a, u_star + h * gamma * a, a)


# An arm


class Method(NamedTuple):
    """The method for one arm and one step length ``h`` [s].

    ``resisting``: [c k], (size, 2 size); ``implicit``: what they add to the system, (size, size);
    ``compiled``: the arm's equations in C, None where they cannot be had.
    """

    h: float
    alpha: GeneralizedAlpha
    resisting: Array
    implicit: Array
    compiled: CompiledPass | None


class BegunStep(NamedTuple):
    """A step before the friction of the joints.

    ``a`` (size,) are the accelerations without it, ``response`` (size, n) those to unit joint efforts.
    """

    method: Method
    x_star: Array
    u_star: Array
    a: Array
    response: Array


def method(model: ArmModel, h: float, radius: float = 0.8) -> Method:
    """The method for steps of ``h`` [s]; ``radius`` as in ``generalized_alpha``."""
    alpha = generalized_alpha(radius)
    implicit = (1 - alpha.alpha_f) * (alpha.gamma * h * model.c + alpha.beta * h**2 * model.k)
    return Method(h, alpha, np.hstack([model.c, model.k]), implicit, compiled_pass(model))


def start(
    model: ArmModel, x: Array, u: Array, effort: Array, gravity: Array, viscous: Array, held: Array
) -> State:
    """A state whose accelerations satisfy the equations of motion, which the method needs to begin with.

    Args:
        model: the arm.
        x, u: generalized coordinates and speeds, (size,).
        effort, viscous: of each joint, (n,): effort [N m or N] and viscous damping.
        gravity: free-fall acceleration in the root frame, (3,) [m/s^2].
        held: the joints that rest on friction or a brake, (n,) booleans: their acceleration is 0.
    """
    found = equations(model, x, u, gravity)
    load = -found.h - model.c @ u - model.k @ x
    load[: model.n] += effort - viscous * u[: model.n]
    free = np.flatnonzero(~np.concatenate([held, np.zeros(model.size - model.n, dtype=bool)]))
    a = np.zeros(model.size)
    a[free] = np.linalg.solve(found.M[np.ix_(free, free)], load[free])
    return State(x, u, a)


def begin_step(
    model: ArmModel, state: State, effort: Array, gravity: Array, viscous: Array, how: Method
) -> BegunStep:
    """Everything but dry friction, brakes and stops; arguments as of ``start``."""
    h, n, (alpha_m, alpha_f, gamma, beta) = how.h, model.n, how.alpha
    rest = 1 - alpha_f
    x, u, a = state
    x_m, u_m = x + rest * h * (u + 0.5 * h * rest * a), u + rest * h * a
    middle = how.compiled(x_m, u_m, gravity) if how.compiled else equations(model, x_m, u_m, gravity, a)
    x_star, u_star = x + h * u + h**2 * (0.5 - beta) * a, u + h * (1 - gamma) * a
    u_f, x_f = rest * u_star + alpha_f * u, rest * x_star + alpha_f * x
    load = -middle.h - alpha_m * (middle.M @ a) - how.resisting @ np.concatenate([u_f, x_f])
    load[:n] += effort - viscous * u_f[:n]
    system = (1 - alpha_m) * middle.M + how.implicit
    system[range(n), range(n)] += rest * gamma * h * viscous
    right = np.zeros((model.size, n + 1), order="F")
    right[:, 0] = load
    right[range(n), range(1, n + 1)] = 1.0
    _, solution, _ = dposv(system.T, right, lower=True, overwrite_a=True, overwrite_b=True)
    return BegunStep(how, x_star, u_star, solution[:, 0], solution[:, 1:])


def joint_speeds(begun: BegunStep) -> tuple[Array, Array]:
    """Speeds (n,) of the joints at the end of the step if nothing more acts.

    Then their change per unit of joint impulse (n, n) [effort times h].
    """
    n, how = begun.response.shape[1], begun.method
    free = begun.u_star[:n] + how.h * how.alpha.gamma * begun.a[:n]
    return free, how.alpha.gamma * begun.response[:n]


def end_step(begun: BegunStep, joint_effort: Array | None = None) -> State:
    """The state after the step; ``joint_effort`` (n,) [N m or N] acts in addition during it."""
    h, alpha = begun.method.h, begun.method.alpha
    a = begun.a if joint_effort is None else begun.a + begun.response @ joint_effort
    return State(begun.x_star + h**2 * alpha.beta * a, begun.u_star + h * alpha.gamma * a, a)
