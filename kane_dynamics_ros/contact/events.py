"""The contacts of a recording: when, how strong, in which joints.

A contact is a level that the external efforts do not reach without, or a change of them that comes and goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.contact.changes import AROUND, FINEST, Change, find_changes, rare, scans
from kane_dynamics_ros.contact.residual import Residual, external_efforts
from kane_dynamics_ros.contact.signals import Fault
from kane_dynamics_ros.control.observer import DETERMINED
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel

OUTLIERS = 0.35  # share of the peaks that may be contacts beside those found
QUIET, MOST_CONTACTS = 0.4, 0.5  # of the samples that show the noise, and of the peaks, before any is found
ROUNDS = 4
END_SHARE = 0.5  # of the threshold: a contact lasts as long as the ratio is above
MERGED = 0.5  # [s] a shorter pause does not end a contact
LAPLACE = 0.74  # standard deviations that ``QUANTILE`` is, where the tails are exponential
UNSURE = 0.5  # of a force: directions in which the standard error is more are not determined
IMPULSE = 0.6  # times 1 / cut-off: so long an impulse that passed the low pass is above half of its height


class TipForce(NamedTuple):
    """The force (3,) [N] at a tip, in its axes, that would explain a contact's peak; the share that it does.

    ``errors`` (3,) [N] are standard errors, infinite where a component is not determined.
    """

    tip: str
    value: Array
    errors: Array
    explained: float


@dataclass(frozen=True)
class Contact:
    """One contact from ``start`` to ``end`` [s]; ``peak`` [s] is when it stood out most.

    ``efforts`` (n,) are the external efforts at the peak [N m or N], ``ratios`` (n,) the largest over their
    spread; ``joints`` those above the threshold, the clearest first. ``forces``: one for each tip, the one
    that explains most first.
    """

    start: float
    end: float
    peak: float
    joints: tuple[str, ...]
    efforts: tuple[float, ...]
    ratios: tuple[float, ...]
    forces: tuple[TipForce, ...]


@dataclass(frozen=True)
class Contacts:
    """What was found above which ratio of effort to spread, and the rate of false alarms an hour meant.

    ``pushes`` (n,): the change that comes and goes, in one joint alone, that is found [N m or N].
    """

    found: tuple[Contact, ...]
    threshold: float
    rate: float
    pushes: tuple[float, ...]


def find_contacts(
    motion: Motion,
    model: DynamicsModel,
    rate: float = 1.0,
    *,
    correct: bool = True,
    beyond: ExtraFriction | None = None,
    faults: Sequence[Fault] = (),
) -> tuple[Residual, Contacts]:
    """The contacts of a recording that judges itself, and the external efforts that they stand out of.

    Noise and errors of the model belong to the stretches without contact, and these are known only when the
    contacts are. So both are found in turns: first, the quieter part of all samples shows the noise, and half
    of the peaks may be contacts; then what was found is left out of the fit, and the noise and its peaks are
    those of the rest, until nothing changes.

    ``rate``: false alarms an hour; ``correct``, ``beyond`` and ``faults`` are as in ``external_efforts``.
    """
    efforts = partial(external_efforts, motion, model, correct=correct, beyond=beyond, faults=faults)
    residual = efforts(share=QUIET)
    contacts = _judged(residual, model, rate, MOST_CONTACTS)
    for _ in range(ROUNDS):
        free = ~_touched(residual, contacts.found)
        residual = efforts(free=free)
        contacts = _judged(residual, model, rate, OUTLIERS)
        if (free == ~_touched(residual, contacts.found)).all():
            break
    return residual, contacts


def _judged(residual: Residual, model: DynamicsModel, rate: float, outliers: float) -> Contacts:
    """What stands out of the peaks of the samples without contact; a share of these may be contacts yet."""
    ratio = residual.ratio.max(axis=1)
    size = np.max(residual.excess / residual.spread, axis=1)  # with what is below the floor
    threshold = rare(np.where(residual.free, size, np.nan), residual.rate, rate, outliers)
    # from where the ratio is half of the threshold, if it exceeds the threshold; short pauses are bridged
    spans: list[tuple[int, int]] = []
    edges = np.flatnonzero(np.diff(ratio > END_SHARE * threshold, prepend=False, append=False))
    for start, stop in edges.reshape(-1, 2).tolist():
        if ratio[start:stop].max() <= threshold:
            continue
        stop = _lasting(residual, start, stop, END_SHARE * threshold)
        if spans and residual.time[start] - residual.time[spans[-1][1] - 1] < MERGED:
            start, before = spans.pop()
            stop = max(before, stop)
        spans.append((start, stop))
    least = max(1, round(IMPULSE / residual.cutoff * residual.rate))
    if residual.standing:
        spans = []  # stiction keeps a level that means nothing
    levels = [_level(residual, *span) for span in spans if span[1] - span[0] >= least]
    found = [_contact(residual, model, each, threshold) for each in levels]
    taken = _touched(residual, found)
    looked = scans(residual, taken, rate, outliers)
    for change in find_changes(residual, looked, taken):
        each = _contact(residual, model, change, END_SHARE * change.ratios.max())
        if all(each.start - other.end > MERGED or other.start - each.end > MERGED for other in found):
            found.append(each)
    pushes = (
        np.min([scan.least for scan in looked], axis=0) if looked else np.full(len(residual.floor), np.inf)
    )
    return Contacts(tuple(sorted(found, key=lambda one: one.start)), threshold, rate, tuple(pushes.tolist()))


def _touched(residual: Residual, contacts: Sequence[Contact]) -> Mask:
    """The samples (N,) of contacts, with what the low-pass spreads around them."""
    mask = np.zeros(len(residual.time), bool)
    for each in contacts:
        mask |= (residual.time > each.start - AROUND) & (residual.time < each.end + AROUND)
    return mask


def _lasting(residual: Residual, start: int, stop: int, least: float) -> int:
    """Where a contact ends whose ratios are above ``least`` from the samples ``start`` to ``stop``.

    They fall with its efforts, but also where a joint comes to rest and its spread is larger. So a contact
    lasts as long as efforts beyond stiction stay above half of the last, and ``least`` times its spread.
    """
    joints = (residual.ratio[max(start, stop - round(MERGED * residual.rate)) : stop] > least).any(axis=0)
    sign, after = np.sign(residual.external[stop - 1]), slice(stop - 1, None)
    beyond = sign * residual.external[after] - residual.stiction[after]
    enough = np.maximum(END_SHARE * beyond[0], least * np.median(residual.spread[start:stop], axis=0))
    lasts = np.logical_and.accumulate(beyond > enough, axis=0)[:, joints]
    return stop - 1 + max(1, int(lasts.any(axis=1).sum()))


def _level(residual: Residual, start: int, stop: int) -> Change:
    """The samples ``start`` to ``stop`` as a change to the efforts at their peak, with the largest ratios."""
    ratios = residual.ratio[start:stop]
    at = start + int(np.argmax(ratios.max(axis=1)))
    return Change(start, stop, at, residual.external[at], ratios.max(axis=0), residual.spread[at])


def _contact(residual: Residual, model: DynamicsModel, change: Change, least: float) -> Contact:
    """The contact of a change, whose joints are those with a ratio of ``least`` or more."""
    ratios = change.ratios
    joints = [j for j in np.argsort(-ratios).tolist() if ratios[j] >= least]
    at = min(max(change.at, change.start), change.stop - 1)
    q = residual.q[at]
    noise = np.maximum(change.spread / LAPLACE, FINEST * residual.floor)
    deviations = np.hypot(noise, residual.stiction[at] / 3**0.5)  # which takes anything up to its size
    forces = [
        tip_force(tip, model.tip_pose(q, tip=tip)[:3, :3].T @ J, change.efforts, deviations)
        for tip, J in force_jacobians(model, q).items()
    ]
    return Contact(
        start=float(residual.time[change.start]),
        end=float(residual.time[change.stop - 1]),
        peak=float(residual.time[at]),
        joints=tuple(model.joint_names[j] for j in joints),
        efforts=tuple(change.efforts.tolist()),
        ratios=tuple(ratios.tolist()),
        forces=tuple(sorted(forces, key=lambda one: -one.explained)),
    )


def tip_force(tip: str, jacobian: Array, efforts: Array, deviations: Array) -> TipForce:
    """The force at a tip that explains efforts (n,) best, as far as it is determined.

    With A = J / s of the Jacobian J (3, n) in tip axes and the standard deviations s (n,) of the efforts, the
    force f solves A^T f = efforts / s by least squares. With the singular value decomposition A = U S V^T its
    standard error along a column of U is 1 / S; where efforts are left that s does not explain, s is as much
    larger. A direction whose error is more than ``UNSURE`` of the force is left out, and a component that
    lies in it is not determined.
    """
    U, S, Vt = np.linalg.svd(jacobian / deviations, full_matrices=False)
    wanted = efforts / deviations
    seen = Vt @ wanted
    left, freedom = wanted - seen @ Vt, max(len(efforts) - len(S), 1)
    worse = max(1.0, float(left @ left / freedom) ** 0.5)
    S = np.maximum(S, np.finfo(float).tiny)
    kept = np.logical_and.accumulate(worse / S <= UNSURE * np.sqrt(np.cumsum((seen / S) ** 2)))
    value = U[:, kept] @ (seen / S)[kept]
    resolution = np.square(U[:, kept]).sum(axis=1)
    errors = np.square(worse * U[:, kept] / S[kept]).sum(axis=1) + (1.0 - resolution) * (value @ value)
    errors = np.where(resolution > DETERMINED, np.sqrt(errors), np.inf)
    return TipForce(tip, value, errors, float(seen[kept] @ seen[kept] / (wanted @ wanted)))


def force_jacobians(model: DynamicsModel, q: Array) -> dict[str, Array]:
    """By tip (3, n): the joint efforts of unit forces along the root's axes that act there, at (n,) ``q``."""
    return {tip: model.tip_jacobian(q, tip=tip)[3:] for tip in model.tips}
