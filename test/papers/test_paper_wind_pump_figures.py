"""The wind pump's figures show what they are for: their artists are looked at, not only their files."""

import numpy as np
import pytest

from kane_dynamics_ros.papers.wind_pump_figures import (
    FREE_BODIES,
    POSITIONS,
    draw_forces,
    draw_free_bodies,
    draw_frequencies,
    draw_mechanism,
    points,
)
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    Mechanism,
    MechanismState,
    close_loop,
    external_forces,
    liaison_matrix,
)
from kane_dynamics_ros.papers.wind_pump_turn import steady_turn

PUMP = Mechanism()


@pytest.fixture(scope="module")
def turn():
    return steady_turn(PUMP, samples=49)


def test_points_close_and_the_pendulum_has_its_right_angle():
    at = points(PUMP, MechanismState(0.7, 9.0, 0.5, 0.3))
    np.testing.assert_allclose(at.D, [0.5, PUMP.e], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(at.C - at.C_prime), PUMP.f, rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(at.D - at.C), PUMP.g, rtol=1e-12)
    assert abs((at.C - at.C_prime) @ (at.D - at.C)) < 1e-14


def test_the_mechanism_is_drawn_whole_at_eight_angles(turn):
    (axes,) = draw_mechanism(PUMP, turn).axes
    lines = {}
    for line in axes.lines:
        lines.setdefault(line.get_label(), []).append(line.get_xydata())
    for part in ("crank", "lever", "pendulum", "weight"):
        assert len(lines[part]) == POSITIONS
    angles = sorted(np.degrees(np.arctan2(*line[1][::-1])) % 360 for line in lines["crank"])
    np.testing.assert_allclose(np.diff(angles), 45.0, atol=1e-6)
    for pendulum in lines["pendulum"]:
        assert len(pendulum) == 3  # C', the corner C, D
        assert pendulum[2][1] == pytest.approx(PUMP.e, abs=1e-12)
    assert len(lines["spring"]) == len(lines["wall"]) == 1
    assert [patch.get_label() for patch in axes.patches] == ["slide"]
    assert {text.get_text() for text in axes.texts} == {"A", "B", "C", "C'", "D"}


def test_each_free_body_bears_its_forces(turn):
    """Names, sizes and directions of the arrows, against the rows of the liaison forces in (A43)."""
    figure = draw_free_bodies(PUMP, turn)
    k = len(turn.motions) // 16
    motion, loads = turn.motions[k], turn.loads[k]
    borne = liaison_matrix(PUMP, close_loop(PUMP, motion.phi_1, motion.x_D)) @ np.diag(loads.liaison)
    assert [axes.get_title().partition(",")[0] for axes in figure.axes] == list(FREE_BODIES)
    for n, (axes, forces) in enumerate(zip(figure.axes, FREE_BODIES.values(), strict=True)):
        arrows = {text.get_text(): np.subtract(text.xyann, text.xy) for text in axes.texts}
        assert len(arrows) == 2 * len(forces) + (2 if n == 3 else 1)
        for _, first, _ in forces:
            for axis in range(2):
                column = first + axis
                if n == 3 and axis == 1:
                    continue  # the guide's, which has no row
                size = borne[9 if n == 3 else 3 * n + axis, column]
                (arrow,) = [
                    v
                    for text, v in arrows.items()
                    if text.endswith(f" {abs(size):.0f} N")
                    and np.sign(v[axis]) == np.sign(size)
                    and "G" not in text
                    and "spring" not in text
                ]
                assert arrow[1 - axis] == 0.0
        weight = -external_forces(PUMP, motion, 0.0)[3 * n + 1] if n < 3 else PUMP.mD * 9.81
        assert any(
            "G" in text and text.endswith(f" {weight:.0f} N") and v[1] < 0 for text, v in arrows.items()
        )


def test_forces_and_frequencies_are_those_computed(turn):
    panels = draw_forces(turn).axes
    drawn = np.array([line.get_ydata() for axes in panels[:4] for line in axes.lines])
    np.testing.assert_array_equal(drawn.T, [loads.liaison for loads in turn.loads])
    plain, stiffened = np.random.default_rng(1).uniform(1, 2, (2, len(turn.time), 2))
    figure = draw_frequencies(turn, plain, stiffened)
    drawn = [axes.lines[0] for axes in figure.axes]
    np.testing.assert_array_equal(drawn[0].get_xdata(), turn.time)
    for line, expected in zip(
        drawn, (plain[:, 0], stiffened[:, 0], plain[:, 1], stiffened[:, 1]), strict=True
    ):
        np.testing.assert_array_equal(line.get_ydata(), expected)
