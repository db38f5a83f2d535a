"""Which terms explain a joint's residual: least squares, one term after another.

The residual r of a joint is regressed on what each term contributes to its effort,

    r = c_I inertia + c_C coriolis + c_G gravity + b speed + f direction + o

c_I, c_C and c_G are the parts by which the model's terms are too small, b and f viscous and Coulomb friction
that it lacks, o a constant. All six at once would share an error out among terms that resemble each other;
so terms are taken one by one, each time the one that explains most of what is left (forward
selection, all coefficients fitted anew), and only as long as the gain is worth telling.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.replay.reading.layout import Doubles

SMALLEST_SHARE = 0.05  # of the residual's power that a term must explain,
SMALLEST_REST = 0.5  # or else of the power that the terms before it leave
SMALLEST_EFFORT = 0.005  # of the measured effort (RMS) that a term's error must amount to
STANDARD_ERRORS = 5.0  # a coefficient must be this many from zero
ALIKE = 0.95  # correlation above which the motion cannot tell two terms apart
AS_GOOD = 0.9  # of the best term's gain that such a term must reach to be named beside it


@dataclass(frozen=True)
class Blame:
    """One term's part in a residual.

    ``coefficient`` as in the module's equation, ``error`` its standard error, ``effort`` the RMS of what
    it adds, ``share`` the part of the residual's power that it explains, 0 to 1. ``alike``: terms that
    explain it as well, because in this motion they run almost parallel.
    """

    term: str
    coefficient: float
    error: float
    effort: float
    share: float
    alike: tuple[str, ...] = ()


def blame(
    residual: Doubles, contributions: Mapping[str, Doubles], measured_rms: float, independent: float
) -> list[Blame]:
    """The terms to blame for a residual (N,), greatest first; empty when none is worth telling.

    contributions: (N,) each, by term; independent: how many of the N samples count as independent
    (a low-passed signal has fewer than samples).
    """
    problem = _Problem.of(residual, contributions)
    chosen: list[int] = []
    found: list[tuple[float, tuple[str, ...]]] = []
    while len(chosen) < len(problem.names):
        rest = [i for i in range(len(problem.names)) if i not in chosen]
        before = problem.explained(chosen)
        gains = {i: problem.explained([*chosen, i]) - before for i in rest}
        best = max(gains, key=lambda i: gains[i])
        enough = gains[best] > min(SMALLEST_SHARE, SMALLEST_REST * (1 - before))
        if not (enough and problem.stands_out([*chosen, best], measured_rms, independent)):
            break
        alike = [i for i in rest if i != best and abs(problem.gram[i, best]) > ALIKE]
        names = tuple(problem.names[i] for i in alike if gains[i] > AS_GOOD * gains[best])
        chosen.append(best)
        found.append((gains[best], names))
    values, errors = problem.solved(chosen, independent)
    blames = [
        Blame(problem.names[i], value / problem.rms[i], error / problem.rms[i], abs(value), share, alike)
        for i, value, error, (share, alike) in zip(
            chosen, values.tolist(), errors.tolist(), found, strict=True
        )
    ]
    return sorted(blames, key=lambda one: -one.effort)


@dataclass(frozen=True)
class _Problem:
    """The least-squares problem in its normal form; columns are scaled to an RMS of 1."""

    names: tuple[str, ...]
    rms: tuple[float, ...]  # of each column before scaling
    gram: Doubles  # mean products of the columns
    towards: Doubles  # mean products with the residual
    power: float  # mean square of the residual

    @classmethod
    def of(cls, residual: Doubles, contributions: Mapping[str, Doubles]) -> "_Problem":
        rms = {name: float(np.sqrt(np.mean(column**2))) for name, column in contributions.items()}
        names = tuple(name for name in contributions if rms[name] > 0)
        columns = np.stack([contributions[name] / rms[name] for name in names], axis=1)
        samples = len(residual)
        return cls(
            names,
            tuple(rms[name] for name in names),
            columns.T @ columns / samples,
            columns.T @ residual / samples,
            float(np.mean(residual**2)),
        )

    def explained(self, chosen: list[int]) -> float:
        """The part of the residual's power that some columns explain together, 0 to 1."""
        if not chosen or not self.power:
            return 0.0
        values = np.linalg.lstsq(self.gram[np.ix_(chosen, chosen)], self.towards[chosen], rcond=1e-9)[0]
        return float(values @ self.towards[chosen] / self.power)

    def solved(self, chosen: list[int], independent: float) -> tuple[Doubles, Doubles]:
        """Coefficients of the scaled columns and their standard errors."""
        inverse = np.linalg.pinv(self.gram[np.ix_(chosen, chosen)], rcond=1e-9)
        left = self.power * max(0.0, 1 - self.explained(chosen))
        errors = np.sqrt(left / max(independent, 1.0) * np.diag(inverse))
        return inverse @ self.towards[chosen], errors

    def stands_out(self, chosen: list[int], measured_rms: float, independent: float) -> bool:
        """Whether the last of the chosen columns weighs enough, and surely enough."""
        values, errors = self.solved(chosen, independent)
        value, error = abs(float(values[-1])), float(errors[-1])
        return value > SMALLEST_EFFORT * measured_rms and value > STANDARD_ERRORS * error
