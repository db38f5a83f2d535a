"""Generated modules of robots with closed loops, against the systems' own equations and Pinocchio's tree."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from kane_dynamics_ros.cli import verify
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.verify import CHECKS
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, parse_robot
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.systems import MultibodyError, close, complete_speeds, energy, simulate
from kane_dynamics_ros.systems.closed_chain import closed_chain, sample, speed_warnings, trials
from kane_dynamics_ros.systems.closed_functions import derive_closed

BAR = (
    '<inertial><origin xyz="{x} 0 {z}"/><mass value="{m}"/>'
    '<inertia ixx="0.002" ixy="0" ixz="0.0003" iyy="{J}" iyz="0" izz="{J}"/></inertial>'
)


def bar(name, x, m, z=0.0):
    return f'<link name="{name}">{BAR.format(x=x, z=z, m=m, J=m * x * x / 3)}</link>'


def joint(name, parent, child, at, limits="", kind="revolute", axis="0 1 0"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="{axis}"/>{limits}</joint>'
    )


def limits(lower, upper):
    return f'<limit lower="{lower}" upper="{upper}" effort="300" velocity="9"/>'


ANY = limits(-3, 3)
BASE = '<link name="base"/>'
FOUR_BAR = [
    BASE,
    bar("crank", 0.1, 1.0),
    bar("coupler", 0.3, 2.0, 0.05),
    bar("rocker", 0.2, 1.5),
    joint("drive", "base", "crank", "0 0 0", limits(-3, 0.5)),
    joint("elbow", "crank", "coupler", "0.2 0 0", ANY),
    joint("swing", "base", "rocker", "0.5 0 0", ANY),
]
FOUR_BAR_LOOPS = {
    "loops": [{"link_a": "coupler", "at_a": [0.6, 0, 0], "link_b": "rocker", "at_b": [0.4, 0, 0]}],
    "independent": ["drive"],
    "posture": {"drive": -1.0, "elbow": 0.5, "swing": -1.0},
}
SLIDER_CRANK = [
    BASE,
    bar("crank", 0.05, 1.0),
    bar("rod", 0.15, 0.5, 0.02),
    bar("piston", 0.02, 1.5),
    '<link name="pin"/>',
    joint("turn", "base", "crank", "0 0 0", kind="continuous"),
    joint("knuckle", "crank", "rod", "0.1 0 0", kind="continuous"),
    joint("slide", "base", "piston", "0 0 0", limits(0, 1), "prismatic", "1 0 0"),
    joint("bolt", "piston", "pin", "0 0 0.01", kind="fixed"),
]
SLIDER_CRANK_LOOPS = {
    "loops": [
        {"link_a": "rod", "at_a": [0.3, 0, 0], "link_b": "pin", "along": [[1, 0, 0], [0, 0, 1]]},
    ],
    "independent": ["turn"],
    "posture": {"turn": 0.3, "knuckle": -0.3, "slide": 0.4},
}
PALLETISER = [
    BASE,
    bar("column", 0.05, 12.0, 0.2),
    bar("upper", 0.25, 8.0),
    bar("fore", 0.3, 5.0),
    bar("lever", 0.07, 1.0),
    bar("rod", 0.25, 1.5),
    bar("tool", 0.1, 3.0),
    joint("turret", "base", "column", "0 0 0", limits(-3, 3), axis="0 0 1"),
    joint("shoulder", "column", "upper", "0.1 0 0.4", limits(-1.7, -0.9)),
    joint("elbow", "upper", "fore", "0.5 0 0", ANY),
    joint("motor", "column", "lever", "0.1 0 0.4", limits(-0.4, 0.4)),
    joint("knuckle", "lever", "rod", "0.15 0 0", ANY),
    joint("wrist", "fore", "tool", "0.6 0 0", ANY),
]
PALLETISER_LOOPS = {
    "loops": [{"link_a": "rod", "at_a": [0.5, 0, 0], "link_b": "fore", "at_b": [0.15, 0, 0]}],
    "couplings": [{"follower": "wrist", "leader": "motor", "ratio": -1.0, "offset": 0.1}],
    "independent": ["turret", "shoulder", "motor"],
    "posture": {"shoulder": -1.2, "elbow": 1.0, "motor": -0.2, "knuckle": -1.0},
}
GEARS = [
    BASE,
    bar("wheel", 0.1, 2.0),
    bar("arm", 0.2, 1.0, 0.05),
    joint("motor", "base", "wheel", "0 0 0", ANY),
    joint("belt", "wheel", "arm", "0.3 0 0", ANY),
]
GEARS_LOOPS = {"couplings": [{"follower": "belt", "leader": "motor", "ratio": -2.0, "offset": 0.3}]}
ROBOTS = {
    "gears": (GEARS, GEARS_LOOPS),
    "four_bar": (FOUR_BAR, FOUR_BAR_LOOPS),
    "slider_crank": (SLIDER_CRANK, SLIDER_CRANK_LOOPS),
    "palletiser": (PALLETISER, PALLETISER_LOOPS),
}


def robot_of(parts, name="closed"):
    return parse_robot(f'<robot name="{name}">{"".join(parts)}</robot>')


@pytest.fixture(scope="module", params=ROBOTS)
def made(request, tmp_path_factory):
    """The closed chain, its closed postures, and its model in C and in Python."""
    parts, loops = ROBOTS[request.param]
    closed = closed_chain(robot_of(parts, request.param), loops)
    module, *_ = write_module(derive_closed(closed), request.param, tmp_path_factory.mktemp("module"))
    return closed, sample(closed), load_model(module), load_model(module, backend="python")


def states(closed, samples, count=6):
    return list(trials(closed, samples, count, seed=3))


def test_the_module_has_the_systems_efforts_and_accelerations(made):
    """Loops closed by Newton's method and a plain sum over bodies there; a series and the tree's here."""
    closed, samples, *models = made
    for q, qd, qdd, tau in states(closed, samples):
        for model in models:
            size = 1e-10 * (1 + abs(tau).max())
            np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), tau, rtol=1e-10, atol=size)
            np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), qdd, rtol=1e-9, atol=1e-9)


def full_state(closed, samples, q, qd):
    """The system's coordinates and speeds at independent ones."""
    names, system = closed.tree.coordinates, closed.system
    place = {r: system.coordinates.index(name) for r, name in enumerate(names)}
    posture = closed.start.copy()
    for part in samples:
        own = [closed.independent.index(r) for r in part.independent]
        row = np.argmin(np.abs(part.q - q[own]).sum(axis=1))
        posture[[place[r] for r in part.dependent]] = part.y[row]
    posture[[place[r] for r in closed.independent]] = q
    posture = close(system, posture, fixed=closed.names)
    speeds = np.zeros(len(posture))
    speeds[[place[r] for r in closed.independent]] = qd
    return posture, complete_speeds(system, posture, speeds)


def test_energy_tip_and_momentum_belong_to_the_same_motion(made):
    closed, samples, model, _ = made
    for q, qd, qdd, tau in states(closed, samples, 3):
        posture, u = full_state(closed, samples, q, qd)
        kinetic, potential = energy(closed.system, posture, u)
        found = model.energy(q, qd)
        assert (found.kinetic, found.potential) == pytest.approx((kinetic, potential), rel=1e-10, abs=1e-10)
        p, flow = model.momentum(q, qd)
        M = model.mass_matrix(q)
        np.testing.assert_allclose(p, M @ qd, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.kinetic, qd @ M @ qd / 2, rtol=1e-10)
        C = model.coriolis(q, qd)
        np.testing.assert_allclose(flow, C.T @ qd - model.gravity(q), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(C @ qd + model.gravity(q), model.bias(q, qd), rtol=1e-9, atol=1e-9)
        Y = model.regressor(q, qd, qdd)
        np.testing.assert_allclose(Y @ model.inertial_parameters, tau, rtol=1e-9, atol=1e-9)


def slopes(function, q, step=1e-6):
    moves = step * np.eye(len(q))
    return np.stack([(function(q + d) - function(q - d)) / (2 * step) for d in moves], axis=-1)


WRENCH = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])


def test_derivatives_and_jacobians_are_the_slopes_of_the_values(made):
    closed, samples, model, _ = made
    for state in states(closed, samples, 2):
        check_slopes(model, *state)


def check_slopes(model, q, qd, qdd, tau):
    close_to = {"rtol": 1e-5, "atol": 1e-5 * (1 + abs(tau).max())}
    by_q, by_qd = model.inverse_dynamics_derivatives(q, qd, qdd)
    np.testing.assert_allclose(by_q, slopes(lambda x: model.inverse_dynamics(x, qd, qdd), q), **close_to)
    np.testing.assert_allclose(by_qd, slopes(lambda x: model.inverse_dynamics(q, x, qdd), qd), **close_to)
    by_q, by_qd = model.forward_dynamics_derivatives(q, qd, tau)
    found = slopes(lambda x: model.forward_dynamics(x, qd, tau), q)
    np.testing.assert_allclose(by_q, found, rtol=1e-4, atol=1e-4 * (1 + abs(found).max()))
    J = model.tip_jacobian(q)
    np.testing.assert_allclose(J[3:], slopes(lambda x: model.tip_pose(x)[:3, 3], q), atol=1e-7)
    JC = model.center_of_mass_jacobian(q)
    np.testing.assert_allclose(JC, slopes(model.center_of_mass, q), atol=1e-7)
    for frame in ("tip", "root"):
        R = np.eye(3) if frame == "root" else model.tip_pose(q)[:3, :3]
        power = J[3:].T @ (R @ WRENCH[:3]) + J[:3].T @ (R @ WRENCH[3:])
        np.testing.assert_allclose(model.external_effort(q, WRENCH, frame=frame), power, atol=1e-10)
        by_q = model.external_effort_derivatives(q, WRENCH, frame=frame)
        found = slopes(lambda x, frame=frame: model.external_effort(x, WRENCH, frame=frame), q)
        np.testing.assert_allclose(by_q, found, atol=1e-6)


def test_passive_joints_bear_no_torque_about_their_axes_and_driven_ones_their_effort(made):
    """Of the joint reactions, the loops' forces included; with a wrench on the tip too."""
    closed, samples, model, _ = made
    joints = {joint.name: k for k, joint in enumerate(closed.tree.joints)}
    for q, qd, qdd, tau in states(closed, samples, 2):
        for given in (None, WRENCH):
            reactions = model.reaction_wrenches(q, qd, qdd, wrench=given)
            for name in closed.followers:
                joint = closed.tree.joints[joints[name]]
                part = reactions[joints[name]][: 3 if joint.kind == "prismatic" else None]
                along = part if joint.kind == "prismatic" else part[3:]
                assert along @ joint.axis == pytest.approx(0.0, abs=1e-9 * (1 + abs(tau).max()))


def test_payload_gravity_and_batches_work_as_with_any_module(made):
    closed, samples, model, python = made
    q, qd, qdd, tau = (np.array(rows) for rows in zip(*states(closed, samples, 4), strict=True))
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), tau, rtol=1e-10, atol=1e-9)
    changes = {"payload": Payload(2.0, (0.1, 0.0, 0.05)), "gravity": (1.0, 2.0, -3.0)}
    loaded, other = model.with_parameters(**changes), python.with_parameters(**changes)
    found = loaded.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(found, other.inverse_dynamics(q, qd, qdd), rtol=1e-12, atol=1e-12)
    for at in q:
        weight = slopes(lambda x: np.array(loaded.energy(x, 0.0 * x).potential), at)
        np.testing.assert_allclose(loaded.gravity(at), weight, rtol=1e-6, atol=1e-6)


def test_the_simulated_arm_swings_as_the_system_does(made):
    """Ten thousandths of a second at 0.1 ms: the plant's step is of fourth order."""
    closed, samples, model, _ = made
    q, qd, _, _ = states(closed, samples, 1)[0]
    free = PlantOptions(1e-4, friction=Friction.none(len(q)), hard_stops=False)
    plant = Plant(model, free)
    plant.reset(q, 0.1 * qd)
    for _ in range(100):
        plant.step(np.zeros(len(q)))
    posture, u = full_state(closed, samples, q, 0.1 * qd)
    run = simulate(closed.system, posture, u, 0.01, samples=3)
    own = [closed.system.coordinates.index(name) for name in closed.names]
    np.testing.assert_allclose(plant.q, run.q[-1, own], atol=1e-9)
    np.testing.assert_allclose(plant.qd, run.u[-1, own], atol=1e-7)


@pytest.fixture(scope="module")
def rubbing(tmp_path_factory):
    """The four-bar whose passive joints rub, and its model in C and in Python."""
    dynamics = '<dynamics damping="0.7" friction="1.5"/></joint>'
    parts = [
        part.replace("</joint>", dynamics) if 'name="elbow"' in part or 'name="swing"' in part else part
        for part in FOUR_BAR
    ]
    closed = closed_chain(robot_of(parts, "rubbing"), FOUR_BAR_LOOPS)
    module, *_ = write_module(derive_closed(closed), "rubbing", tmp_path_factory.mktemp("module"))
    return closed, sample(closed), load_model(module), load_model(module, backend="python")


def test_friction_of_joints_that_follow_acts_by_virtual_power(rubbing):
    """Their efforts times their speeds, as ``systems`` closes the loop, are the drive's times its own."""
    closed, samples, *models = rubbing
    for q, qd, qdd, tau in states(closed, samples):
        _, u = full_state(closed, samples, q, qd)
        followers = u[[closed.system.coordinates.index(name) for name in closed.followers]]
        power = sum(0.7 * s * s + 1.5 * np.tanh(s / 0.01) * s for s in followers)
        for model in models:
            assert [joint.name for joint in model.followers] == ["elbow", "swing"]
            loaded = model.with_urdf_friction()
            found = loaded.inverse_dynamics(q, qd, qdd)
            assert (found - tau) @ qd == pytest.approx(power, rel=1e-9)
            np.testing.assert_allclose(loaded.forward_dynamics(q, qd, found), qdd, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(loaded.friction_at(q, qd), found - tau, rtol=1e-8)
            terms, without = loaded.terms(q, qd, qdd), model.terms(q, qd, qdd)
            np.testing.assert_allclose(terms.friction, found - tau, rtol=1e-8)
            np.testing.assert_allclose(terms.coriolis, without.coriolis, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(
                loaded.without_friction().inverse_dynamics(q, qd, qdd), tau, rtol=1e-10
            )


def test_friction_of_joints_that_follow_has_its_derivatives_and_batches(rubbing):
    """Near rest, where the smooth sign is steep: the width is a hundredth of the speed."""
    closed, samples, model, _ = rubbing
    loaded = model.with_urdf_friction().with_parameters(coulomb_velocity=1.0)
    q, qd, qdd, _ = (np.array(rows) for rows in zip(*states(closed, samples, 3), strict=True))
    tau = loaded.inverse_dynamics(q, qd, qdd)
    for state in zip(q, qd, qdd, tau, strict=True):
        check_slopes(loaded, *state)
    np.testing.assert_allclose(loaded.friction_at(q, qd), tau - model.inverse_dynamics(q, qd, qdd), rtol=1e-8)


def test_passive_joints_bear_their_friction_about_their_axes(rubbing):
    closed, samples, model, _ = rubbing
    loaded = model.with_urdf_friction()
    q, qd, qdd, _ = states(closed, samples, 1)[0]
    _, u = full_state(closed, samples, q, qd)
    reactions = loaded.reaction_wrenches(q, qd, qdd)
    for name in closed.followers:
        number = [joint.name for joint in closed.tree.joints].index(name)
        speed = u[closed.system.coordinates.index(name)]
        resisting = -0.7 * speed - 1.5 * np.tanh(speed / 0.01)
        about = reactions[number][3:] @ closed.tree.joints[number].axis
        assert about == pytest.approx(resisting, rel=1e-8)


def test_the_simulated_linkage_loses_what_its_passive_joints_rub(rubbing):
    """Without a drive, over 20 ms: the power that the joints take, integrated by the trapezoidal rule."""
    closed, samples, model, _ = rubbing
    loaded = model.with_urdf_friction()
    plant = Plant(loaded, PlantOptions(1e-4, friction=Friction.none(1), hard_stops=False))
    q, qd, _, _ = states(closed, samples, 1)[0]
    plant.reset(q, qd)
    before, lost = sum(model.energy(q, qd)), []
    for _ in range(200):
        lost.append(float(loaded.friction_at(plant.q, plant.qd) @ plant.qd))
        plant.step(np.zeros(1))
    lost.append(float(loaded.friction_at(plant.q, plant.qd) @ plant.qd))
    after = sum(model.energy(plant.q, plant.qd))
    assert before - after == pytest.approx(np.trapezoid(lost, dx=1e-4), rel=1e-3)
    assert before - after > 1e-3


# Refusals


def refused(parts, loops):
    with pytest.raises(MultibodyError) as caught:
        derive_closed(closed_chain(robot_of(parts), loops))
    return caught.value


def test_a_range_over_which_the_loop_does_not_close_is_refused():
    """The crank is longer than the others let it turn."""
    short = {**FOUR_BAR_LOOPS, "loops": [{**FOUR_BAR_LOOPS["loops"][0], "at_b": [0.25, 0, 0]}]}
    error = refused(FOUR_BAR, short)
    assert error.code == "not_closed"


def test_a_dead_point_within_the_limits_is_refused():
    """The slide drives the crank over the posture in which rod and crank are in one line, at 0.4 m."""
    parts = [
        part.replace('upper="1"', 'upper="0.39995"').replace('lower="0"', 'lower="0.3"')
        for part in SLIDER_CRANK
    ]
    loops = {**SLIDER_CRANK_LOOPS, "independent": ["slide"]}
    assert refused(parts, loops).code in ("singular", "not_closed")


def test_a_joint_that_follows_beyond_its_limits_is_refused():
    tight = [
        part.replace('upper="3"', 'upper="1.2"') if 'name="elbow"' in part else part for part in FOUR_BAR
    ]
    error = refused(tight, FOUR_BAR_LOOPS)
    assert (error.code, error.joint) == ("beyond_limits", "elbow")


def test_a_joint_that_follows_too_fast_is_named():
    """The slider's speed at constant crank speed in closed form, its pin 10 mm off the crank's axis."""
    slow = limits(0, 1).replace('velocity="9"', 'velocity="0.5"')
    parts = [part.replace(limits(0, 1), slow) if 'name="slide"' in part else part for part in SLIDER_CRANK]
    parts[5] = joint("turn", "base", "crank", "0 0 0", '<limit effort="9" velocity="10"/>', "continuous")
    closed = closed_chain(robot_of(parts), SLIDER_CRANK_LOOPS)
    (warning,) = speed_warnings(closed, sample(closed))
    a = np.linspace(-np.pi, np.pi, 100001)
    s, c = np.sin(a), np.cos(a)
    off = 0.1 * s + 0.01
    fastest = np.abs(10 * (0.1 * s + off * 0.1 * c / np.sqrt(0.3**2 - off**2))).max()
    assert "'slide'" in warning
    assert float(warning.split("up to ")[1].split()[0]) == pytest.approx(fastest, rel=1e-3)
    parts[7] = parts[7].replace('velocity="0.5"', 'velocity="2"')
    closed = closed_chain(robot_of(parts), SLIDER_CRANK_LOOPS)
    assert speed_warnings(closed, sample(closed)) == []


def test_a_number_of_independent_joints_that_the_loops_do_not_leave_is_refused():
    error = refused(FOUR_BAR, {**FOUR_BAR_LOOPS, "independent": ["drive", "elbow"]})
    assert error.code in ("singular", "not_closed")


# The commands


def test_generate_and_verify_take_a_file_of_loops(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.urdf").write_text(f'<robot name="bar">{"".join(FOUR_BAR)}</robot>')
    (tmp_path / "loops.yaml").write_text(yaml.safe_dump(FOUR_BAR_LOOPS))
    assert main(["generate", "bar.urdf", "--loops", "loops.yaml", "--no-compile"]) == 0
    said = capsys.readouterr().out
    assert "joints (root to tip): drive\njoints that follow by loops: elbow, swing\n" in said
    assert "their friction, follower_viscous" in (tmp_path / "bar.h").read_text()
    assert main(["verify", "bar.py", "--urdf", "bar.urdf", "--backend", "python", "--states", "4"]) == 0
    checks = capsys.readouterr().out
    assert "  sum over bodies" in checks
    assert "  mass matrix, by columns" in checks
    compared, omitted = checks.split("not compared: payloads, friction, ")
    assert omitted == f"{', '.join(CHECKS)}\nverified\n"
    assert not any(f"  {name} " in compared for name in CHECKS)
    other = (tmp_path / "bar.urdf").read_text().replace('value="2.0"', 'value="2.1"')
    (tmp_path / "other.urdf").write_text(other)
    assert main(["verify", "bar.py", "--urdf", "other.urdf", "--backend", "python"]) == 2
    assert "another robot" in capsys.readouterr().err
    assert main(["generate", "bar.urdf", "--loops", "loops.yaml", "--lock", "swing=0"]) == 2
    assert "--lock" in capsys.readouterr().err


def test_verify_sees_a_small_error_of_a_small_mechanism(tmp_path, monkeypatch, capsys):
    """Efforts of some uN m, one part in a million wrong under gravity of another direction."""
    monkeypatch.chdir(tmp_path)
    text = re.sub(
        r'(mass value|i[xyz]{2})="([^"]+)"', lambda m: f'{m[1]}="{float(m[2]) * 1e-6}"', "".join(FOUR_BAR)
    )
    (tmp_path / "bar.urdf").write_text(f'<robot name="bar">{text}</robot>')
    (tmp_path / "loops.yaml").write_text(yaml.safe_dump(FOUR_BAR_LOOPS))
    assert main(["generate", "bar.urdf", "--loops", "loops.yaml", "--no-compile"]) == 0
    words = ["verify", "bar.py", "--urdf", "bar.urdf", "--backend", "python", "--states", "3"]
    assert main(words) == 0

    def wrong(closed, *arguments):
        part = 1e-6 * (closed.system.gravity != (0, 0, -9.81))
        for q, qd, qdd, tau in trials(closed, *arguments):
            yield q, qd, qdd, (1.0 + part) * tau

    monkeypatch.setattr(verify, "closed_trials", wrong)
    capsys.readouterr()
    assert main(words) == 1
    assert "TOO LARGE" in capsys.readouterr().out


def test_the_same_input_gives_the_same_bytes(tmp_path):
    texts = []
    for folder in ("one", "two"):
        closed = closed_chain(robot_of(FOUR_BAR), FOUR_BAR_LOOPS)
        files = write_module(derive_closed(closed), "bar", tmp_path / folder)
        texts.append([file.read_bytes() for file in files])
    assert texts[0] == texts[1]


def test_the_shipped_example_closes():
    folder = Path(__file__).parents[2] / "examples" / "four_bar"
    closed = closed_chain(load_robot(folder / "four_bar.urdf"), folder / "loops.yaml")
    assert (closed.names, closed.followers) == (("drive",), ("elbow", "swing"))
