"""The wind pump's figures show what they are for: their artists are looked at, not only their files."""

import io

import numpy as np
import pytest

from kane_dynamics_ros.papers.wind_pump_figures import (
    POSITIONS,
    draw_forces,
    draw_free_bodies,
    draw_frequencies,
    draw_mechanism,
    free_bodies,
)
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    Mechanism,
    close_loop,
    points,
)
from kane_dynamics_ros.papers.wind_pump_turn import steady_turn

PUMP = Mechanism()


@pytest.fixture(scope="module")
def turn():
    return steady_turn(PUMP, samples=49)


def test_points_close_and_the_pendulum_has_its_right_angle():
    at = points(PUMP, 0.7, 0.5)
    np.testing.assert_allclose(at.D, [0.5, PUMP.e], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(at.C - at.C_prime), PUMP.f, rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(at.D - at.C), PUMP.g, rtol=1e-12)
    first, second = at.C - at.C_prime, at.D - at.C
    assert abs(first @ second) < 1e-14
    assert first[0] * second[1] - first[1] * second[0] > 0.0  # (21): CD is C'C turned by +90 degrees


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
    (slide,) = axes.patches
    at = points(PUMP, turn.motions[0].phi_1, turn.motions[0].x_D)  # drawn last, and not faint
    np.testing.assert_allclose(lines["crank"][-1], [at.A, at.B])
    wall, half = at.D + np.array([0.12, 0.0]), np.array([0.0, 0.025])
    np.testing.assert_allclose(lines["spring"][0][[0, -1]], [at.D, wall])
    np.testing.assert_allclose(lines["wall"][0], [wall - half, wall + half])
    assert slide.get_label() == "slide"
    np.testing.assert_allclose(slide.get_center(), at.D)
    named = {text.get_text(): tuple(text.xy) for text in axes.texts}
    places = {"A": at.A, "B": at.B, "C": at.C, "C'": at.C_prime, "D": at.D}
    assert named == {name: pytest.approx(tuple(place)) for name, place in places.items()}


@pytest.mark.parametrize("k", [3, 10, 29, 41])
def test_the_drawn_forces_add_up_to_mass_times_acceleration_of_every_body(turn, k):
    """The accelerations are second differences of the positions, the moments the bodies' angular ones."""
    motion, loads = turn.motions[k], turn.loads[k]
    slide, step = loads.accelerations[1], 1e-4

    def everything(t):
        x = motion.x_D + motion.v_D * t + slide * t**2 / 2
        phi_1 = motion.phi_1 + motion.omega_1 * t
        centres = points(PUMP, phi_1, x).centres
        return np.array([*centres.ravel(), x, PUMP.e, *close_loop(PUMP, phi_1, x)])

    second = (everything(step) - 2 * everything(0.0) + everything(-step)) / step**2
    places = everything(0.0)[:8].reshape(4, 2)
    masses, inertias = (PUMP.m1, PUMP.m2, PUMP.m3, PUMP.mD), (PUMP.J1, PUMP.J2, PUMP.J3)
    for n, forces in enumerate(free_bodies(PUMP, motion, loads).values()):
        total = np.sum([force.vector for force in forces], axis=0)
        np.testing.assert_allclose(total, masses[n] * second[2 * n : 2 * n + 2], atol=1e-4)
        arms = [(force.at - places[n], force.vector) for force in forces]
        moment = sum(a[0] * f[1] - a[1] * f[0] for a, f in arms) + (loads.torque if n == 0 else 0.0)
        if n < 3:
            assert moment == pytest.approx(inertias[n] * second[8 + n], abs=1e-5)


def test_the_slide_bears_spring_resistance_and_guide(turn):
    """The spring pulls towards x0, the pump's resistance acts against the motion."""
    motion, loads = turn.motions[10], turn.loads[10]
    forces = {force.name: force.vector for force in free_bodies(PUMP, motion, loads)["slide D"]}
    assert set(forces) == {"X_{D}", "Y_{D}", "G_{D}", "F_s", "F_r", "N"}
    assert forces["F_s"][0] == pytest.approx(PUMP.k * (PUMP.x0 - motion.x_D))
    assert forces["F_r"][0] == pytest.approx(-PUMP.Fr * np.tanh(motion.v_D / PUMP.v_Fr))
    assert forces["F_r"][0] * motion.v_D < 0.0


def test_every_force_of_a_free_body_is_drawn_with_its_direction_and_size(turn):
    figure = draw_free_bodies(PUMP, turn)
    k = len(turn.motions) // 16
    for axes, (name, forces) in zip(
        figure.axes, free_bodies(PUMP, turn.motions[k], turn.loads[k]).items(), strict=True
    ):
        assert axes.get_title().startswith(name)
        arrows = {text.get_text().split("$")[1]: text for text in axes.texts}
        assert len(arrows) == len(axes.texts) == len(forces)
        for force in forces:
            text, size = arrows[force.name], np.linalg.norm(force.vector)
            assert text.get_text().endswith(f" {size:.0f} N")
            np.testing.assert_allclose(text.xy, force.at)
            along = np.subtract(text.xyann, text.xy)
            np.testing.assert_allclose(along / np.linalg.norm(along), force.vector / size, atol=1e-9)


def test_no_title_of_the_frequencies_is_wider_than_its_panel(turn):
    figure = draw_frequencies(turn, *np.ones((2, len(turn.time), 2)))
    figure.savefig(io.BytesIO(), dpi=110)
    for axes in figure.axes:
        assert axes.title.get_window_extent().width <= axes.get_window_extent().width


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
