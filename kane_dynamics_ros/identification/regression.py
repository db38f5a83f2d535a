"""Regress: the linear model of joint efforts, and its normal equations over bags of any length.

Effort of joint j at one instant,

    tau_j = Y_j(q, qd, qdd) pi + I_j qdd_j + friction_j(qd_j, tau_rigid,j)

is linear in the inertial parameters pi (Y in its base columns [GautierKhalil1990]) and in the coefficients of
the joint's own terms: rotor inertia, and those of the formula in ``kane_dynamics_ros.friction``. Its widths
v_c and v_s are no coefficients: every candidate is a column of its own, and data choose among them.

Where drives turn at C qd, a row is a drive's: C^-T tau = C^-T Y pi + I (C qdd) + friction(C qd, C^-T load).
It has the terms of one drive alone, and residuals of the joints are C^T times the drives'.

Every column goes through the filter that the measured effort went through. A window of the motion at a time
becomes products, joint by joint and in blocks of time: that is all that fitting, choosing and
cross-validating need.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag

from kane_dynamics_ros import friction
from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification.recordings import MotionStore, Piece
from kane_dynamics_ros.replay.correlation import SPAN, UNCORRELATED
from kane_dynamics_ros.replay.coupled import STANDS, USUALLY
from kane_dynamics_ros.replay.motion import decimated, low_pass
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.parameters import find_base_parameters

# Terms of a joint: no sign, the speed's sign, its direction.
FAMILIES = (
    *("rotor", "viscous", "offset", "coulomb", "load", "stribeck"),
    *("coulomb_asymmetry", "viscous_asymmetry", "square_root"),
)
AT_REST = ("at_rest", "load_at_rest")  # what those ``LEAVES`` may leave at rest, in the direction of before
LEAVES = np.array([FAMILIES.index(family) for family in ("coulomb", "stribeck", "load")])
LEFT_BY = np.array([-2, -2, -1])  # by which of ``AT_REST``, counted from the end
WITH_SIGN = ("coulomb", "load", "stribeck", "coulomb_asymmetry", *AT_REST)
BY_LOAD = ("load", "load_at_rest")
SIMPLE = 3  # families, the first ones, that are filtered at the analysis rate
COULOMB_WIDTHS = (0.01, 0.03, 0.1)  # [rad/s] or [m/s]; the first is the run-time model's default
STRIBECK_WIDTHS = (0.05, 0.15, 0.4)  # of the joint's usual largest speed
WINDOW = 4096  # samples whose regressor is held at once: some ten MB
PER_CUTOFF = 4  # samples kept a period of the cut-off: the low-pass leaves nothing between them
FINER = 8  # samples for one at which terms with a sign are evaluated
CONSTANT = 1e-4  # of its size, that an effort changes by which never changes
HUBER = 3.0  # residuals beyond so many standard deviations count only by their size, not by its square


# Columns


class Term(NamedTuple):
    """A candidate column of a joint; ``width`` distinguishes those of v_c, ``rise`` those of v_s."""

    family: str
    width: int | None = None
    rise: int | None = None


TERMS = tuple(
    Term(family, width, rise)
    for family in (*FAMILIES, *AT_REST)
    for width in (range(len(COULOMB_WIDTHS)) if family in WITH_SIGN else (None,))
    for rise in (range(len(STRIBECK_WIDTHS)) if family == "stribeck" else (None,))
)


LOADS = np.array([k for k, term in enumerate(TERMS) if term.family in BY_LOAD])  # which the guess changes
OTHERS = np.array([k for k, term in enumerate(TERMS) if term.family not in BY_LOAD and k >= SIMPLE])


def load_columns(values: Array, before: Array) -> list[Array]:
    """The terms ``LOADS`` at speeds and loads (N, 2 n); ``before`` (widths, n): as ``signed_terms``."""
    qd, load = np.hsplit(values, 2)
    signs = [friction.smooth_sign(qd, width) for width in COULOMB_WIDTHS]
    return [sign * load for sign in [*signs, *signs_at_rest(qd, signs, before)]]


def signs_at_rest(qd: Array, signs: Sequence[Array], before: Array) -> list[Array]:
    """For each width, of the smooth ``signs``, what speeds (N, n) leave to the direction of before."""
    return [
        (1.0 - np.abs(sign)) * friction.last_direction(qd, width, own)
        for sign, width, own in zip(signs, COULOMB_WIDTHS, before, strict=True)
    ]


def chosen_terms(width: int, rise: int) -> list[int]:
    """The places in ``TERMS`` of one column for each of ``FAMILIES`` and ``AT_REST``, in their order.

    >>> [TERMS[k].family for k in chosen_terms(0, 2)] == [*FAMILIES, *AT_REST]
    True
    """
    return [k for k, term in enumerate(TERMS) if term.width in (None, width) and term.rise in (None, rise)]


def tip_columns(model: DynamicsModel) -> slice:
    """Where the ten parameters lie of the body that has the tip."""
    return slice(10 * model.tip_body, 10 * model.tip_body + 10)


# Rows


class Rows(NamedTuple):
    """Filtered rows of a window of N samples, n joints, or their drives where those are coupled.

    ``time`` (N,), ``Z`` (N, n, width), ``q``, ``qd``, ``qdd`` of the joints, ``usable``, ``resting`` (N, n).
    """

    time: Array
    Z: Array
    q: Array
    qd: Array
    qdd: Array
    usable: Array
    resting: Array

    def residual(self, coefficients: Array) -> Array:
        """Measured minus known minus modelled effort, (N, n), with ``coefficients`` (n, base + terms)."""
        predicted = np.einsum("tjk,jk->tj", self.Z[..., :-2], coefficients)
        return np.asarray(self.Z[..., -1] - self.Z[..., -2] - predicted)


class Guess(NamedTuple):
    """What a pass knows from the one before: ``inertial`` (10 bodies,) and rotors (n,) give the load.

    ``coefficients`` (n, base + terms), or None at first; ``sigma`` (n,): scale of each joint's residual;
    ``stiction`` (n,): the friction at rest, which may be anything up to it; ``gain`` (n,): effort per unit of
    what was recorded.
    """

    inertial: Array
    rotors: Array
    coefficients: Array | None
    sigma: Array
    stiction: Array
    gain: Array


class Extent(NamedTuple):
    """How far the joints moved, each (n,): ``lower`` and ``upper`` positions, and the usual largest speed.

    ``measured``: whether the effort ever changes.
    """

    lower: Array
    upper: Array
    speeds: Array
    measured: Mask


@dataclass(frozen=True)
class Products:
    """``gram`` (blocks, n, width, width): sums of w z z' over each block of time of each bag.

    ``count`` (blocks, n): sums of w. ``bag`` (blocks,): each block's.
    """

    gram: Array
    count: Array
    bag: NDArray[np.intp]


class Regression:
    """The motion, and the model that it is regressed on: what stays the same through all passes.

    A joint's row is [base columns | ``TERMS`` | known effort | measured effort], ``width`` numbers. ``own``
    of the ``base`` columns are the model's, ``columns`` among its 10 a body; an unknown body at the tip of
    some bags has ten more. ``map`` (base, 10 bodies): their parameters from the bodies'.
    """

    def __init__(
        self,
        store: MotionStore,
        model: DynamicsModel,
        payloads: Sequence[Array],
        loaded: Sequence[bool],
        blocks: int,
        coupling: Array | None = None,
    ) -> None:
        """``payloads`` (bags, 10): of each bag a known body at the tip, in its body's frame.

        ``loaded`` (bags,): whether it carries the unknown one. ``blocks``: of time, of each bag.
        ``coupling``: C (n, n) of the drives.
        """
        self.store, self.model, self.payloads, self.loaded = store, model, payloads, loaded
        self.blocks, self.joints = blocks, len(model.joint_names)
        self.extent = extent_of(store)
        found = find_base_parameters(model.regressor, self.joints)
        self.columns, self.map, self.own = found.columns, found.map, len(found.map)
        states = np.random.default_rng(1).uniform(-np.pi, np.pi, (3, 8 * self.joints, self.joints))
        size = np.abs(model.regressor(*states)).max(axis=0)
        felt = size[:, found.columns]
        if any(loaded):
            felt = np.concatenate([felt, size[:, tip_columns(model)]], axis=1)
            self.map = block_diag(found.map, np.eye(10))
        self._felt = felt > 1e-9 * felt.max(initial=0.0)  # (n, base): what a joint feels at all
        self.base = len(self.map)
        self.width = self.base + len(TERMS) + 2
        self.every, self._again = 1, True
        self._couple(coupling)

    def _couple(self, coupling: Array | None) -> None:
        self.coupling = coupling
        self._inverse = np.eye(self.joints) if coupling is None else np.linalg.inv(coupling)
        self._parts = self._inverse.T != 0.0  # (n, n): whose row each joint's equation has a part in
        self.speeds = self.extent.speeds if coupling is None else usual_speeds(self.store, coupling)
        self._places: dict[tuple[int, bool, int], tuple[int, tuple[int, ...]]] = {}  # of rows in the file

    def coupled(self, coupling: Array | None, every: int | None = None) -> "Regression":
        """The same with other couplings of the drives; ``every``: for one pass over one window in so many."""
        other = copy(self)
        other.every, other._again = every or 1, every is None
        other._couple(coupling)
        return other

    def at_joints(self, values: Array) -> Array:
        """Efforts or residuals (..., n) of the joints, from those of the drives."""
        return values if self.coupling is None else np.asarray(values @ self.coupling)

    def good(self, rows: Rows) -> Mask:
        """Whether a residual of each joint (N, n) counts: whether those of all its drives do."""
        good = rows.usable > 0
        if self.coupling is None:
            return np.asarray(good)
        return np.asarray((good[:, :, None] | (self.coupling == 0.0)).all(axis=1))

    @property
    def row_rate(self) -> float:
        """Rows a second of the first bag [Hz]."""
        track = self.store.tracks[0]
        return track.rate / row_step(track.rate, track.cutoff)

    def rows(self, bag: int, guess: Guess, wide: bool = False) -> Iterator[Rows]:
        """The rows of a bag, a window at a time; ``wide``: of its last part, at twice the cut-off.

        What no guess changes is computed once, and kept in the store's file.
        """
        track = self.store.tracks[bag].wide if wide else self.store.tracks[bag]
        before = np.zeros((len(COULOMB_WIDTHS), self.joints))
        for number, piece in enumerate(self.store.pieces(track, WINDOW) if track else ()):
            if number % self.every:
                continue
            # what remains of a joint at rest is noise, and would pass for motion
            qd, qdd = (np.where(self.extent.speeds >= STANDS, each, 0.0) for each in (piece.qd, piece.qdd))
            Y = self.model.regressor(piece.q, qd, qdd)
            piece = of_joints = replace(piece, qd=qd, qdd=qdd, usable=piece.usable * self.extent.measured)
            if self.coupling is not None:
                Y = np.einsum("ij,tib->tjb", self._inverse, Y)
                qd, qdd = qd @ self.coupling.T, qdd @ self.coupling.T
                usable = (piece.usable[:, None, :] * self._parts + ~self._parts).min(axis=2)
                piece = replace(piece, effort=piece.effort @ self._inverse, usable=usable)
            piece = replace(piece, qd=qd, qdd=qdd)
            inside = slice(piece.edge, len(qd) - piece.edge, row_step(piece.rate, piece.cutoff))
            place = self._places.get((bag, wide, number))
            if place is None:
                fixed = self._fixed(piece, Y, bag, before)[inside]
                if self._again:
                    self._places[bag, wide, number] = self.store.keep(fixed), fixed.shape
            else:
                fixed = self.store.kept(*place)
            Z, resting = fixed[..., :-1], np.clip(fixed[..., -1], 0.0, 1.0)
            at_tip = Y[..., tip_columns(self.model)]
            rigid = Y @ guess.inertial[: Y.shape[-1]] + guess.rotors * qdd + at_tip @ self.payloads[bag]
            if self.loaded[bag]:
                rigid += at_tip @ guess.inertial[-10:]
            both = np.concatenate([qd, np.abs(rigid)], axis=1)
            Z[..., self.base + LOADS] = signed_terms(piece, both, load_columns, before)[inside]
            Z[..., -1] = guess.gain * piece.effort[inside]
            overlap = len(qd) - 2 * piece.edge
            pairs = zip(COULOMB_WIDTHS, before, strict=True)
            before = np.stack([friction.last_direction(qd[:overlap], *pair)[-1] for pair in pairs])
            motion = of_joints.q[inside], of_joints.qd[inside], of_joints.qdd[inside]
            yield Rows(piece.time[inside], Z, *motion, piece.usable[inside], resting)

    def _fixed(self, piece: Piece, Y: Array, bag: int, before: Array) -> Array:
        """Rows (N, n, width), filtered, without load and effort; then the part of the time at rest."""
        (N, n), own, base = piece.q.shape, self.own, self.base
        at_tip = Y[..., tip_columns(self.model)]
        Z = np.zeros((N, n, self.width + 1))
        felt = np.zeros((n, self.width + 1), bool)
        Z[..., :own], felt[:, :base] = Y[..., self.columns], self._parts @ self._felt
        felt[:, own:base] &= self.loaded[bag]
        if self.loaded[bag]:
            Z[..., own:base] = at_tip
        Z[..., base], Z[..., base + 1], Z[..., base + 2] = piece.qdd, piece.qd, 1.0
        felt[:, base : base + SIMPLE] = True
        Z[..., -3], felt[:, -3] = at_tip @ self.payloads[bag], self.payloads[bag].any()
        Z[..., -1], felt[:, -1] = np.abs(piece.qd) < COULOMB_WIDTHS[0], True
        chosen = np.flatnonzero(felt.ravel())
        filtered = np.zeros_like(Z)
        filtered.reshape(N, -1)[:, chosen] = low_pass(Z.reshape(N, -1)[:, chosen], piece.rate, piece.cutoff)
        filtered[..., base + OTHERS] = signed_terms(piece, piece.qd, self._other_columns, before)
        return filtered

    def _other_columns(self, qd: Array, before: Array) -> list[Array]:
        """The terms ``OTHERS`` at speeds (N, n)."""
        speed = np.where(self.speeds > 0.0, self.speeds, 1.0)
        rises = [friction.rise(qd, share * speed) for share in STRIBECK_WIDTHS]
        signs = [friction.smooth_sign(qd, width) for width in COULOMB_WIDTHS]
        return [
            *signs,
            *(sign * rise for sign in signs for rise in rises),
            *(np.abs(sign) for sign in signs),
            *(np.abs(qd), friction.signed_root(qd), *signs_at_rest(qd, signs, before)),
        ]

    def block_of(self, bag: int, time: Array) -> NDArray[np.intp]:
        """The blocks that times [s] of a bag lie in, counted through all bags."""
        seconds = self.store.tracks[bag].seconds or 1.0
        inside = np.clip((time / seconds * self.blocks).astype(np.intp), 0, self.blocks - 1)
        return np.asarray(bag * self.blocks + inside)

    def weighted(self, guess: Guess) -> Iterator[tuple[int, Rows, Array]]:
        """One pass over all bags: the bag's index, rows, and their weights (N, n)."""
        for bag in range(len(self.store.tracks)):
            for rows in self.rows(bag, guess):
                yield bag, rows, weights(rows, guess)

    def accumulated(self, guess: Guess, seen: "Residuals | None" = None) -> Products:
        """One pass: products with the weights that the guess gives. ``seen`` learns the residuals."""
        bags = len(self.store.tracks)
        gram = np.zeros((bags * self.blocks, self.joints, self.width, self.width))
        count = np.zeros((bags * self.blocks, self.joints))
        for bag, rows, weight in self.weighted(guess):
            at = self.block_of(bag, rows.time)
            if seen is not None and guess.coefficients is not None:
                seen.add(rows.residual(guess.coefficients), weight, at, rows.qd)
            for first, last in pairwise([0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)]):
                if last > first:
                    gram[at[first]] += products_of(rows.Z[first:last], weight[first:last])
                    count[at[first]] += weight[first:last].sum(axis=0)
        return Products(gram, count, np.repeat(np.arange(bags), self.blocks))


def products_of(Z: Array, weight: Array) -> Array:
    """The sums of w z z' (n, width, width) over rows Z (N, n, width) with weights (N, n)."""
    return np.asarray(Z.transpose(1, 2, 0) @ (weight.T[..., None] * Z.swapaxes(0, 1)))


def signed_terms(
    piece: Piece, values: Array, columns: Callable[[Array, Array], list[Array]], before: Array
) -> Array:
    """Terms that change with the direction of the speed, and those of its size, filtered: (N, n, terms).

    The sign turns within milliseconds, faster than samples follow each other after decimation. So what the
    ``columns`` are computed from (N, ...), which is smooth, is interpolated back to the recorded rate, or
    ``FINER`` times the rate where that is less, and the terms are decimated and filtered as the measured
    effort was. ``before`` (widths, n): the directions of before.
    """
    N = len(values)
    finer = min(FINER, max(1, round(piece.sampled / piece.rate)))
    if finer > 1:
        values = CubicSpline(np.arange(N), values)(np.arange(finer * N) / finer)
    found = columns(values, before)
    filtered = low_pass(decimated(np.concatenate(found, axis=1), finer), piece.rate, piece.cutoff)
    return np.asarray(filtered.reshape(N, len(found), -1).swapaxes(1, 2))


def extent_of(store: MotionStore) -> Extent:
    """How far the joints moved in all bags."""
    pieces = (piece for track in store.tracks for piece in store.pieces(track))
    ends = np.array([[(x.min(axis=0), x.max(axis=0)) for x in (piece.q, piece.effort)] for piece in pieces])
    (lower, _), (least, _) = ends.min(axis=0)
    (_, upper), (_, most) = ends.max(axis=0)
    changes = most - least > CONSTANT * np.maximum(np.abs(least), np.abs(most))
    return Extent(lower, upper, usual_speeds(store, np.eye(len(lower))), changes)


def usual_speeds(store: MotionStore, coupling: Array) -> Array:
    """The usual largest speed (n,) of drives that turn at C qd."""
    speeds = [
        np.quantile(np.abs(piece.qd[piece.edge : -piece.edge] @ coupling.T), USUALLY, axis=0)
        for track in store.tracks
        for piece in store.pieces(track)
    ]
    return np.asarray(np.max(speeds, axis=0))


def row_step(rate: float, cutoff: float) -> int:
    """Of how many filtered samples one becomes a row."""
    return max(1, int(rate / (PER_CUTOFF * cutoff)))


def weights(rows: Rows, guess: Guess) -> Array:
    """How much each sample of each joint counts, 0 to 1: (N, n).

    0 where the effort was clipped. At rest friction may be anything between plus and minus the stiction f, a
    variance of f^2/3 beside the noise's. Elsewhere the weight of the residual after [Huber1964].
    """
    variance, stiction = guess.sigma**2, guess.stiction**2 / 3
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (variance > 0) & np.isfinite(variance)
        still = np.where(known, variance / (variance + stiction), 1.0)
    weight = rows.usable * (1.0 - rows.resting * (1.0 - still))
    if guess.coefficients is not None:
        bound = HUBER * np.sqrt(variance + rows.resting * stiction)
        size = np.abs(rows.residual(guess.coefficients))
        weight *= np.minimum(1.0, bound / np.maximum(size, 1e-300))
    return np.asarray(weight)


class Memory(NamedTuple):
    """For how long residuals correlate: ``lags`` samples after which one says nothing of the next.

    These are ``SPAN`` times the lag at which the correlation ends. ``each``: how many samples are worth one
    independent one, 1 + 2 (sum of the correlations until they end).
    """

    lags: int = 1
    each: float = 1.0


class Residuals:
    """Residuals in constant memory: their robust scale, and for how long they stay correlated.

    One row in ``every`` is kept as ``sample``: its block, and residuals, weights and speeds (n,) each.
    The scale is the median of |r| times 1.4826, the standard deviation of a normal distribution, from a
    histogram of log |r| that is a percent exact. Autocovariances are summed over windows.
    """

    PER_DECADE, LOWEST, DECADES, LAGS = 200, -9, 15, 256

    def __init__(self, joints: int, every: int = 1) -> None:
        self.every, self.sample = every, list[tuple[Array, ...]]()
        self._counts = np.zeros((joints, self.PER_DECADE * self.DECADES))
        self._products = np.zeros((joints, self.LAGS))

    def add(self, residuals: Array, weight: Array, block: NDArray[np.intp], qd: Array) -> None:
        """Of one window blocks (N,), residuals, their weights and the joints' speeds (N, n)."""
        self.sample.append(tuple(np.asarray(x[:: self.every]) for x in (block, residuals, weight, qd)))
        with np.errstate(divide="ignore"):
            place = (np.log10(np.abs(residuals)) - self.LOWEST) * self.PER_DECADE
        size = self._counts.shape[1]
        bins = np.clip(np.nan_to_num(place, neginf=0.0), 0, size - 1).astype(int)
        for counts, own, used in zip(self._counts, bins.T, weight.T > 0, strict=True):
            counts += np.bincount(own[used], minlength=size)
        spectrum = np.fft.rfft(weight * residuals, 2 * len(residuals), axis=0)
        lags = min(self.LAGS, len(residuals))
        self._products[:, :lags] += np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:lags].T

    def sigma(self) -> Array:
        """The robust scale of each joint: (n,)."""
        total = np.cumsum(self._counts, axis=1)
        half = np.array([np.searchsorted(row, row[-1] / 2) if row[-1] else 0 for row in total])
        return np.asarray(1.4826 * 10 ** ((half + 0.5) / self.PER_DECADE + self.LOWEST))

    def memory(self) -> Memory:
        """For how long residuals correlate, by the median of the joints' autocorrelations."""
        power = self._products[:, 0]
        known = self._products[power > 0] / power[power > 0, None]
        correlation = np.median(known, axis=0) if len(known) else np.eye(1, self.LAGS)[0]
        ended = np.flatnonzero(correlation < UNCORRELATED)
        lags = max(SPAN * PER_CUTOFF, SPAN * int(ended[0] if len(ended) else self.LAGS // SPAN))
        return Memory(lags, float(max(1.0, 1.0 + 2.0 * correlation[1 : lags // SPAN].sum())))
