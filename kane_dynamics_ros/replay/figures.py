"""The report's figures as SVG text: drawn by matplotlib, thinned so that peaks stay."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import signal

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.comparison import Comparison

BINS = 800  # along the time axis; each keeps its smallest and largest value
SEGMENT = 4.0  # [s] of Welch's segments: 0.25 Hz between lines
TERM_COLOURS = {"inertia": "#d1495b", "coriolis": "#8f5db7", "gravity": "#2e8b57", "friction": "#b8860b"}
MEASURED, PREDICTED, RESIDUAL = "#7a8794", "#1f5fa8", "#c0392b"


def joint_figure(comparison: Comparison, joint: int, unit: str, rate: float) -> str:
    """Measured against predicted, residual, the model's terms, and spectra of one joint."""
    figure = Figure(figsize=(10, 9.5))
    # fixed margins: letting matplotlib find them takes as long as drawing
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.05, top=0.99, hspace=0.35)
    efforts, residuals, terms, spectra = figure.subplots(4, 1, height_ratios=(3, 2, 3, 3))
    measured, predicted = comparison.measured[:, joint], comparison.predicted[:, joint]
    residual = measured - predicted
    _curve(efforts, comparison, measured, "measured", MEASURED, 2.2)
    _curve(efforts, comparison, predicted, "predicted", PREDICTED, 1.0)
    _curve(residuals, comparison, residual, "measured - predicted", RESIDUAL, 0.8)
    for name, values in comparison.terms.items():
        _curve(terms, comparison, values[:, joint], name, TERM_COLOURS[name], 0.9)
    for axes in (efforts, residuals, terms):
        axes.set(xlabel="time since the first stamp [s]", ylabel=f"effort [{unit}]")
        axes.margins(x=0)
    for name, values, colour in (
        ("measured", measured, MEASURED),
        ("predicted", predicted, PREDICTED),
        ("residual", residual, RESIDUAL),
    ):
        _spectrum(spectra, values, rate, name, colour)
    spectra.set(xlabel="frequency [Hz]", ylabel=f"density [({unit})²/Hz]")
    for axes in (efforts, residuals, terms, spectra):
        axes.grid(alpha=0.25)
        axes.legend(loc="upper right", fontsize="small", ncols=4, framealpha=0.8)
    return svg(figure)


def _curve(axes: Axes, comparison: Comparison, values: Array, label: str, colour: str, width: float) -> None:
    """A line that breaks where an interval ends."""
    pieces = np.split(np.arange(len(values)), comparison.joins[1:])
    for i, piece in enumerate(pieces):
        time, thinned = _thinned(comparison.time[piece], values[piece])
        axes.plot(time, thinned, color=colour, linewidth=width, label=label if i == 0 else None)


def _thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """The extremes of each bin, in their order: the eye sees the same line."""
    size = len(values) // BINS
    if size < 4:
        return time, values
    bins = values[: size * BINS].reshape(BINS, size)
    extremes = np.sort(np.stack([bins.argmin(axis=1), bins.argmax(axis=1)], axis=1), axis=1)
    kept = (extremes + size * np.arange(BINS)[:, None]).ravel()
    return time[kept], values[kept]


def _spectrum(axes: Axes, values: Array, rate: float, label: str, colour: str) -> None:
    frequency, power = signal.welch(values, rate, nperseg=min(len(values), int(SEGMENT * rate)))
    shown = power[1:] > 0
    axes.loglog(frequency[1:][shown], power[1:][shown], color=colour, linewidth=1, label=label)


def svg(figure: Figure) -> str:
    """The figure as an <svg> element; text stays text, and equal input gives equal bytes."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "kane_dynamics_ros"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
