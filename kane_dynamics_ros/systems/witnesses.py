"""Other ways to the same numbers: Maggi's equations, and multipliers. Nothing of Kane's recursions is used.

Redundant coordinates of each body: the position x of its centre of mass in the ground's frame and the nine
direction cosines R of its axes. The Lagrangian is sum m x'.x' / 2 + tr(R' P R'^T) / 2 + m g.x with the
second moments P = tr(J) 1 / 2 - J about the centre of mass, hence

    Phi_x = m (x'' - g),   Phi_R = R'' P                                       [Malvezzi2017] eq. (22)
    Phi_q = sum (d(x, R)/dq)^T (Phi_x, Phi_R) - tau

Derivatives are taken of the frames' positions alone, by dual numbers. Constraints A q' = b then enter

    C^T Phi_q = 0 with A C = 0                      Maggi, [Malvezzi2017] eq. (18)
    Phi_q = A^T lambda                              Lagrange with multipliers
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array, symmetric
from kane_dynamics_ros.formulation.dual import Dual
from kane_dynamics_ros.systems import equations, kinematics
from kane_dynamics_ros.systems.model import MultibodyError, Point, System
from kane_dynamics_ros.systems.motion import complete_speeds

STATES = 10
SPREAD = 0.5  # [rad, m or per second] of the states that ``verify`` draws
AGREE = 1e-9  # relative


def maggi(system: System, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
    """q'' (n,) by Maggi's equations: C^T Phi_q = 0 and A q'' = c.

    Args:
        system: the system.
        q, qd: coordinates and their rates, which satisfy the constraints, (n,).
        tau: efforts at the coordinates, (n,) [N m or N].
    """
    from scipy.linalg import null_space  # equations and modules do without SciPy

    M, V, A, c = _lagrange_terms(system, q, qd, tau)
    C = null_space(A, rcond=equations.RANK) if len(A) else np.eye(len(V))
    particular = np.linalg.lstsq(A, c, rcond=None)[0] if len(A) else np.zeros(len(V))
    free = np.linalg.solve(C.T @ M @ C, -C.T @ (V + M @ particular))
    return np.asarray(C @ free + particular)


def multipliers(system: System, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """q'' (n,) and A^T lambda (n,), what the constraints exert: [M -A^T; A 0] [q''; lambda] = [-V; c].

    Of multipliers of redundant constraints only A^T lambda is determined.
    """
    M, V, A, c = _lagrange_terms(system, q, qd, tau)
    m, n = A.shape
    kkt = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    solution = np.linalg.lstsq(kkt, np.concatenate([-V, c]), rcond=None)[0]
    return np.asarray(solution[:n]), np.asarray(A.T @ solution[n:])


def lagrange_residual(system: System, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float]) -> Array:
    """Phi_q (n,) without tau: what the efforts and the constraints together must supply."""
    in_time = [Dual(Dual(s, sd), Dual(sd, sdd)) for s, sd, sdd in zip(q, qd, qdd, strict=True)]
    moving = kinematics.frames(system, in_time)
    Phi = np.zeros(len(q))
    units = np.eye(len(q))
    by_q = [kinematics.frames(system, [Dual(s, e) for s, e in zip(q, unit, strict=True)]) for unit in units]
    for body in system.bodies:
        P = np.trace(J := np.array(symmetric(body.inertia), dtype=float)) / 2 * np.eye(3) - J
        x = Point(body.name, body.com)
        Phi_x = body.mass * (
            _values(kinematics.position_of(x, moving), _second_rate) - np.array(system.gravity, dtype=float)
        )
        Phi_R = _values(moving[body.name].R_NB, _second_rate) @ P
        for r, at in enumerate(by_q):
            Phi[r] += np.sum(_values(kinematics.position_of(x, at), _first) * Phi_x)
            Phi[r] += np.sum(_values(at[body.name].R_NB, _first) * Phi_R)
    return Phi


def _lagrange_terms(
    system: System, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """M (n, n) and V - tau (n,) of Phi_q, which is linear in q'', and A (m, n), c (m,)."""
    position, rate = equations.as_state(system, q), equations.as_state(system, qd)
    n = len(position)
    bias = lagrange_residual(system, position, rate, [0.0] * n)
    still = lagrange_residual(system, position, [0.0] * n, [0.0] * n)
    columns = [lagrange_residual(system, position, [0.0] * n, unit) - still for unit in np.eye(n).tolist()]
    A, _, c = equations.constraint_terms(system, position, rate)
    return (
        np.array(columns).T,
        bias - np.asarray(tau, dtype=float),
        np.array(A, dtype=float).reshape(-1, n),
        np.array(c, dtype=float),
    )


def _values(nested: Any, part: Callable[[Any], float]) -> Array:
    return np.array([[part(x) for x in row] if isinstance(row, tuple) else part(row) for row in nested])


def _second_rate(x: Any) -> float:
    return float(x.slope.slope) if isinstance(x, Dual) and isinstance(x.slope, Dual) else 0.0


def _first(x: Any) -> float:
    return float(x.slope) if isinstance(x, Dual) else 0.0


@dataclass(frozen=True)
class Agreement:
    """The largest relative difference from Kane's equations over some states."""

    states: int
    maggi: float
    multipliers: float
    constraint_efforts: float


def verify(system: System, q: ArrayLike, states: int = STATES, seed: int = 0) -> Agreement:
    """Compare Kane's equations with Maggi's and with multipliers, at random states around a posture.

    Args:
        system: the system.
        q: a posture, closed or nearly so, (n,); the states lie around it.
        states: how many.
        seed: of their choice.

    Raises:
        MultibodyError: ``disagreement`` beyond 1e-9, which says that this package is wrong; ``not_closed``
            where no state near the posture satisfies the constraints.

    Example:
        >>> from kane_dynamics_ros.systems import Body, System, verify
        >>> fall = System("fall", (Body("z", joint="prismatic", mass=2.0),))
        >>> verify(fall, [0.0]).maggi < 1e-12
        True
    """
    random = np.random.default_rng(seed)
    worst = np.zeros(3)
    n = len(system.coordinates)
    for _ in range(states):
        posture = equations.close(system, np.asarray(q, dtype=float) + random.uniform(-SPREAD, SPREAD, n) / 2)
        u = complete_speeds(system, posture, random.uniform(-SPREAD, SPREAD, n))
        tau = random.uniform(-1.0, 1.0, n)
        terms = equations.state_terms(system, posture, u)
        u_rate = equations.forward_dynamics(system, posture, u, tau)
        kane = terms.W @ u_rate + terms.W_rate_u
        forces = equations.constraint_efforts(system, posture, u, tau)
        by_multipliers, by_lambda = multipliers(system, posture, terms.qd, tau)
        size = 1.0 + np.abs(kane).max()
        found = [
            np.abs(maggi(system, posture, terms.qd, tau) - kane).max() / size,
            np.abs(by_multipliers - kane).max() / size,
            np.abs(by_lambda - forces).max() / (1.0 + np.abs(forces).max()),
        ]
        worst = np.maximum(worst, found)
    if worst.max() > AGREE:
        raise MultibodyError(
            f"the formulations of {system.name!r} disagree by {worst.max():.3g}, relative; please report it",
            "disagreement",
            worst=float(worst.max()),
        )
    return Agreement(states, *map(float, worst))
