"""One linearly implicit step of an elastic arm, in two halves so that joint friction can act in between.

The generalized-alpha method [ChungHulbert1993] with stiffness and damping implicit and all other
inertia terms at a prediction of the same order, so that a step costs one assembly and one solve:

    (1 - alpha_m) M a1 + (1 - alpha_f) (gamma h c + beta h^2 k) a1 = known terms

It is of second order, and stable for any stiffness of the beams.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.compiled_pass import CompiledPass, compiled_pass


class ArmState(NamedTuple):
    """Generalized coordinates, speeds and accelerations, each (size,): joints first, then the beams."""

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


class Method(NamedTuple):
    """The method for one arm and one step length ``h`` [s].

    ``resisting``: [c k], (size, 2 size); ``implicit``: what they add to the system, (size, size);
    ``compiled``: the arm's equations in C, None where they cannot be had.
    """

    h: float
    alpha_m: float
    alpha_f: float
    gamma: float
    beta: float
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
    alpha_m, alpha_f, gamma, beta = generalized_alpha(radius)
    implicit = (1 - alpha_f) * (gamma * h * model.c + beta * h**2 * model.k)
    resisting = np.hstack([model.c, model.k])
    return Method(h, alpha_m, alpha_f, gamma, beta, resisting, implicit, compiled_pass(model))


def start(
    model: ArmModel, x: Array, u: Array, effort: Array, gravity: Array, viscous: Array, held: Array
) -> ArmState:
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
    return ArmState(x, u, a)


def begin_step(
    model: ArmModel, state: ArmState, effort: Array, gravity: Array, viscous: Array, how: Method
) -> BegunStep:
    """Everything but dry friction, brakes and stops; arguments as of ``start``."""
    h, n, rest = how.h, model.n, 1 - how.alpha_f
    x, u, a = state
    x_m, u_m = x + rest * h * (u + 0.5 * h * rest * a), u + rest * h * a
    middle = how.compiled(x_m, u_m, gravity) if how.compiled else equations(model, x_m, u_m, gravity, a)
    u_star = u + h * (1 - how.gamma) * a
    x_star = x + h * u + h**2 * (0.5 - how.beta) * a
    u_f, x_f = rest * u_star + how.alpha_f * u, rest * x_star + how.alpha_f * x
    load = -middle.h - how.alpha_m * (middle.M @ a) - how.resisting @ np.concatenate([u_f, x_f])
    load[:n] += effort - viscous * u_f[:n]
    system = (1 - how.alpha_m) * middle.M + how.implicit
    system[range(n), range(n)] += rest * how.gamma * h * viscous
    right = np.zeros((model.size, n + 1), order="F")
    right[:, 0] = load
    right[range(n), range(1, n + 1)] = 1.0
    _, solution, _ = dposv(system.T, right, lower=True, overwrite_a=True, overwrite_b=True)
    return BegunStep(how, x_star, u_star, solution[:, 0], solution[:, 1:])


def joint_speeds(begun: BegunStep) -> tuple[Array, Array]:
    """Speeds (n,) of the joints at the end of the step if nothing more acts.

    Then their change per unit of joint impulse (n, n) [effort times h].
    """
    n = begun.response.shape[1]
    how = begun.method
    free = begun.u_star[:n] + how.h * how.gamma * begun.a[:n]
    return free, how.gamma * begun.response[:n]


def end_step(begun: BegunStep, joint_effort: Array | None = None) -> ArmState:
    """The state after the step; ``joint_effort`` (n,) [N m or N] acts in addition during it."""
    how = begun.method
    a = begun.a if joint_effort is None else begun.a + begun.response @ joint_effort
    return ArmState(
        begun.x_star + how.h**2 * how.beta * a,
        begun.u_star + how.h * how.gamma * a,
        a,
    )
