"""The contacts of a recording: when, how strong, in which joints."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.contact.extremes import fit_tail
from kane_dynamics_ros.contact.residual import Mask, Residual, clusters, external_efforts
from kane_dynamics_ros.control.observer import TipWrench, tip_wrench
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel

TAIL_SHARE = 0.6  # of the peaks that are no outliers
INDEPENDENT = 0.3  # [s] peaks further apart hardly depend on each other
OUTLIERS = 0.35  # share of the peaks that may be contacts beside those found
QUIET, MOST_CONTACTS = 0.4, 0.5  # of the samples that show the noise, and of the peaks, before any is found
ROUNDS = 4
AROUND = 0.3  # [s] of a contact, that do not count as free of it
END_SHARE = 0.5  # of the threshold: a contact lasts as long as the ratio is above
MERGED = 0.5  # [s] a shorter pause does not end a contact
SHORTEST = 0.02  # [s] of a contact


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
    """What was found above which ratio of effort to spread, and the rate of false alarms an hour meant."""

    found: tuple[Contact, ...]
    threshold: float
    rate: float


def find_contacts(
    motion: Motion, model: DynamicsModel, rate: float = 1.0, *, correct: bool = True
) -> tuple[Residual, Contacts]:
    """The contacts of a recording that judges itself, and the external efforts that they stand out of.

    Noise and errors of the model belong to the stretches without contact, and these are known only when the
    contacts are. So both are found in turns: first, the quieter part of all samples shows the noise, and half
    of the peaks may be contacts; then what was found is left out of the fit, and the noise and its peaks are
    those of the rest, until nothing changes.

    ``rate``: false alarms an hour; ``correct=False`` leaves the model's errors in.
    """
    residual = external_efforts(motion, model, correct=correct, share=QUIET)
    contacts = _judged(residual, model, rate, MOST_CONTACTS)
    for _ in range(ROUNDS):
        free = ~_touched(residual, contacts)
        residual = external_efforts(motion, model, correct=correct, free=free)
        contacts = _judged(residual, model, rate, OUTLIERS)
        if (free == ~_touched(residual, contacts)).all():
            break
    return residual, contacts


def _judged(residual: Residual, model: DynamicsModel, rate: float, outliers: float) -> Contacts:
    """What stands out of the peaks of the samples without contact; a share of these may be contacts yet."""
    ratio = residual.ratio.max(axis=1)
    size = np.max(np.abs(residual.external) / residual.spread, axis=1)  # with what is below the floor
    gap = max(1, round(INDEPENDENT * residual.rate))
    peaks = clusters(np.where(residual.free, size, np.nan), gap, residual.joins)
    peaks = peaks[np.isfinite(peaks)]
    hours = len(peaks) * gap / residual.rate / 3600.0
    threshold = fit_tail(peaks, hours, share=TAIL_SHARE, outliers=outliers).threshold(rate)
    # from where the ratio is half of the threshold, if it exceeds the threshold; short pauses are bridged
    spans: list[tuple[int, int]] = []
    edges = np.flatnonzero(np.diff(ratio > END_SHARE * threshold, prepend=False, append=False))
    for start, stop in edges.reshape(-1, 2).tolist():
        if ratio[start:stop].max() <= threshold:
            continue
        if spans and residual.time[start] - residual.time[spans[-1][1] - 1] < MERGED:
            start = spans.pop()[0]
        spans.append((start, stop))
    least = max(1, round(SHORTEST * residual.rate))
    found = [_contact(residual, model, *span, threshold) for span in spans if span[1] - span[0] >= least]
    return Contacts(tuple(found), threshold, rate)


def _touched(residual: Residual, contacts: Contacts) -> Mask:
    """The samples (N,) of contacts, with what the low-pass spreads around them."""
    mask = np.zeros(len(residual.time), bool)
    for each in contacts.found:
        mask |= (residual.time > each.start - AROUND) & (residual.time < each.end + AROUND)
    return mask


def _contact(residual: Residual, model: DynamicsModel, start: int, stop: int, threshold: float) -> Contact:
    """The contact of samples ``start`` to ``stop``, with the force at the tip that would explain its peak."""
    ratio = residual.ratio[start:stop]
    at = start + int(np.argmax(ratio.max(axis=1)))
    best = ratio.max(axis=0)
    joints = tuple(model.joint_names[j] for j in np.argsort(-best) if best[j] > threshold)
    q, efforts = residual.q[at], residual.external[at]
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
        joints=joints,
        efforts=tuple(efforts.tolist()),
        ratios=tuple(residual.ratio[at].tolist()),
        forces=tuple(sorted(forces, key=lambda one: -one.explained)),
    )


def force_jacobians(model: DynamicsModel, q: Array) -> dict[str, Array]:
    """By tip (3, n): the joint efforts of unit forces along the root's axes that act there, at (n,) ``q``."""
    return {tip: model.tip_jacobian(q, tip=tip)[3:] for tip in model.tips}
