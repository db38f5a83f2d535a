"""A fast turning beam needs geometric stiffening: the spin-up manoeuvre of Kane, Ryan and Banerjee (1987).

    python examples/rotating_beam/rotating_beam.py --output OUT

Prints the first flapping frequency of a turning cantilever beside the published one, and draws it and the
spin-up with and without the stiffness of the axial load.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kane_dynamics_ros.elastic.body import clamped, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import (
    RigidMotion,
    axial_load,
    coefficients,
    geometric_stiffness,
    natural_frequencies,
)
from kane_dynamics_ros.elastic.link import BeamRates
from kane_dynamics_ros.elastic.stepping import State, beam_step, sample_time

PUBLISHED = {0: 3.5160, 1: 3.6816, 2: 4.1373, 3: 4.7973, 4: 5.5850}  # Wright et al. 1982, no hub
UNIT = BeamRates(m=1.0, my=1e-8, mz=1e-8, ry=0.0, rz=0.0, EA=1e6, GJ=1.0, EIy=1.0, EIz=1.0)
SPUN = BeamRates(m=1.2, my=6e-4, mz=6e-4, ry=0.0, rz=0.0, EA=2.8e7, GJ=1.4e4, EIy=1.4e4, EIz=1.4e4)
LENGTH, SPEED, RISE, UNTIL = 10.0, 6.0, 15.0, 20.0  # [m], [rad/s], [s], [s]


def flapping_frequency(speed: float, stiffened: bool) -> float:
    """First frequency across the plane of rotation of a unit cantilever of ten elements."""
    body = clamped(straight_beam("space", UNIT, 1.0, 10))
    body = restrict(body, [number for number in body.free if number % 6 not in (2, 4)])
    motion = RigidMotion(np.zeros(3), np.array([0.0, 0.0, speed]), np.zeros(3))
    system = coefficients(body, motion)
    k = system.k + (geometric_stiffness(body, axial_load(body, motion)) if stiffened else 0.0)
    return float(natural_frequencies(system.m, k)[0])


def spin_up(stiffened: bool, h: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Time [s] and the tip's displacement across the beam [m]; it ends where it passes half the length."""
    body = clamped(straight_beam("plane", SPUN, LENGTH, 10))
    state, times, tip = State(*np.zeros((3, len(body.free)))), [0.0], [0.0]
    for i in range(round(UNTIL / h)):
        t = sample_time(i * h, h, 0.9)
        turn = 2 * math.pi * min(t, RISE) / RISE
        omega = SPEED / RISE * (min(t, RISE) - RISE / (2 * math.pi) * math.sin(turn))
        epsilon = SPEED / RISE * (1 - math.cos(turn))
        motion = RigidMotion(np.zeros(3), np.array([0.0, 0.0, omega]), np.array([0.0, 0.0, epsilon]))
        system = coefficients(body, motion)
        if stiffened:
            system = system._replace(k=system.k + geometric_stiffness(body, axial_load(body, motion)))
        state = beam_step(state, system, h, 0.9)
        times.append((i + 1) * h)
        tip.append(state.x[-2])
        if abs(tip[-1]) > LENGTH / 2:
            break
    return np.array(times), np.array(tip)


def draw() -> Figure:
    """Both results side by side."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    speeds = np.linspace(0.0, 4.0, 33)
    for stiffened, name, colour in ((True, "with the axial load", "#1f5fa8"), (False, "without", "#d9731a")):
        left.plot(speeds, [flapping_frequency(s, stiffened) for s in speeds], color=colour, label=name)
        right.plot(*spin_up(stiffened), color=colour, label=name)
    left.plot(list(PUBLISHED), list(PUBLISHED.values()), "ko", ms=5, label="Wright et al. 1982")
    left.set(xlabel="speed, in sqrt(EI / m L^4)", ylabel="first flapping frequency")
    right.set(xlabel="time [s]", ylabel="tip across the beam [m]", ylim=(-2.0, 1.0))
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    return figure


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("."))
    output = parser.parse_args().output
    print("speed  computed  published")
    for speed, published in PUBLISHED.items():
        print(f"{speed:5d}{flapping_frequency(speed, True):10.4f}{published:11.4f}")
    output.mkdir(parents=True, exist_ok=True)
    path = output / "rotating_beam.png"
    draw().savefig(path, dpi=110, metadata={"Software": None})
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
