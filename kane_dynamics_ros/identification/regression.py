"""Regress: the linear model of joint efforts, and its normal equations over bags of any length.

Effort of joint j at one instant,

    tau_j = Y_j(q, qd, qdd) pi + I_j qdd_j + friction_j(qd_j, tau_rigid,j)

is linear in the inertial parameters pi (Y in its base columns [GautierKhalil1990]) and in the coefficients of
the joint's own terms: rotor inertia, and those of the formula in ``kane_dynamics_ros.friction``. Its widths
v_c and v_s are no coefficients: every candidate is a column of its own, and data choose among them.

Every column goes through the filter that the measured effort went through. A window of the motion at a time
becomes products, joint by joint and in blocks of time: that is all that fitting, choosing and
cross-validating need.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag

from kane_dynamics_ros import friction
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification.recordings import MotionStore, Piece
from kane_dynamics_ros.replay.correlation import SPAN, UNCORRELATED
from kane_dynamics_ros.replay.motion import decimated, low_pass
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.parameters import find_base_parameters

# Terms of a joint: no sign, the speed's sign, its direction.
FAMILIES = (
    *("rotor", "viscous", "offset", "coulomb", "load", "stribeck"),
    *("coulomb_asymmetry", "viscous_asymmetry", "square_root"),
)
WITH_SIGN = ("coulomb", "load", "stribeck", "coulomb_asymmetry")
SIMPLE = 3  # families, the first ones, that are filtered at the analysis rate
COULOMB_WIDTHS = (0.01, 0.03, 0.1)  # [rad/s] or [m/s]; the first is the run-time model's default
STRIBECK_WIDTHS = (0.05, 0.15, 0.4)  # of the joint's usual largest speed
WINDOW = 4096  # samples whose regressor is held at once: some ten MB
PER_CUTOFF = 4  # samples kept a period of the cut-off: the low-pass leaves nothing between them
STANDS = 0.01  # [rad/s] or [m/s]: a joint that is usually slower stands still
USUALLY = 0.95  # of the time a joint is slower than its usual largest speed
FINER = 8  # samples for one at which terms with a sign are evaluated
HUBER = 3.0  # residuals beyond so many standard deviations count only by their size, not by its square


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let BLAS use one thread inside, where threadpoolctl is there to tell it.

    Matrices of a hundred rows are done before a second thread wakes up; on a machine that is busy otherwise,
    waiting for it took four times as long as the work.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield


# Columns


class Term(NamedTuple):
    """A candidate column of a joint; ``width`` distinguishes those of v_c, ``rise`` those of v_s."""

    family: str
    width: int | None = None
    rise: int | None = None


TERMS = tuple(
    Term(family, width, rise)
    for family in FAMILIES
    for width in (range(len(COULOMB_WIDTHS)) if family in WITH_SIGN else (None,))
    for rise in (range(len(STRIBECK_WIDTHS)) if family == "stribeck" else (None,))
)


def chosen_terms(width: int, rise: int) -> list[int]:
    """The places in ``TERMS`` of one column for each of ``FAMILIES``, in their order.

    >>> [TERMS[k].family for k in chosen_terms(0, 2)] == list(FAMILIES)
    True
    """
    return [k for k, term in enumerate(TERMS) if term.width in (None, width) and term.rise in (None, rise)]


def tip_columns(model: DynamicsModel) -> slice:
    """Where the ten parameters lie of the body that has the tip."""
    return slice(10 * model.tip_body, 10 * model.tip_body + 10)


# Rows


class Rows(NamedTuple):
    """Filtered rows of a window of N samples, n joints.

    ``time`` (N,), ``Z`` (N, n, width), ``qd``, ``usable``, ``resting`` (N, n).
    """

    time: Array
    Z: Array
    qd: Array
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
    """How far the joints moved, each (n,): ``lower`` and ``upper`` positions, and the usual largest speed."""

    lower: Array
    upper: Array
    speeds: Array


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
    ) -> None:
        """``payloads`` (bags, 10): of each bag a known body at the tip, in its body's frame.

        ``loaded`` (bags,): whether it carries the unknown one. ``blocks``: of time, of each bag.
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

    @property
    def row_rate(self) -> float:
        """Rows a second of the first bag [Hz]."""
        track = self.store.tracks[0]
        return track.rate / row_step(track.rate, track.cutoff)

    def rows(self, bag: int, guess: Guess, wide: bool = False) -> Iterator[Rows]:
        """All rows of a bag, a window at a time; ``wide``: of its last part, at twice the cut-off."""
        track = self.store.tracks[bag].wide if wide else self.store.tracks[bag]
        for piece in self.store.pieces(track, WINDOW) if track else ():
            yield self._rows(piece, guess, self.payloads[bag], self.loaded[bag])

    def _rows(self, piece: Piece, guess: Guess, payload: Array, loaded: bool) -> Rows:
        # what remains of a joint at rest is noise, and would pass for motion
        qd, qdd = (np.where(self.extent.speeds >= STANDS, each, 0.0) for each in (piece.qd, piece.qdd))
        Y = self.model.regressor(piece.q, qd, qdd)
        at_tip = Y[..., tip_columns(self.model)]
        known = at_tip @ payload
        rigid = Y @ guess.inertial[: Y.shape[-1]] + guess.rotors * qdd + known
        (N, n), own, base = piece.q.shape, self.own, self.base
        Z = np.zeros((N, n, self.width))
        Z[..., :own] = Y[..., self.columns]
        if loaded:
            Z[..., own:base] = at_tip
            rigid += at_tip @ guess.inertial[-10:]
        Z[..., base], Z[..., base + 1], Z[..., base + 2] = qdd, qd, 1.0
        Z[..., -2] = known
        felt = np.zeros((n, self.width), bool)
        felt[:, :base] = self._felt
        felt[:, own:base] &= loaded
        felt[:, base : base + SIMPLE] = True
        felt[:, -2] = payload.any()
        inside = slice(piece.edge, N - piece.edge, row_step(piece.rate, piece.cutoff))
        chosen = np.flatnonzero(felt.ravel())
        filtered = np.zeros((len(piece.time[inside]), felt.size))
        filtered[:, chosen] = low_pass(Z.reshape(N, -1)[:, chosen], piece.rate, piece.cutoff)[inside]
        Z = filtered.reshape(-1, n, self.width)
        Z[..., base + SIMPLE : -2] = self._friction(piece, qd, rigid)[inside]
        Z[..., -1] = guess.gain * piece.effort[inside]
        slow = low_pass((np.abs(qd) < COULOMB_WIDTHS[0]).astype(float), piece.rate, piece.cutoff)
        resting = np.clip(slow[inside], 0.0, 1.0)
        return Rows(piece.time[inside], Z, qd[inside], piece.usable[inside], resting)

    def _friction(self, piece: Piece, qd: Array, rigid: Array) -> Array:
        """The terms that change with the direction of the speed, filtered: (N, n, terms).

        The sign turns within milliseconds, faster than samples follow each other after decimation. So the
        speed, which is smooth, is interpolated back to the recorded rate, or ``FINER`` times the rate where
        that is less, and the terms are decimated and filtered as the measured effort was.
        """
        N, n = qd.shape
        finer = min(FINER, max(1, round(piece.sampled / piece.rate)))
        smooth = np.concatenate([qd, np.abs(rigid)], axis=1)
        if finer > 1:
            smooth = CubicSpline(np.arange(N), smooth)(np.arange(finer * N) / finer)
        qd, load = smooth[:, :n], smooth[:, n:]
        speed = np.where(self.extent.speeds > 0.0, self.extent.speeds, 1.0)
        rises = [friction.rise(qd, share * speed) for share in STRIBECK_WIDTHS]
        signs = [friction.smooth_sign(qd, width) for width in COULOMB_WIDTHS]
        columns = [
            *signs,
            *(sign * load for sign in signs),
            *(sign * rise for sign in signs for rise in rises),
            *(np.abs(sign) for sign in signs),
            *(np.abs(qd), friction.signed_root(qd)),
        ]
        fine = decimated(np.concatenate(columns, axis=1), finer)
        filtered = low_pass(fine, piece.rate, piece.cutoff)
        return np.asarray(filtered.reshape(N, len(columns), n).swapaxes(1, 2))

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
            if seen is not None and guess.coefficients is not None:
                seen.add(rows.residual(guess.coefficients), weight)
            at = self.block_of(bag, rows.time)
            for first, last in pairwise([0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)]):
                Z, w = rows.Z[first:last], weight[first:last]
                for j in range(self.joints if last > first else 0):
                    gram[at[first], j] += Z[:, j].T @ (w[:, j, None] * Z[:, j])
                    count[at[first], j] += w[:, j].sum()
        return Products(gram, count, np.repeat(np.arange(bags), self.blocks))


def extent_of(store: MotionStore) -> Extent:
    """How far the joints moved in all bags."""
    pieces = [
        (piece.q.min(axis=0), piece.q.max(axis=0), np.quantile(np.abs(piece.qd[inside]), USUALLY, axis=0))
        for track in store.tracks
        for piece in store.pieces(track)
        for inside in [slice(piece.edge, -piece.edge)]
    ]
    lower, upper, speeds = (np.array(each) for each in zip(*pieces, strict=True))
    return Extent(lower.min(axis=0), upper.max(axis=0), speeds.max(axis=0))


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

    The scale is the median of |r| times 1.4826, the standard deviation of a normal distribution, from a
    histogram of log |r| that is a percent exact. Autocovariances are summed over windows.
    """

    PER_DECADE, LOWEST, DECADES, LAGS = 200, -9, 15, 256

    def __init__(self, joints: int) -> None:
        self._counts = np.zeros((joints, self.PER_DECADE * self.DECADES))
        self._products = np.zeros((joints, self.LAGS))

    def add(self, residuals: Array, weight: Array) -> None:
        """Residuals (N, n) of one window and their weights."""
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

    def correlations(self) -> Array:
        """The autocorrelation at each lag, the median over joints: (lags,)."""
        power = self._products[:, 0]
        known = self._products[power > 0] / power[power > 0, None]
        return np.asarray(np.median(known, axis=0)) if len(known) else np.eye(1, self.LAGS)[0]

    def memory(self) -> Memory:
        """For how long residuals correlate."""
        correlation = self.correlations()
        ended = np.flatnonzero(correlation < UNCORRELATED)
        lags = max(SPAN * PER_CUTOFF, SPAN * int(ended[0] if len(ended) else self.LAGS // SPAN))
        return Memory(lags, float(max(1.0, 1.0 + 2.0 * correlation[1 : lags // SPAN].sum())))
