"""The contacts of a recording: when, how strong, in which joints."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.contact.extremes import Tail, fit_tail
from kane_dynamics_ros.contact.residual import Residual, clusters
from kane_dynamics_ros.control.observer import TipWrench, root_jacobian, tip_wrench
from kane_dynamics_ros.runtime import DynamicsModel

TAIL_SHARE = 0.6  # of the peaks that are no outliers
INDEPENDENT = 0.3  # [s] peaks further apart hardly depend on each other
OUTLIERS = 0.35  # share of the peaks that may be contacts when a recording judges itself
END_SHARE = 0.5  # of the threshold: a contact lasts as long as the ratio is above
MERGED = 0.5  # [s] a shorter pause does not end a contact
SHORTEST = 0.02  # [s] of a contact


@dataclass(frozen=True)
class Contact:
    """One contact from ``start`` to ``end`` [s]; ``peak`` [s] is when it stood out most.

    ``efforts`` (n,) are the external efforts at the peak [N m or N], ``ratios`` (n,) these over their
    spread; ``joints`` those above the threshold, the clearest first. ``wrench`` is the force at the tip
    that would explain the peak, in tip axes.
    """

    start: float
    end: float
    peak: float
    joints: tuple[str, ...]
    efforts: tuple[float, ...]
    ratios: tuple[float, ...]
    wrench: TipWrench

    @property
    def force(self) -> float:
        """Magnitude of the force at the tip that would explain it [N]."""
        return float(np.linalg.norm(self.wrench.value[:3]))


@dataclass(frozen=True)
class Contacts:
    """What was found above which ratio of effort to spread, and the rate of false alarms an hour meant."""

    found: tuple[Contact, ...]
    threshold: float
    rate: float
    tail: Tail


def find_contacts(residual: Residual, model: DynamicsModel, rate: float = 1.0) -> Contacts:
    """The contacts of a recording that judges itself: its ordinary peaks show which are extraordinary.

    ``rate``: false alarms an hour. The third of the peaks that stands out most may be contacts, and does
    not enter the fit of the tail.
    """
    ratio = residual.ratio.max(axis=1)
    size = np.max(np.abs(residual.external) / residual.spread, axis=1)  # with what is below the floor
    gap = max(1, round(INDEPENDENT * residual.rate))
    hours = len(size) / residual.rate / 3600.0
    tail = fit_tail(clusters(size, gap, residual.joins), hours, share=TAIL_SHARE, outliers=OUTLIERS)
    threshold = tail.threshold(rate)
    found = tuple(
        _contact(residual, model, start, stop, threshold)
        for start, stop in _spans(residual, ratio, threshold)
    )
    return Contacts(found, threshold, rate, tail)


def _spans(residual: Residual, ratio: Array, threshold: float) -> Iterator[tuple[int, int]]:
    """Start and stop index of each contact: short pauses are bridged, runs that are too short left out."""
    runs = [
        (start, stop)
        for start, stop in _runs(ratio > END_SHARE * threshold)
        if ratio[start:stop].max() > threshold
    ]
    merged: list[tuple[int, int]] = []
    for start, stop in runs:
        if merged and residual.time[start] - residual.time[merged[-1][1] - 1] < MERGED:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    least = max(1, round(SHORTEST * residual.rate))
    yield from (run for run in merged if run[1] - run[0] >= least)


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and stop of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _contact(residual: Residual, model: DynamicsModel, start: int, stop: int, threshold: float) -> Contact:
    """The contact of samples ``start`` to ``stop``, with the force at the tip that would explain its peak."""
    ratio = residual.ratio[start:stop]
    at = start + int(np.argmax(ratio.max(axis=1)))
    best = ratio.max(axis=0)
    joints = tuple(model.joint_names[j] for j in np.argsort(-best) if best[j] > threshold)
    q, efforts = residual.q[at], residual.external[at]
    weights = 1.0 / np.maximum(residual.spread[at], residual.floor)
    wrench = tip_wrench(root_jacobian(model, q), efforts, model.tip_pose(q)[:3, :3], weights, assume="force")
    return Contact(
        start=float(residual.time[start]),
        end=float(residual.time[stop - 1]),
        peak=float(residual.time[at]),
        joints=joints,
        efforts=tuple(efforts.tolist()),
        ratios=tuple(residual.ratio[at].tolist()),
        wrench=wrench,
    )
