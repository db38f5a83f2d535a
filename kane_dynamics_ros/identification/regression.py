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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag

from kane_dynamics_ros import friction
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification.recordings import MotionStore, Piece, Track
from kane_dynamics_ros.replay.correlation import SPAN, UNCORRELATED
from kane_dynamics_ros.replay.messages import Mask
from kane_dynamics_ros.replay.motion import decimated, low_pass
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.parameters import find_base_parameters

WINDOW = 4096  # samples whose regressor is held at once: some ten MB
PER_CUTOFF = 4  # samples kept a period of the cut-off: the low-pass leaves nothing between them
COULOMB_WIDTHS = (0.01, 0.03, 0.1)  # [rad/s] or [m/s]; the first is the run-time model's default
STRIBECK_WIDTHS = (0.05, 0.15, 0.4)  # of the joint's usual largest speed
SIMPLE = ("rotor", "viscous", "offset")
STANDS = 0.01  # [rad/s] or [m/s]: a joint that is usually slower stands still
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
    """One kind of column of a joint.

    ``width`` distinguishes the candidates of v_c, ``stribeck`` those of v_s.
    """

    name: str
    width: int = 0
    stribeck: int = 0


def all_terms() -> tuple[Term, ...]:
    """Every candidate column of a joint, in order: without a sign, by the speed's direction, by its sign."""
    widths, fractions = range(len(COULOMB_WIDTHS)), range(len(STRIBECK_WIDTHS))
    return (
        *(Term(name) for name in SIMPLE),
        *(Term(name) for name in ("viscous_asymmetry", "square_root")),
        *(Term(name, width) for name in ("coulomb", "load", "coulomb_asymmetry") for width in widths),
        *(Term("stribeck", width, fraction) for width in widths for fraction in fractions),
    )


TERMS = all_terms()


@dataclass(frozen=True)
class RowLayout:
    """Where columns lie. A joint's row is [base columns | ``TERMS`` | known effort | measured effort].

    ``columns``: the base columns among the 10 a body; ``map`` (b, 10 bodies): the base columns' parameters
    from the bodies'; ``felt`` (n, b): which base columns a joint feels at all; ``speeds`` (n,): each joint's
    usual largest speed. ``load``: an unknown body at the tip in some bags has the last ten of all of these.
    """

    columns: NDArray[np.intp]
    map: Array
    felt: Mask
    speeds: Array
    load: bool = False

    @property
    def base(self) -> int:
        """How many base columns."""
        return len(self.map)

    @property
    def width(self) -> int:
        """Columns of a row, the last two included."""
        return self.base + len(TERMS) + 2


def layout_of(model: DynamicsModel, speeds: Array, load: bool = False) -> RowLayout:
    """The layout for a model."""
    n = len(model.joint_names)
    base = find_base_parameters(model.regressor, n)
    states = np.random.default_rng(1).uniform(-np.pi, np.pi, (3, 8 * n, n))
    size = np.abs(model.regressor(*states)).max(axis=0)
    felt, combine = size[:, base.columns], base.map
    if load:
        felt, combine = (
            np.concatenate([felt, size[:, tip_columns(model)]], axis=1),
            block_diag(combine, np.eye(10)),
        )
    return RowLayout(base.columns, combine, felt > 1e-9 * felt.max(initial=0.0), np.asarray(speeds), load)


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


@dataclass(frozen=True)
class Regression:
    """The motion, and the model that it is regressed on: what stays the same through all passes.

    ``payloads`` (bags, 10): of each bag a known body at the tip, in its body's frame; ``loaded`` (bags,)
    whether it carries the unknown one. ``blocks``: of time, of each bag.
    """

    store: MotionStore
    model: DynamicsModel
    layout: RowLayout
    payloads: Sequence[Array]
    loaded: Sequence[bool]
    blocks: int

    def rows(self, bag: int, guess: Guess, wide: bool = False) -> Iterator[Rows]:
        """All rows of a bag, a window at a time; ``wide``: of its last part, at twice the cut-off."""
        track: Track | None = self.store.tracks[bag]
        track = track.wide if wide and track else track
        if track is not None:
            for piece in self.store.pieces(track, WINDOW):
                yield self._rows(piece, guess, self.payloads[bag], self.loaded[bag])

    def _rows(self, piece: Piece, guess: Guess, payload: Array, loaded: bool) -> Rows:
        layout = self.layout
        moving = (
            layout.speeds >= STANDS
        )  # what remains of a joint at rest is noise, and would pass for motion
        piece = replace(piece, qd=np.where(moving, piece.qd, 0.0), qdd=np.where(moving, piece.qdd, 0.0))
        Y = self.model.regressor(piece.q, piece.qd, piece.qdd)
        N, n = piece.q.shape
        own = len(layout.columns)
        at_tip = Y[..., tip_columns(self.model)]
        known = at_tip @ payload
        rigid = Y @ guess.inertial[: Y.shape[-1]] + guess.rotors * piece.qdd + known
        first = layout.base + len(SIMPLE)
        Z = np.zeros((N, n, layout.width))
        Z[..., :own] = Y[..., layout.columns]
        if layout.load and loaded:
            Z[..., own : layout.base] = at_tip
            rigid += at_tip @ guess.inertial[-10:]
        Z[..., layout.base], Z[..., layout.base + 1], Z[..., layout.base + 2] = piece.qdd, piece.qd, 1.0
        Z[..., -2] = known
        felt = np.ones((n, layout.width), bool)
        felt[:, : layout.base] = layout.felt
        felt[:, own : layout.base] &= loaded
        felt[:, first:] = False
        felt[:, -2] = payload.any()
        flat, chosen = Z.reshape(N, -1), np.flatnonzero(felt.ravel())
        inside = slice(piece.edge, N - piece.edge, row_step(piece.rate, piece.cutoff))
        filtered = np.zeros((len(piece.time[inside]), flat.shape[1]))
        filtered[:, chosen] = low_pass(flat[:, chosen], piece.rate, piece.cutoff)[inside]
        Z = filtered.reshape(-1, n, layout.width)
        Z[..., first:-2] = self._friction(piece, rigid)[inside]
        Z[..., -1] = guess.gain * piece.effort[inside]
        slow = np.abs(piece.qd) < COULOMB_WIDTHS[0]
        resting = np.clip(low_pass(slow.astype(float), piece.rate, piece.cutoff), 0.0, 1.0)
        return Rows(piece.time[inside], Z, piece.qd[inside], piece.usable[inside], resting[inside])

    def _friction(self, piece: Piece, rigid: Array) -> Array:
        """The terms that change with the direction of the speed, filtered: (N, n, terms).

        The sign turns within milliseconds, faster than samples follow each other after decimation. So the
        speed, which is smooth, is interpolated back to the recorded rate, or ``FINER`` times the rate where
        that is less, and the terms are decimated and filtered as the measured effort was.
        """
        N, n = piece.qd.shape
        finer = min(FINER, max(1, round(piece.sampled / piece.rate)))
        smooth = np.concatenate([piece.qd, np.abs(rigid)], axis=1)
        if finer > 1:
            smooth = CubicSpline(np.arange(N), smooth)(np.arange(finer * N) / finer)
        qd, load = smooth[:, :n], smooth[:, n:]
        speed = np.where(self.layout.speeds > 0.0, self.layout.speeds, 1.0)
        rises = [friction.rise(qd, share * speed) for share in STRIBECK_WIDTHS]
        signs = [friction.smooth_sign(qd, width) for width in COULOMB_WIDTHS]
        columns = [
            *(np.abs(qd), friction.signed_root(qd)),
            *signs,
            *(sign * load for sign in signs),
            *(np.abs(sign) for sign in signs),
            *(sign * rise for sign in signs for rise in rises),
        ]
        fine = np.concatenate(columns, axis=1)
        filtered = low_pass(decimated(fine, finer), piece.rate, piece.cutoff)
        return np.asarray(filtered.reshape(N, len(columns), n).swapaxes(1, 2))

    # Passes

    def block_of(self, bag: int, time: Array) -> NDArray[np.intp]:
        """The blocks that times [s] of a bag lie in, counted through all bags."""
        seconds = self.store.tracks[bag].seconds or 1.0
        inside = np.clip((time / seconds * self.blocks).astype(np.intp), 0, self.blocks - 1)
        return np.asarray(bag * self.blocks + inside)

    def visit(self, guess: Guess, each: "Visit") -> None:
        """One pass: ``each`` gets the bag's index, the rows and their weights."""
        for bag in range(len(self.store.tracks)):
            for rows in self.rows(bag, guess):
                each(bag, rows, weights(rows, guess))

    def accumulated(self, guess: Guess, seen: "Residuals | None" = None) -> "Products":
        """One pass over all bags: products with the weights that the guess gives.

        ``seen`` learns the residuals.
        """
        shape = (len(self.store.tracks) * self.blocks, len(self.model.joint_names))
        gram, count = np.zeros((*shape, self.layout.width, self.layout.width)), np.zeros(shape)

        def add(bag: int, rows: Rows, weight: Array) -> None:
            if seen is not None and guess.coefficients is not None:
                seen.add(residual(rows, guess.coefficients), weight)
            at = self.block_of(bag, rows.time)
            for first, last in pairwise([0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)]):
                for j in range(shape[1] if last > first else 0):
                    Z = rows.Z[first:last, j]
                    gram[at[first], j] += Z.T @ (weight[first:last, j, None] * Z)
                    count[at[first], j] += weight[first:last, j].sum()

        self.visit(guess, add)
        return Products(gram, count, np.repeat(np.arange(len(self.store.tracks)), self.blocks))

    @property
    def row_rate(self) -> float:
        """Rows a second of the first bag [Hz]."""
        track = self.store.tracks[0]
        return track.rate / row_step(track.rate, track.cutoff)


def row_step(rate: float, cutoff: float) -> int:
    """Of how many filtered samples one becomes a row."""
    return max(1, int(rate / (PER_CUTOFF * cutoff)))


Visit = Callable[[int, Rows, Array], None]


@dataclass(frozen=True)
class Products:
    """``gram`` (blocks, n, width, width): sums of w z z' over each block of time of each bag.

    ``count`` (blocks, n): sums of w. ``bag`` (blocks,): each block's.
    """

    gram: Array
    count: Array
    bag: NDArray[np.intp]


def weights(rows: Rows, guess: Guess) -> Array:
    """How much each sample of each joint counts, 0 to 1: (N, n).

    0 where the effort was clipped. At rest friction may be anything between plus and minus the stiction f, a
    variance of f^2/3 beside the noise's. Elsewhere the weight of the residual after [Huber1964].
    """
    weight = np.array(rows.usable)
    variance = guess.sigma**2
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (variance > 0) & np.isfinite(variance)
        still = np.where(known, variance / (variance + guess.stiction**2 / 3), 1.0)
    weight *= 1.0 - rows.resting * (1.0 - still)
    if guess.coefficients is not None:
        size = np.abs(residual(rows, guess.coefficients))
        bound = HUBER * np.sqrt(variance + rows.resting * guess.stiction**2 / 3)
        weight *= np.minimum(1.0, bound / np.maximum(size, 1e-300))
    return weight


def residual(rows: Rows, coefficients: Array) -> Array:
    """Measured minus known minus modelled effort: (N, n)."""
    predicted = np.einsum("tjk,jk->tj", rows.Z[..., :-2], coefficients)
    return np.asarray(rows.Z[..., -1] - rows.Z[..., -2] - predicted)


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
        bins = np.clip(np.nan_to_num(place, neginf=0.0), 0, self._counts.shape[1] - 1).astype(int)
        for j in range(len(self._counts)):
            chosen = bins[weight[:, j] > 0, j]
            self._counts[j] += np.bincount(chosen, minlength=self._counts.shape[1])
        size = len(residuals)
        spectrum = np.fft.rfft(weight * residuals, 2 * size, axis=0)
        lags = min(self.LAGS, size)
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

    def memory(self) -> int:
        """Samples after which a residual says nothing of the next.

        ``SPAN`` times the lag at which the correlation ends.
        """
        ended = np.flatnonzero(self.correlations() < UNCORRELATED)
        return max(SPAN * PER_CUTOFF, SPAN * int(ended[0] if len(ended) else self.LAGS // SPAN))

    def samples_each(self) -> float:
        """How many samples are worth one independent one: 1 + 2 (sum of the correlations until they end)."""
        correlation = self.correlations()
        return float(max(1.0, 1.0 + 2.0 * correlation[1 : self.memory() // SPAN].sum()))
