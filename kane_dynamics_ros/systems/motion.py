"""Motions of a system in time: speeds that fit its constraints, integration without drift."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.systems import equations
from kane_dynamics_ros.systems.model import MultibodyError, System

DRIFT = 1e-4  # [m, rad or 1] between two samples: more says that the integration went wrong

Efforts = Callable[[float, Array, Array], ArrayLike]  # of t [s], q and u: tau (n,) [N m or N]


def complete_speeds(system: System, q: ArrayLike, u: ArrayLike) -> Array:
    """u (n,) whose independent speeds are those given; the others follow from the constraints.

    Raises:
        MultibodyError: what ``equations.reduction`` raises.
    """
    reduced = equations.reduction(system, equations.state_terms(system, q, u))
    given = np.asarray(u, dtype=float)[list(reduced.independent)]
    return np.asarray(reduced.T @ given + reduced.t)


@dataclass(frozen=True)
class Simulation:
    """A motion, sample by sample.

    ``time`` (N,) [s]; ``q``, ``u`` (N, n); ``energy`` (N,) kinetic and potential [J]; ``drift``: the largest
    gap of a constraint between two samples, before it was closed again [m, rad or 1; per second for speeds].
    """

    time: Array
    q: Array
    u: Array
    energy: Array
    drift: float


def simulate(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    duration: float,
    efforts: Efforts | None = None,
    samples: int = 101,
    tolerance: float = 1e-10,
) -> Simulation:
    """The motion from a state that satisfies the constraints.

    Integrated by an explicit Runge-Kutta method of order 8; at every sample the constraints are satisfied
    again: the loops by Newton's method, the dependent speeds from the independent ones.

    Args:
        system: the system.
        q, u: where it begins, (n,).
        duration: [s].
        efforts: tau of time and state; none by default.
        samples: of the result, at equal distances.
        tolerance: relative and absolute, of the integration.

    Raises:
        MultibodyError: ``not_closed`` or ``contradictory`` where the start does not satisfy the constraints,
            ``drift`` where the integration cannot keep them, ``singular`` on the way.

    Example:
        >>> from kane_dynamics_ros.systems import Body, System, simulate
        >>> fall = System("fall", (Body("z", joint="prismatic", mass=2.0),))
        >>> round(float(simulate(fall, [0.0], [0.0], 1.0).q[-1, 0]), 9)
        -4.905
    """
    n = len(system.coordinates)
    state = np.concatenate([equations.as_state(system, q), equations.as_state(system, u)])
    _check_start(system, state[:n], state[n:])
    time = np.linspace(0.0, duration, samples)

    from scipy.integrate import solve_ivp  # equations and modules do without SciPy

    def rate(t: float, y: Array) -> Array:
        terms = equations.state_terms(system, y[:n], y[n:])
        tau = np.zeros(n) if efforts is None else np.asarray(efforts(t, y[:n], y[n:]), dtype=float)
        u_rate = equations.accelerations(system, terms, equations.reduction(system, terms), tau)
        return np.concatenate([terms.qd, u_rate])

    states, drift = [state], 0.0
    for begin, end in itertools.pairwise(time):
        step = solve_ivp(rate, (begin, end), state, "DOP853", rtol=tolerance, atol=tolerance)
        if not step.success:
            raise MultibodyError(
                f"the motion of {system.name!r} could not be integrated beyond {begin:.6g} s", "drift"
            )
        reached = step.y[:, -1]
        gap = np.abs(equations.closures(system, reached[:n])[0]).max(initial=0.0)
        if gap > DRIFT:
            raise MultibodyError(
                f"a constraint of {system.name!r} gapes by {gap:.3g} after {end:.6g} s; ask for more samples "
                "or a smaller tolerance",
                "drift",
                gap=float(gap),
            )
        closed = equations.close(system, reached[:n])
        state = np.concatenate([closed, complete_speeds(system, closed, reached[n:])])
        drift = max(drift, float(np.abs(reached - state).max()))
        states.append(state)
    all_states = np.array(states)
    energies = np.array([equations.energy(system, y[:n], y[n:]) for y in all_states])
    return Simulation(time, all_states[:, :n], all_states[:, n:], energies, drift)


def _check_start(system: System, q: Array, u: Array) -> None:
    """Refuse a start that the constraints forbid."""
    h, _ = equations.closures(system, q)
    if np.abs(h).max(initial=0.0) > equations.CONSISTENT:
        worst, gap = equations.widest_gap(system, h)
        raise MultibodyError(
            f"{worst} of {system.name!r} gapes by {gap:.3g} at the start; close() gives a posture "
            "that satisfies the constraints",
            "not_closed",
            constraint=worst,
            gap=gap,
        )
    off = np.abs(complete_speeds(system, q, u) - u).max(initial=0.0)
    if off > equations.CONSISTENT:
        raise MultibodyError(
            f"the speeds of {system.name!r} at the start are off the constraints by {off:.3g}; "
            "complete_speeds() gives speeds that satisfy them",
            "contradictory",
            gap=float(off),
        )
