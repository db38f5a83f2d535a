"""Which terms, and which causes common to the arm, explain a residual."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kane_dynamics_ros.replay.estimation.motion import Motion
from kane_dynamics_ros.replay.reading.messages import Doubles
from kane_dynamics_ros.replay.verdict.comparison import Comparison, smoothed
from kane_dynamics_ros.runtime.interface import DynamicsModel, Payload, Vector

# Which terms explain a joint's residual: least squares, one term after another.
#
# The residual r of a joint is regressed on what each term contributes to its effort,
#
#     r = c_I inertia + c_C coriolis + c_G gravity + b speed + f direction + o
#
# c_I, c_C and c_G tell by how much the model's terms are too small, b and f viscous and Coulomb friction
# that it lacks, o a constant. All six at once would share an error out among terms that resemble each other;
# so terms are taken one by one, each time the one that explains most of what is left (forward
# selection, all coefficients fitted anew), and only as long as the gain is worth telling.


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


# Causes that act on all joints at once: a body at the tip, or one link's mass.
#
# Each cause is a few columns Y (effort per unit of its unknowns, for every joint and sample), and is
# judged by how much of the residuals of all joints they explain together: least squares over the arm.
# Friction and offset of each joint are taken out before, for they hide what the bodies do; and each
# joint counts in units of its measured effort (RMS), so that a wrist that does not fit weighs as much as
# a shoulder.


SAMPLES = 20_000  # of the motion that are looked at: minutes at the analysis rate
SMALLEST_CAUSE_SHARE = 0.3  # of the residuals' power, friction taken out, that a cause must explain
ALONE = 0.95  # of what all causes explain together, noise apart, that the one to tell must explain alone
SIMPLER = 0.02  # share by which the tip body, which has four unknowns, must beat a link, which has one
ZERO: Vector = (0.0, 0.0, 0.0)
PIECE = 2000  # samples whose regressor is held at once: some MB
RANK = 1e-3  # singular values below this part of the greatest are directions the motion does not show


@dataclass(frozen=True)
class TipBody:
    """A body fixed to the tip: mass [kg], centre of mass in the tip frame [m], and how much it explains.

    A negative mass is a tip that is lighter than the model says; ``share`` is 0 to 1.
    """

    mass: float
    com: tuple[float, float, float]
    share: float


@dataclass(frozen=True)
class LinkError:
    """A link whose mass and inertia are ``factor`` times the model's, and how much that explains."""

    link: str
    factor: float
    share: float


def whole_arm_cause(
    model: DynamicsModel, motion: Motion, comparison: Comparison
) -> TipBody | LinkError | None:
    """The cause that explains the residuals of all joints best, if one explains nearly all of them."""
    stacked = _stacked(_columns_of_some(model, motion), comparison)
    if not len(stacked):
        return None  # no joint measures any effort
    columns, residual = stacked[:, :-1], stacked[:, -1]
    _, everything = _solved(columns, residual)
    if everything * float(np.sqrt(np.mean(residual**2))) < SMALLEST_EFFORT:
        return None
    tip = _tip_body(columns[:, :4], residual)
    links = [_link_error(name, columns[:, 4 + k, None], residual) for k, name in enumerate(model.bodies)]
    causes: list[TipBody | LinkError] = [one for one in links if one.factor > 0]
    if tip.mass + model.inertial_parameters[-10] > 0:  # else more would be missing than the last link weighs
        causes.append(tip)
    best = max(causes, key=lambda one: one.share - SIMPLER * isinstance(one, TipBody), default=None)
    return best if best is not None and best.share > max(SMALLEST_CAUSE_SHARE, ALONE * everything) else None


def cause_effort(model: DynamicsModel, motion: Motion, cause: TipBody | LinkError) -> Doubles:
    """What a cause adds to the effort of every joint along the whole motion, filtered: (N, n)."""
    parts = []
    for stretch in motion.stretches:
        states = stretch.q, stretch.qd, stretch.qdd
        if isinstance(cause, TipBody):
            body = _with_payload(model, abs(cause.mass), cause.com).inverse_dynamics(*states)
            added = np.sign(cause.mass) * (body - _with_payload(model, 0.0).inverse_dynamics(*states))
        else:
            added = (cause.factor - 1) * _body_columns(model, *states)[model.bodies.index(cause.link)]
        parts.append(smoothed(added, motion))
    return np.concatenate(parts)


def _tip_body(columns: Doubles, residual: Doubles) -> TipBody:
    """From the columns of mass and first moment."""
    moments, share = _solved(columns, residual)
    mass = float(moments[0])
    x, y, z = (moments[1:] / mass if mass else moments[1:]).tolist()
    return TipBody(mass, (x, y, z), share)


def _link_error(link: str, column: Doubles, residual: Doubles) -> LinkError:
    """From the effort that the link itself causes in the model."""
    excess, share = _solved(column, residual)
    return LinkError(link, 1 + float(excess[0]), share)


def _solved(columns: Doubles, residual: Doubles) -> tuple[Doubles, float]:
    """Least squares: the unknowns, and the share of the residual's power that they explain."""
    size = np.linalg.norm(columns, axis=0)
    size[size == 0] = 1.0  # such a column does nothing
    unknowns = np.asarray(np.linalg.lstsq(columns / size, residual, rcond=RANK)[0] / size, float)
    power = float(residual @ residual)
    left = float(np.sum((residual - columns @ unknowns) ** 2))
    return unknowns, 1 - left / power if power else 0.0


def _stacked(columns: Doubles, comparison: Comparison) -> Doubles:
    """Columns (unknowns, N, n) and the residual, joint under joint, scaled, without friction and offset."""
    samples = columns.shape[1]
    scale = np.sqrt(np.mean(comparison.measured**2, axis=0))
    joints = [np.empty((0, len(columns) + 1))]
    for j in np.flatnonzero(scale):
        friction = np.stack(
            [comparison.speed[:samples, j], comparison.direction[:samples, j], np.ones(samples)], axis=1
        )
        both = np.column_stack([columns[:, :, j].T, comparison.residual[:samples, j]]) / scale[j]
        joints.append(both - friction @ np.linalg.lstsq(friction, both, rcond=None)[0])
    return np.concatenate(joints)


def _columns_of_some(model: DynamicsModel, motion: Motion) -> Doubles:
    """The columns of all causes over the first ``SAMPLES`` samples, filtered: (4 + bodies, N, n)."""
    parts: list[Doubles] = []
    for stretch in motion.stretches:
        missing = SAMPLES - sum(part.shape[1] for part in parts)
        if missing > 0:
            states = [x[: missing + 2 * motion.edge] for x in (stretch.q, stretch.qd, stretch.qdd)]
            columns = [*_tip_columns(model, *states), *_body_columns(model, *states)]
            parts.append(np.stack([smoothed(column, motion) for column in columns]))
    return np.concatenate(parts, axis=1)


def _tip_columns(model: DynamicsModel, q: Doubles, qd: Doubles, qdd: Doubles) -> list[Doubles]:
    """Effort per unit of mass and of first moment of a point-like body in the tip frame.

    It is linear in both: m Y_0 + m c_x Y_x + m c_y Y_y + m c_z Y_z. From the model's own torques tau(m, c),
    Y_0 = tau(1, 0) - tau(0, 0) and Y_x = (tau(1, e_x) - tau(1, -e_x)) / 2, in which the body's
    inertia, even in c, drops out.
    """

    def effort(mass: float, com: Vector = ZERO) -> Doubles:
        return _with_payload(model, mass, com).inverse_dynamics(q, qd, qdd)

    axes: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    moments = [(effort(1.0, (x, y, z)) - effort(1.0, (-x, -y, -z))) / 2 for x, y, z in axes]
    return [effort(1.0) - effort(0.0), *moments]


def _with_payload(model: DynamicsModel, mass: float, com: Vector = ZERO) -> DynamicsModel:
    return model.with_parameters(payload=Payload(mass, com))


def _body_columns(model: DynamicsModel, q: Doubles, qd: Doubles, qdd: Doubles) -> list[Doubles]:
    """What each body's mass and inertia contribute: its ten columns of the regressor times its parameters."""
    parameters = model.inertial_parameters.reshape(-1, 10)
    pieces = [
        np.einsum(
            "tjbk,bk->btj",
            model.regressor(q[i : i + PIECE], qd[i : i + PIECE], qdd[i : i + PIECE]).reshape(
                -1, q.shape[1], *parameters.shape
            ),
            parameters,
        )
        for i in range(0, len(q), PIECE)
    ]
    return list(np.concatenate(pieces, axis=1))


# The terms to blame on one joint, with what is common to the whole arm kept apart.


RIGID = ("inertia", "coriolis", "gravity")


def blame_joint(
    comparison: Comparison, joint: int, common: Doubles | None, measured_rms: float, independent: float
) -> list[Blame]:
    """Terms to blame for a joint's residual, greatest first.

    ``common`` (N,) is the part of the residual that a payload or a link's mass explains: it is told as
    what it changes in inertia, Coriolis and gravity, and only the rest is searched for friction
    and offsets. Else an offset would pass for the weight of a payload, and friction for its inertia.
    """
    residual = comparison.residual[:, joint]
    rigid = {name: comparison.terms[name][:, joint] for name in RIGID}
    other = {
        "viscous": comparison.speed[:, joint],
        "Coulomb": comparison.direction[:, joint],
        "offset": np.ones(len(residual)),
    }
    if common is None:
        return blame(residual, {**rigid, **other}, measured_rms, independent)
    found = [
        *_of_part(common, residual, blame(common, rigid, measured_rms, independent)),
        *_of_part(residual - common, residual, blame(residual - common, other, measured_rms, independent)),
    ]
    return sorted(found, key=lambda one: -one.effort)


def _of_part(part: Doubles, residual: Doubles, blames: list[Blame]) -> list[Blame]:
    """Shares of a part of the residual as shares of the whole."""
    weight = float(np.mean(part**2) / np.mean(residual**2))
    return [replace(one, share=min(1.0, weight * one.share)) for one in blames]
