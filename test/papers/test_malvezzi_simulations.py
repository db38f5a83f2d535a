"""[Malvezzi2017] figures 2 to 4: the simulations, both ways, and what the paper says of them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import load_robot
from kane_dynamics_ros.formulation.witnesses import lagrange
from kane_dynamics_ros.papers import manipulator_figures
from kane_dynamics_ros.papers.manipulator_figures import inertial_torques
from kane_dynamics_ros.papers.manipulator_simulation import (
    AMPLITUDES,
    FASTER,
    GRAVITY,
    STROKE,
    VARIATIONS,
    forward_simulation,
    inverse_simulation,
    maggi_dae,
    manipulator,
    static_torques,
    there_and_back,
)
from kane_dynamics_ros.share import share_directory

ARM = manipulator(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"))
SAMPLES = 81


@pytest.fixture(scope="module")
def slow():
    return inverse_simulation(ARM, AMPLITUDES, STROKE, SAMPLES)


@pytest.fixture(scope="module")
def fast():
    return inverse_simulation(ARM, AMPLITUDES, STROKE / FASTER, SAMPLES)


@pytest.fixture(scope="module")
def forward():
    return forward_simulation(ARM, SAMPLES)


def test_second_derivatives_of_the_inputs_are_sines():
    t = np.linspace(0.0, 1.0, 9)
    acceleration = there_and_back(t, [1.0], stroke=1.0).acceleration[:, 0]
    assert acceleration == pytest.approx(2 * np.pi * np.sin(2 * np.pi * t), abs=1e-14)


def test_inputs_derivatives_are_their_derivatives():
    t, h = np.linspace(0.05, 1.95, 20), 1e-5
    before, at, after = (there_and_back(time, [1.0], stroke=1.0) for time in (t - h, t, t + h))
    # central differences: error h^2 times the next derivatives, about 1e-8
    assert (after.position - before.position) / (2 * h) == pytest.approx(at.rate, abs=1e-7)
    assert (after.rate - before.rate) / (2 * h) == pytest.approx(at.acceleration, abs=1e-7)


def test_extrema_of_the_inputs_are_inflection_points():
    motion = there_and_back([0.0, 1.0, 2.0], [2.0], stroke=1.0)
    assert motion.position[:, 0] == pytest.approx([0.0, 2.0, 0.0], abs=1e-15)
    assert motion.rate[:, 0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-14)
    assert motion.acceleration[:, 0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-14)


def test_static_torques_hold_the_stretched_arm():
    """Weights 3 kg at 0.5 m, 3 kg at 1.5 m and 1 kg at 2 m from joint 2; 1 m less from joint 3."""
    expected = [0.0, (3 * 0.5 + 3 * 1.5 + 1 * 2.0) * GRAVITY, (3 * 0.5 + 1 * 1.0) * GRAVITY]
    assert static_torques(ARM) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("simulation", ["slow", "fast"])
def test_maggi_as_a_dae_gives_kanes_torques(simulation, request):
    result = request.getfixturevalue(simulation)
    assert result.maggi == pytest.approx(result.kane, abs=1e-11)  # rounding of torques of 100 N m


@pytest.mark.parametrize("simulation", ["slow", "fast"])
def test_the_torques_of_the_figures_are_those_of_lagrange(simulation, request):
    """By the witness that shares no dynamics with either."""
    result = request.getfixturevalue(simulation)
    assert np.max(np.abs(result.motion.position), axis=0) == pytest.approx(np.abs(AMPLITUDES), rel=1e-12)
    for k in range(0, SAMPLES, 10):
        state = (np.asarray(part)[k] for part in result.motion)
        expected = lagrange.inverse_dynamics(ARM.chain, *state, (0.0, 0.0, -GRAVITY), ARM.end_effector)
        assert result.kane[k] == pytest.approx(expected, abs=1e-11)
        assert result.maggi[k] == pytest.approx(expected, abs=1e-11)


def test_maggi_as_a_dae_gives_kanes_motion(forward):
    """Both integrate to 1e-11; the unstable arm amplifies that some hundred times in 2 s."""
    assert forward.maggi == pytest.approx(forward.kane, abs=1e-8)
    assert forward.drift < 1e-9


def test_inertial_torques_scale_with_the_square_of_the_rate(slow, fast):
    scaled = FASTER**2 * inertial_torques(ARM, slow)
    assert inertial_torques(ARM, fast) == pytest.approx(scaled, abs=1e-11)


def test_inertial_torques_grow_towards_the_base(slow, fast):
    for result in (slow, fast):
        largest = np.max(np.abs(inertial_torques(ARM, result)), axis=0)
        assert largest[0] > largest[1] > largest[2]


def test_T1_does_not_enter_the_accelerations_of_the_vertical_plane():
    rng = np.random.default_rng(1)
    q, qd, torques = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(-50, 50, 3)
    with_T1 = ARM.forward_dynamics(q, qd, torques)
    without = ARM.forward_dynamics(q, qd, torques * [0, 1, 1])
    assert with_T1[1:] == pytest.approx(without[1:], abs=1e-12)
    assert abs(with_T1[0] - without[0]) > 0.1


def test_T1_does_move_the_vertical_plane_in_time_through_the_centrifugal_terms(forward):
    """The paper says that it does not; V_2 and V_3 hold gamma_1' squared, so in time it does, a little."""
    without = forward_simulation(ARM, SAMPLES, np.multiply(VARIATIONS, [0, 1, 1]))
    difference = np.max(np.abs(forward.kane - without.kane), axis=0)[1:]
    assert np.all(difference > 1e-4)
    assert np.all(difference < 0.1)


def test_the_daes_acceleration_satisfies_the_constraints():
    rng = np.random.default_rng(2)
    dae = maggi_dae(ARM)
    theta, theta_d, torques = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(-50, 50, 3)
    q = dae.positions(theta)
    acceleration = dae.acceleration(q, dae.rates(q, theta_d), torques)
    assert dae.constraints(q) == pytest.approx(np.zeros(10), abs=1e-14)
    assert acceleration[:3] == pytest.approx(ARM.forward_dynamics(theta, theta_d, torques), rel=1e-11)


def test_the_redundant_rates_are_the_derivatives_of_the_redundant_coordinates():
    dae, h = maggi_dae(ARM), 1e-6
    theta, theta_d = np.array([0.3, -0.5, 0.9]), np.array([0.7, -1.1, 0.4])
    difference = dae.positions(theta + h * theta_d) - dae.positions(theta - h * theta_d)
    # central differences: rounding 1e-16 / 1e-6
    assert dae.rates(dae.positions(theta), theta_d) == pytest.approx(difference / (2 * h), abs=1e-8)


def test_figure_4_draws_the_variation_that_was_asked_for_and_the_motion_it_causes(forward, monkeypatch):
    """T_1 pushes gamma_1 its own way, and the curves are drawn with their signs."""
    middle = SAMPLES // 2
    assert forward.torques[middle] - static_torques(ARM) == pytest.approx(VARIATIONS, abs=1e-12)
    assert forward.kane[-1, 0] * VARIATIONS[0] > 0.0
    drawn = []
    monkeypatch.setattr(manipulator_figures, "_finish", lambda figure, panels, *rest: drawn.extend(panels))
    manipulator_figures.draw_forward(forward, "title", Path("none.png"))
    above, below = drawn
    variation = np.array([line.get_ydata() for line in above.lines]).T
    assert variation == pytest.approx(forward.torques - static_torques(ARM), abs=1e-12)
    motion = np.array([line.get_ydata() for line in below.lines[:3]]).T
    assert motion == pytest.approx(forward.maggi)


def test_the_command_writes_three_figures_and_reports(tmp_path, capsys):
    assert main(["paper", "manipulator_5dof", "--output", str(tmp_path / "figures")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "static torques at zero [N m]:                    0.0000    78.4800    24.5250"
    names = [f"manipulator_5dof_figure_{number}.png" for number in (2, 3, 4)]
    assert lines[-3:] == [f"wrote {tmp_path / 'figures' / name}" for name in names]
    for name in names:
        assert (tmp_path / "figures" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("module", ["manipulator_figures", "wind_pump_figures"])
def test_importing_figures_leaves_the_backend_of_the_importer(module):
    script = (
        "import matplotlib; matplotlib.use('svg'); "
        f"import kane_dynamics_ros.papers.{module}, sys; "
        "assert matplotlib.get_backend() == 'svg' and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
