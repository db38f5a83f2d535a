"""The equations of a small system in symbols, to be read, solved or linearised by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Matrix

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.systems import equations
from kane_dynamics_ros.systems.model import MultibodyError, System


@dataclass(frozen=True)
class EquationsOfMotion:
    """Kane's equations of the independent speeds: mass_matrix u' + bias = S^T tau, and q' = S u + s.

    ``q`` (n,), ``u`` and ``u_rates`` (p,), ``tau`` (n,): symbols; ``S`` (n, p), ``s`` (n, 1): the rates;
    ``mass_matrix`` (p, p) and ``bias`` (p, 1).
    """

    q: tuple[Any, ...]
    u: tuple[Any, ...]
    u_rates: tuple[Any, ...]
    tau: tuple[Any, ...]
    S: Matrix
    s: Matrix
    mass_matrix: Matrix
    bias: Matrix

    @property
    def rates(self) -> Matrix:
        """q' of q and u, (n, 1): the kinematic differential equations."""
        return self.S * Matrix(self.u) + self.s

    @property
    def residual(self) -> Matrix:
        """-(F_r + F_r*) of [Malvezzi2017] eq. (1), (p, 1): zero along every motion."""
        return self.mass_matrix * Matrix(self.u_rates) + self.bias - self.S.T * Matrix(self.tau)

    def accelerations(self) -> Matrix:
        """u' of q, u and tau, (p, 1)."""
        return self.mass_matrix.LUsolve(self.S.T * Matrix(self.tau) - self.bias)

    def linearised(self, point: Mapping[Any, Any]) -> tuple[Matrix, Matrix]:
        """A, B of d(q, u)/dt by (q, u) and by tau at a point, which maps symbols to values."""
        state, f = Matrix([*self.q, *self.u]), Matrix([*self.rates, *self.accelerations()])
        at = dict(point)
        A, B = (f.jacobian(by).subs(at).applyfunc(sympy.simplify) for by in (state, Matrix(self.tau)))
        return A, B

    def latex(self) -> str:
        """The kinematic and dynamic equations as LaTeX, a line each."""
        lines = [
            rf"\dot{{{sympy.latex(q)}}} &= {sympy.latex(rate)} \\"
            for q, rate in zip(self.q, self.rates, strict=True)
        ]
        lines += [rf"0 &= {sympy.latex(row)} \\" for row in self.residual]
        return "\n".join([r"\begin{aligned}", *lines, r"\end{aligned}"]) + "\n"


def equations_of_motion(system: System, simplify: bool = True) -> EquationsOfMotion:
    """Kane's equations of a system whose numbers may be symbols.

    The coordinates are symbols of their names; the speeds too, with "u_" before them where u = q'.

    Args:
        system: small; with constraints it must name its ``independent`` speeds.
        simplify: by SymPy, entry by entry.

    Raises:
        MultibodyError: ``speeds``, where constraints bind a system that names no independent speeds, or
            these do not determine the others.

    Example:
        >>> import sympy
        >>> from kane_dynamics_ros.systems import Body, System
        >>> from kane_dynamics_ros.systems.symbolic import equations_of_motion
        >>> m, l, g = sympy.symbols("m l g", positive=True)
        >>> rod = Body("theta", axis=(0, 1, 0), mass=m, com=(0, 0, -l))
        >>> equations_of_motion(System("pendulum", (rod,), gravity=(0, 0, -g))).residual
        Matrix([[g*l*m*sin(theta) + l**2*m*u_theta' - tau_theta]])
    """
    names = system.coordinates
    n = len(names)
    q, qd, tau = (tuple(sympy.Symbol(f"{mark}{name}") for name in names) for mark in ("", "d_", "tau_"))
    prefix = "u_" if system.speeds is None else ""
    u = tuple(sympy.Symbol(f"{prefix}{name}") for name in system.speed_names)
    A, b, _ = equations.constraint_terms(system, q, qd)
    Y, _ = equations.speed_terms(system, q, qd)
    W = Matrix(Y).inv().applyfunc(sympy.simplify)
    T, t, independent = _dependent_speeds(system, Matrix(len(A), n, [x for row in A for x in row]) * W, b)
    S, s = W * T, W * t
    chosen = tuple(u[r] for r in independent)
    rates = tuple(sympy.Symbol(f"{symbol}'") for symbol in chosen)
    motion = S * Matrix(chosen) + s
    S_rate, s_rate = (
        sum((part.diff(x) * rate for x, rate in zip(q, motion, strict=True)), sympy.zeros(*part.shape))
        for part in (S, s)
    )
    M, V = equations.kane_terms(system, q, qd)
    full = Matrix(n, n, [x for row in M for x in row])
    bias = Matrix(V).subs(dict(zip(qd, motion, strict=True)), simultaneous=True)
    reduced = S.T * full * S
    rest = S.T * (full * (S_rate * Matrix(chosen) + s_rate) + bias)
    tidied = (part.applyfunc(_tidy if simplify else sympy.sympify) for part in (S, s, reduced, rest))
    return EquationsOfMotion(q, chosen, rates, tau, *tidied)


def _tidy(x: Any) -> Any:
    """A shorter form of an entry, sooner found than by ``sympy.simplify``."""
    return sympy.factor_terms(sympy.trigsimp(sympy.expand(x)))


def _dependent_speeds(system: System, A: Matrix, b: Any) -> tuple[Matrix, Matrix, list[int]]:
    """T (n, p), t (n, 1) of u = T u_I + t, and the indices of u_I; redundant rows are left out."""
    n = len(system.speed_names)
    rows = equations.independent_rows(_in_numbers(A))[0]
    A = A.applyfunc(_tidy)
    if not rows:
        return sympy.eye(n), sympy.zeros(n, 1), list(range(n))
    if system.independent is None:
        raise MultibodyError(
            f"{system.name!r} has constraints: name its {n - len(rows)} independent speeds (independent=...) "
            f"among {', '.join(system.speed_names)}",
            "speeds",
        )
    independent = [r for r, name in enumerate(system.speed_names) if name in system.independent]
    dependent = [r for r in range(n) if r not in independent]
    square = A.extract(rows, dependent)
    if square.rows != square.cols or np.linalg.cond(_in_numbers(square)) > 1 / equations.SINGULAR:
        raise MultibodyError(
            f"{', '.join(system.independent)} do not determine the other speeds of {system.name!r}", "speeds"
        )
    T, t = sympy.zeros(n, len(independent)), sympy.zeros(n, 1)
    solved = square.LUsolve(A.extract(rows, independent)).applyfunc(_tidy)
    given = square.LUsolve(Matrix([b[k] for k in rows]))
    for k, r in enumerate(independent):
        T[r, k] = 1
    for k, r in enumerate(dependent):
        T[r, :] = -solved[k, :]
        t[r] = given[k]
    return T, t, independent


def _in_numbers(A: Matrix) -> Array:
    """A with numbers in the place of its symbols, by which ranks are found."""
    random = np.random.default_rng(0)
    symbols = sorted(A.free_symbols, key=str)
    at = dict(zip(symbols, random.uniform(0.3, 0.9, len(symbols)), strict=True))
    numbers: Array = np.array(A.subs(at).evalf().tolist(), dtype=float).reshape(A.shape)
    return numbers
