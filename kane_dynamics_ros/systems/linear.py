"""A system linearised about a motion in which nothing that matters changes: equilibrium, or steady rolling.

With multipliers lambda of the constraints, the motion satisfies for v = q', a = v'

    R = M a + V - tau - A^T lambda = 0,   A a - c = 0,   A v - b = 0,   h = 0.

Their derivatives by q and v are exact, of the code generator's expressions; what the constraints leave of
(delta q, delta v) is spanned by as many of these as are independent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.codegen.graph import Graph
from kane_dynamics_ros.codegen.passes import inner, jacobian, list_statements
from kane_dynamics_ros.systems import equations
from kane_dynamics_ros.systems.model import System


@dataclass(frozen=True)
class Linearisation:
    """delta x' = A delta x + B delta tau about an operating point.

    ``states`` names x: independent coordinates, then independent rates, each as ``d NAME / dt``.
    ``A`` (N, N), ``B`` (N, n).
    """

    states: tuple[str, ...]
    A: Array
    B: Array

    def eigenvalues(self) -> Array:
        """Eigenvalues [1/s] of A, (N,), complex, by falling real part."""
        values = np.linalg.eigvals(self.A)
        return np.asarray(values[np.argsort(-values.real, kind="stable")])


def linearise(system: System, q: ArrayLike, u: ArrayLike, tau: ArrayLike | None = None) -> Linearisation:
    """The linear system about q, u (n,), with the efforts tau (n,) at the coordinates, 0 by default.

    Raises:
        MultibodyError: what ``equations.forward_dynamics`` raises.

    Example:
        >>> from kane_dynamics_ros.systems import Body, System, linearise
        >>> pendulum = System("pendulum", (Body("swing", axis=(0, 1, 0), mass=1.0, com=(0, 0, -9.81)),))
        >>> linearise(pendulum, [0.0], [0.0]).A.round(12).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
    """
    n = len(system.coordinates)
    effort = np.zeros(n) if tau is None else np.asarray(tau, dtype=float)
    terms = equations.state_terms(system, q, u)
    u_rate = equations.accelerations(system, terms, equations.reduction(system, terms), effort)
    a = terms.W @ u_rate + terms.W_rate_u
    multipliers = np.linalg.lstsq(terms.A.T, terms.M @ a + terms.V - effort, rcond=None)[0]
    R_q, R_v, C_q, C_v, S_q = _derivatives(system, terms.q, terms.qd, a, multipliers)
    m = len(terms.A)
    kkt = np.block([[terms.M, -terms.A.T], [terms.A, np.zeros((m, m))]])
    right = np.block([[-R_q, -R_v, np.eye(n)], [-C_q, -C_v, np.zeros((m, n))]])
    a_by = np.linalg.lstsq(kkt, right, rcond=None)[0][:n]  # a by q, v and tau
    F = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), a_by[:, : 2 * n]])
    rows = equations.holonomic_rows(system)
    binding = np.vstack([np.hstack([terms.A[rows], np.zeros((len(rows), n))]), np.hstack([S_q, terms.A])])
    chosen, N = _spanned(binding, equations.spanning_columns(terms.A[rows]), terms.A)
    B = np.vstack([np.zeros((n, n)), a_by[:, 2 * n :]])
    names = [*system.coordinates, *(f"d {name} / dt" for name in system.coordinates)]
    return Linearisation(tuple(names[k] for k in chosen), F[chosen] @ N, B[chosen])


def _derivatives(system: System, q: Array, v: Array, a: Array, multipliers: Array) -> list[Array]:
    """R by q and v, A a - c by q and v, and A v - b by q."""
    n, m = len(q), len(multipliers)
    graph = Graph()
    Q, V, ACC = ([graph.symbol(f"{name}[{r}]") for r in range(n)] for name in ("q", "qd", "qdd"))
    LAMBDA = [graph.symbol(f"tau[{k}]") for k in range(m)]
    M, bias = equations.kane_terms(system, Q, V)
    A, b, c = equations.constraint_terms(system, Q, V)
    columns = [[A[k][r] for k in range(m)] for r in range(n)]
    R = [graph.lift(inner(M[r], ACC) + bias[r] - inner(columns[r], LAMBDA)) for r in range(n)]
    C = [graph.lift(inner(A[k], ACC) - c[k]) for k in range(m)]
    S = [graph.lift(inner(A[k], V) - b[k]) for k in range(m)]
    parts = [jacobian(R, Q), jacobian(R, V), jacobian(C, Q), jacobian(C, V), jacobian(S, Q)]
    outputs = [entry for part in parts for row in part for entry in row]
    listing = list_statements(graph, outputs, {})
    values = {"q": q.tolist(), "qd": v.tolist(), "qdd": a.tolist(), "tau": multipliers.tolist()}
    flat: Array = np.array(listing.evaluated(values), dtype=float)
    sizes = np.cumsum([n * n, n * n, m * n, m * n])
    return [part.reshape(-1, n) for part in np.split(flat, sizes)]


def _spanned(binding: Array, dependent_q: list[int], A: Array) -> tuple[list[int], Array]:
    """The independent entries of (delta q, delta v), and N (2n, N): all of them by those."""
    n = A.shape[1]
    dependent = [*dependent_q, *(n + k for k in equations.spanning_columns(A))]
    chosen = [k for k in range(2 * n) if k not in dependent]
    N = np.zeros((2 * n, len(chosen)))
    N[chosen, range(len(chosen))] = 1.0
    if dependent:
        N[dependent] = -np.linalg.lstsq(binding[:, dependent], binding[:, chosen], rcond=None)[0]
    return chosen, N
