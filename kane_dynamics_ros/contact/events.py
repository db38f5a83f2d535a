"""The contacts of a recording: when, how strong, in which joints.

A contact is a level that the external efforts do not reach without, or a change of them that comes and goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.contact.changes import AROUND, Change, find_changes, rare, scans
from kane_dynamics_ros.contact.residual import Mask, Residual, external_efforts
from kane_dynamics_ros.control.observer import TipWrench, tip_wrench
from kane_dynamics_ros.friction import Beyond
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel

OUTLIERS = 0.35  # share of the peaks that may be contacts beside those found
QUIET, MOST_CONTACTS = 0.4, 0.5  # of the samples that show the noise, and of the peaks, before any is found
ROUNDS = 4
END_SHARE = 0.5  # of the threshold: a contact lasts as long as the ratio is above
MERGED = 0.5  # [s] a shorter pause does not end a contact
IMPULSE = 0.6  # times 1 / cut-off: so long an impulse that passed the low pass is above half of its height


class TipForce(NamedTuple):
    """The force at a tip, in its axes, that would explain a contact's peak; the share that it does."""

    tip: str
    wrench: TipWrench
    explained: float

    @property
    def size(self) -> float:
        """Its magnitude [N]."""
        return float(np.linalg.norm(self.wrench.value[:3]))


@dataclass(frozen=True)
class Contact:
    """One contact from ``start`` to ``end`` [s]; ``peak`` [s] is when it stood out most.

    ``efforts`` (n,) are the external efforts at the peak [N m or N], ``ratios`` (n,) these over their
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
    silent: Sequence[int] = (),
    beyond: Beyond | None = None,
) -> tuple[Residual, Contacts]:
    """The contacts of a recording that judges itself, and the external efforts that they stand out of.

    Noise and errors of the model belong to the stretches without contact, and these are known only when the
    contacts are. So both are found in turns: first, the quieter part of all samples shows the noise, and half
    of the peaks may be contacts; then what was found is left out of the fit, and the noise and its peaks are
    those of the rest, until nothing changes.

    ``rate``: false alarms an hour; ``correct``, ``silent`` and ``beyond`` are as in ``external_efforts``.
    """
    efforts = partial(external_efforts, motion, model, correct=correct, silent=silent, beyond=beyond)
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
    size = np.max(np.abs(residual.external) / residual.spread, axis=1)  # with what is below the floor
    threshold = rare(np.where(residual.free, size, np.nan), residual.rate, rate, outliers)
    # from where the ratio is half of the threshold, if it exceeds the threshold; short pauses are bridged
    spans: list[tuple[int, int]] = []
    edges = np.flatnonzero(np.diff(ratio > END_SHARE * threshold, prepend=False, append=False))
    for start, stop in edges.reshape(-1, 2).tolist():
        if ratio[start:stop].max() <= threshold:
            continue
        if spans and residual.time[start] - residual.time[spans[-1][1] - 1] < MERGED:
            start = spans.pop()[0]
        spans.append((start, stop))
    least = max(1, round(IMPULSE / residual.cutoff * residual.rate))
    if residual.standing:
        spans = []  # stiction keeps a level that means nothing
    found = [_contact(residual, model, *span, threshold) for span in spans if span[1] - span[0] >= least]
    taken = _touched(residual, found)
    looked = scans(residual, taken, rate, outliers)
    for change in find_changes(residual, looked, taken):
        each = _changed(residual, model, change)
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


def _contact(residual: Residual, model: DynamicsModel, start: int, stop: int, threshold: float) -> Contact:
    """The contact of samples ``start`` to ``stop``, with the force at the tip that would explain its peak."""
    ratio = residual.ratio[start:stop]
    at = start + int(np.argmax(ratio.max(axis=1)))
    best = ratio.max(axis=0)
    joints = [j for j in np.argsort(-best).tolist() if best[j] > threshold]
    return _told(residual, model, (start, stop, at), joints, residual.external[at], residual.ratio[at])


def _changed(residual: Residual, model: DynamicsModel, change: Change) -> Contact:
    """The contact of a change: its joints are those in which it is at least half as clear as in the first."""
    ratios = change.ratios
    joints = [j for j in np.argsort(-ratios).tolist() if ratios[j] >= END_SHARE * ratios.max()]
    place = change.start, change.stop, min(max(change.at, change.start), change.stop - 1)
    return _told(residual, model, place, joints, change.efforts, ratios)


def _told(
    residual: Residual,
    model: DynamicsModel,
    place: tuple[int, int, int],
    joints: Sequence[int],
    efforts: Array,
    ratios: Array,
) -> Contact:
    """The contact of the samples from ``place``, its start, stop and peak, with the forces at the tips."""
    start, stop, at = place
    q = residual.q[at]
    weights = 1.0 / np.maximum(residual.spread[at], residual.floor)
    forces = []
    for tip, J in force_jacobians(model, q).items():
        axes = model.tip_pose(q, tip=tip)[:3, :3]
        wrench = tip_wrench(J, efforts, axes, weights, assume="force")
        left = weights * (efforts - axes @ wrench.value[:3] @ J)
        forces.append(TipForce(tip, wrench, 1.0 - float(left @ left / np.sum((weights * efforts) ** 2))))
    return Contact(
        start=float(residual.time[start]),
        end=float(residual.time[stop - 1]),
        peak=float(residual.time[at]),
        joints=tuple(model.joint_names[j] for j in joints),
        efforts=tuple(efforts.tolist()),
        ratios=tuple(ratios.tolist()),
        forces=tuple(sorted(forces, key=lambda one: -one.explained)),
    )


def force_jacobians(model: DynamicsModel, q: Array) -> dict[str, Array]:
    """By tip (3, n): the joint efforts of unit forces along the root's axes that act there, at (n,) ``q``."""
    return {tip: model.tip_jacobian(q, tip=tip)[3:] for tip in model.tips}
