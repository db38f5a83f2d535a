"""Misplaced: what differs from the URDF beside bodies and friction, as what an estimate leaves tells it.

A joint that stands at q + a where q is recorded, a base that is turned by a, so that gravity is g + g x a
in its frame, efforts of a joint that are recorded 1 + a times too large, or that grow by a in each minute
change the efforts by S a, to first order. Bodies and friction take up most of that: with the regressor Z,
weighted by W, and the Hessian H there remains S' a, with S' = S - Z H^-1 Z' W S. The one that explains most
of the fitted residuals counts, if it takes power away from the others, too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification.choosing import PLAINEST
from kane_dynamics_ros.identification.fitting import Choice, Problem, free_solution, reduced
from kane_dynamics_ros.identification.regression import Guess, Regression
from kane_dynamics_ros.runtime import DynamicsModel

POINTS, STEP = 3000, 1e-5  # rows that are looked at; [rad] of central differences
ROUNDS = 6  # of linearising, about the middle of the angle of before, and the bodies that belong to it
RESOLVED = 1e-7  # of the largest slope: less is rounding, as of a base that turns about the vertical
CLEAR, ROUGH = 3.0, 0.05  # standard errors; of an angle, by which simulated arms missed it beside noise
ANGLES, SCALES = (np.radians(0.3), 0.5), (0.1, 4.0)  # [rad] or of 1: worth a word, and no small change
DRIFTS = (0.0, np.inf)  # of any size
MOST, CONFIRMED = 0.3, 0.1  # of some joint's residual on the fitted data, and on the others


class Misplaced(NamedTuple):
    """What differs: ``what`` is "zero", "base", "scale" or "drift", of that ``joint``, or None of the base.

    ``value``: the angle [rad] at which a joint stands where 0 is recorded; the three by which the base is
    turned about the root's axes; the factor that takes the recorded efforts to the joint's; or what they
    gain in a minute [N m] or [N]. ``error``: of each. ``share``: how much of the residual's power at the
    joint ``at`` goes with it, on data that were not fitted; ``left``: of the residuals of all joints, root
    mean squares [N m] or [N], what then remains.
    """

    what: str
    joint: str | None
    value: tuple[float, ...]
    error: float
    at: str
    share: float
    left: float


def misplaced(
    regression: Regression, fitted: Mask, problem: Problem, choice: Choice, weight: float, guess: Guess
) -> Misplaced | None:
    """What most likely differs from the URDF, a joint's zero, the base, a scale or a drift, if anything.

    fitted (bags * blocks,): the blocks that were fitted; ``guess``: what rows are weighted with. Terms that
    were left out, and bounds, may be due to it: here all is free. With bodies at the tip nothing is said.
    """
    model, n, size = regression.model, regression.joints, problem.size
    if any(regression.loaded) or np.any(regression.payloads):
        return None
    choice = choice._replace(active=choice.active | PLAINEST, held=frozenset())
    x = free_solution(problem, choice, problem.equations(problem.whole), weight)
    coefficients, to_y = problem.coefficients(regression, x), regression.map @ problem.basis
    seconds = sum(track.seconds for track in regression.store.tracks)
    some = slice(None, None, max(1, int(seconds * regression.row_rate / POINTS)))
    parts = []
    for bag, rows, counted in regression.weighted(guess):
        Z, root = rows.Z[some], np.sqrt(counted[some, :, None]) / problem.sigma[:, None]
        own = problem.own_terms(regression, Z)[:, :, None] * np.eye(n)[:, :, None]
        columns = Z[..., : regression.base] @ to_y, own.reshape(len(Z), n, -1)
        left, Z = rows.residual(coefficients)[some] * root[..., 0], root * np.concatenate(columns, axis=-1)
        motion = rows.time[some] / 60.0, rows.q[some], rows.qd[some], rows.qdd[some]
        parts.append((Z, root, left, fitted[regression.block_of(bag, rows.time[some])], *motion))
    Z, root, left, fit, minutes, q, qd, qdd = (np.concatenate(each) for each in zip(*parts, strict=True))
    used = Z[fit].reshape(-1, size)
    part = reduced(problem, choice, np.pad(used.T @ used, (0, 1)), weight / some.step)
    to_drives = np.eye(n) if regression.coupling is None else np.linalg.inv(regression.coupling).T
    drifts = minutes[:, None, None] * np.eye(n)
    moved, turned, found = np.zeros(size), np.zeros(3 * n + 3), None
    for _ in range(ROUNDS):
        inertial = problem.inertial(x - moved).ravel()
        rigid = slopes(model, inertial, q + turned[:n], qd, qdd)
        S = root * (to_drives @ np.concatenate([rigid, drifts], axis=-1))
        taken_up = np.zeros((size, len(turned)))
        taken_up[part.used] = np.linalg.solve(part.H, used[:, part.used].T @ S[fit].reshape(-1, len(turned)))
        found, angles = likeliest(S - Z @ taken_up, left, fit, model.joint_names, 1.0 / problem.sigma)
        moved, turned = taken_up @ angles, angles / 2
    return found


def slopes(model: DynamicsModel, inertial: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Slopes (N, n, 2 n + 3) of bodies' efforts by positions, the base's angles, and scales of efforts.

    Those by positions of joints that slide are 0.
    """
    n, still, gravity = q.shape[1], np.zeros_like(q), np.array(model.parameters.gravity)
    found = np.zeros((*q.shape, 2 * n + 3))
    for j, own in enumerate(STEP * np.eye(n)):
        if model.joints[j].kind != "prismatic":
            ends = (model.regressor(q + side * own, qd, qdd) @ inertial for side in (1.0, -1.0))
            found[..., j] = np.subtract(*ends) / (2.0 * STEP)
    for k, axis in enumerate(np.eye(3)):
        other = model.with_parameters(gravity=tuple(np.cross(gravity, axis)))
        found[..., n + k] = other.regressor(q, still, still) @ inertial
    found[..., n + 3 :] = (model.regressor(q, qd, qdd) @ inertial)[..., None] * np.eye(n)
    return found


def likeliest(
    S: Array, left: Array, fit: Mask, joints: Sequence[str], weight: Array
) -> tuple[Misplaced | None, Array]:
    """What explains most of the fitted residuals by its slopes S (N, n, 3 n + 3), if it counts; all changes.

    ``left`` (N, n): residuals, times ``weight`` (n,); ``fit`` (N,): fitted ones. The others change a value by
    twice its error.
    """
    before = np.array([(left[part] ** 2).sum(axis=0) for part in (fit, ~fit)])
    best, changes, least, n = None, np.zeros(S.shape[-1]), np.inf, len(joints)
    columns = np.split(np.arange(3 * n + 3), [*range(1, n + 1), *range(n + 3, 3 * n + 3)])
    of_joints = {what: [(what, joint) for joint in joints] for what in ("zero", "scale", "drift")}
    kinds = [*of_joints["zero"], ("base", None), *of_joints["scale"], *of_joints["drift"]]
    for (what, joint), own in zip(kinds, columns, strict=True):
        parts = [(S[part][..., own].reshape(-1, len(own)), left[part].ravel()) for part in (fit, ~fit)]
        change, other = (np.linalg.lstsq(*part, rcond=RESOLVED)[0] for part in parts)
        after = np.array([((left - S[..., own] @ change)[part] ** 2).sum(axis=0) for part in (fit, ~fit)])
        if after[0].sum() >= least:
            continue
        best, least, size = None, after[0].sum(), float(np.linalg.norm(change))
        error = float(np.hypot(np.abs(change - other).max() / 2, ROUGH * size))
        shares = 1.0 - (after + 1e-300) / (before + 1e-300)  # 0 of a joint whose effort is not measured
        counts = (shares[0] > MOST) & (shares[1] > CONFIRMED) & (after[1].sum() < before[1].sum())
        at = int(np.argmax(np.where(counts, shares[1], 0.0)))
        changes = np.zeros(3 * n + 3)
        slight, far = {"scale": SCALES, "drift": DRIFTS}.get(what, ANGLES)
        if counts[at] and max(slight, CLEAR * error) < size < far and (what != "scale" or change[0] > -0.9):
            changes[own], value = change, change
            if what == "scale":  # by 1 + a too large
                value = 1.0 / (1.0 + change)
                error *= float(value[0]) ** 2
            power = (np.array([before[1], after[1]]) / weight**2).sum(axis=1)
            rest = float(np.sqrt(power[1] / power[0]))
            best = Misplaced(
                what, joint, tuple(value.tolist()), error, joints[at], float(shares[1, at]), rest
            )
    return best, changes
