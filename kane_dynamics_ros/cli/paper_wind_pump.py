"""``kane_dynamics paper wind_pump``: the figures and the table of [WindPump], computed."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kane_dynamics_ros.cli.paper_wind_pump_figures import draw_forces, draw_frequencies, draw_mechanism
from kane_dynamics_ros.elastic.derivation.counting import count_differentiations
from kane_dynamics_ros.elastic.wind_pump.dynamics import LIAISON_FORCES
from kane_dynamics_ros.elastic.wind_pump.parameters import CRANK_SPEED, Lever, Mechanism
from kane_dynamics_ros.elastic.wind_pump.turn import Turn, lever_frequencies, steady_turn

# [WindPump] table 1: elements, Lagrange, Gibbs-Appell, Kane.
TABLE_1 = (
    (5, 288, 120, 10),
    (10, 528, 220, 20),
    (15, 768, 320, 30),
    (20, 1008, 420, 40),
    (25, 1248, 520, 50),
    (30, 1488, 620, 60),
    (40, 1968, 820, 80),
)


def wind_pump(output: Path) -> int:
    """Write the figures to ``output`` and print the liaison forces, frequencies and table 1."""
    pump, lever = Mechanism(), Lever()
    turn = steady_turn(pump)
    plain = lever_frequencies(pump, lever, turn)
    stiffened = lever_frequencies(pump, lever, turn, stiffened=True)
    output.mkdir(parents=True, exist_ok=True)
    figures = {
        "wind_pump_mechanism.png": draw_mechanism(pump, turn),
        "wind_pump_liaison_forces.png": draw_forces(turn),
        "wind_pump_frequencies.png": draw_frequencies(turn, plain, stiffened),
    }
    for name, figure in figures.items():
        figure.savefig(output / name, dpi=110, metadata={"Software": None})
        plt.close(figure)
    print("\n".join([*_forces(turn), "", *_frequencies(plain, stiffened), "", *table_1()]))
    print("\n".join(f"wrote {output / name}" for name in figures))
    return 0


def _forces(turn: Turn) -> list[str]:
    liaison = np.array([loads.liaison for loads in turn.loads])
    torque = [loads.torque for loads in turn.loads]
    lines = [f"liaison forces over a turn at {CRANK_SPEED * 30 / np.pi:.0f} rpm (dimensions: ours)"]
    for name, column in zip(LIAISON_FORCES, liaison.T, strict=True):
        lines.append(f"  {name}  {column.min():9.2f} to {column.max():9.2f} N")
    return [*lines, f"  M_m  {min(torque):9.2f} to {max(torque):9.2f} N m"]


def _frequencies(plain: np.ndarray, stiffened: np.ndarray) -> list[str]:
    lines = ["natural frequencies of the elastic lever over the turn [rad/s]"]
    for name, rows in (("as in the paper", plain), ("with its axial load", stiffened)):
        for mode, column in enumerate(rows.T, 1):
            lines.append(f"  mode {mode}, {name:20} {column.min():10.3f} to {column.max():10.3f}")
    return lines


def table_1(printed: Sequence[tuple[int, int, int, int]] = TABLE_1) -> list[str]:
    """Table 1: differentiations counted for n space elements, and as printed."""
    counts = count_differentiations("space")
    lines = [
        "table 1: differentiations for n space elements; Kane's vector derivatives count once",
        "   n  Lagrange  printed  Gibbs-Appell  printed  Kane  printed  Kane, scalars",
    ]
    for n, *row in printed:
        own = [n * counts[name].calls for name in ("Lagrange", "Gibbs-Appell", "Kane")]
        lines.append(
            f"{n:4d}{own[0]:10d}{row[0]:9d}{own[1]:14d}{row[1]:9d}{own[2]:6d}{row[2]:9d}"
            f"{n * counts['Kane'].scalars:15d}"
        )
    return lines
