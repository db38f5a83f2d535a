"""Constraints of every kind, what is refused and why, systems of URDFs, and the wind pump's loop."""

from dataclasses import replace

import numpy as np
import pages
import pinocchio
import pytest
import yaml
from example_robots import ROBOTS
from small_urdf import two_joints

from kane_dynamics_ros.papers.wind_pump_mechanism import (
    Mechanism,
    MechanismState,
    PumpMotion,
    close_loop,
)
from kane_dynamics_ros.systems import (
    Body,
    Coincident,
    Coupling,
    Holonomic,
    MultibodyError,
    Nonholonomic,
    NoSlip,
    Perpendicular,
    Point,
    System,
    close,
    complete_speeds,
    constraint_efforts,
    cos,
    energy,
    equations,
    forward_dynamics,
    independent_speeds,
    inverse_dynamics,
    linearise,
    load_system,
    simulate,
    sin,
    verify,
)

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
ROD = {"axis": Y, "mass": 1.0, "com": (0.1, 0, 0), "inertia": (0, 0, 0, 0.01, 0, 0)}


def four_bar() -> System:
    return pages.run_page("four_bar")[0]["four_bar"]


def disk() -> System:
    return pages.run_page("rolling_disk")[0]["system"]


# Constraints: one thing said in two ways is one thing


def test_rolling_written_as_equations_of_speeds_is_rolling():
    """Upright, the speed of the contact is r spin along the heading."""
    q = [0.1, 0.2, 0.3, 0.0, 0.5]
    along = Nonholonomic(lambda q, v: v["x"] - 0.4 * cos(q["heading"]) * v["spin"])
    across = Nonholonomic(lambda q, v: v["y"] - 0.4 * sin(q["heading"]) * v["spin"])
    u = complete_speeds(disk(), q, [0, 0, 0.7, 0.0, 2.0])
    by_speeds = replace(disk(), constraints=(along, across))
    assert complete_speeds(by_speeds, q, u) == pytest.approx(u, abs=1e-12)
    expected = forward_dynamics(disk(), q, u, np.zeros(5))
    assert forward_dynamics(by_speeds, q, u, np.zeros(5)) == pytest.approx(expected, abs=1e-9)


def test_a_speed_that_is_prescribed_is_kept():
    """b(q) of A q' = b: a turntable at 2 rad/s, on which a bead slides outwards, r'' = w^2 r."""
    table = System(
        "turntable",
        (Body("turn", inertia=(0, 0, 0, 0, 0, 1.0)), Body("r", "turn", joint="prismatic", axis=X, mass=0.5)),
        (Nonholonomic(lambda q, v: v["turn"] - 2.0),),
    )
    u = complete_speeds(table, [0, 0.3], [0, 0])
    assert u == pytest.approx([2.0, 0.0])
    assert forward_dynamics(table, [0, 0.3], u, [0, 0]) == pytest.approx([0.0, 4.0 * 0.3])
    assert verify(table, [0.0, 0.3], states=3).maggi < 1e-12


def test_a_coupling_reflects_inertia_by_the_square_of_its_ratio():
    gears = System(
        "gears",
        (Body("load", inertia=(0, 0, 0, 0, 0, 2.0)), Body("rotor", inertia=(0, 0, 0, 0, 0, 0.01))),
        (Coupling("rotor", "load", ratio=-50.0, offset=0.3),),
        independent=("load",),
    )
    q = close(gears, [0.2, 0.0], fixed=["load"])
    assert q[1] == pytest.approx(-50 * 0.2 + 0.3)
    assert forward_dynamics(gears, q, [0, 0], [3.0, 0.0])[0] == pytest.approx(3.0 / (2.0 + 0.01 * 2500))


def test_a_loop_written_as_a_function_of_coordinates_is_the_loop():
    by_pin = four_bar()
    x = Holonomic(
        lambda q: 0.2 * cos(q["drive"]) + 0.6 * cos(q["drive"] + q["elbow"]) - 0.5 - 0.4 * cos(q["swing"])
    )
    z = Holonomic(
        lambda q: 0.2 * sin(q["drive"]) + 0.6 * sin(q["drive"] + q["elbow"]) - 0.4 * sin(q["swing"])
    )
    by_functions = replace(by_pin, constraints=(x, z))
    q = close(by_pin, [-1.0, 0.5, -1.0], fixed=["drive"])
    assert equations.closures(by_functions, q)[0] == pytest.approx(0, abs=1e-12)
    u = complete_speeds(by_pin, q, [1.0, 0, 0])
    tau = [0.3, 0.1, -0.2]
    assert forward_dynamics(by_functions, q, u, tau) == pytest.approx(
        forward_dynamics(by_pin, q, u, tau), rel=1e-9
    )


def test_two_shafts_in_a_universal_joint_turn_as_their_closed_form_says():
    """Perpendicular: the cross's arms, one in each shaft. tan(out) = tan(in) / cos(bend)."""
    bend = 0.4
    tilted = ((np.cos(bend), -np.sin(bend), 0), (np.sin(bend), np.cos(bend), 0), Z)
    shafts = System(
        "universal joint",
        (
            Body("in", axis=X, inertia=(0.1, 0, 0, 0, 0, 0)),
            Body("out", axis=X, rotation=tilted, inertia=(0.2, 0, 0, 0, 0, 0)),
        ),
        (Perpendicular("in", Y, "out", Z),),
        independent=("in",),
    )
    for angle in (0.3, 0.7, 1.2):
        q = close(shafts, [angle, angle], fixed=["in"])
        assert np.tan(q[1]) == pytest.approx(np.tan(angle) / np.cos(bend), rel=1e-9)
    assert verify(shafts, [0.5, 0.5], states=3).multipliers < 1e-12


def test_redundant_constraints_that_agree_change_nothing():
    once = four_bar()
    twice = replace(once, constraints=(*once.constraints, *once.constraints))
    q = close(once, [-1.0, 0.5, -1.0], fixed=["drive"])
    u = complete_speeds(once, q, [1.0, 0, 0])
    assert forward_dynamics(twice, q, u, [1, 0, 0]) == pytest.approx(
        forward_dynamics(once, q, u, [1, 0, 0]), rel=1e-9
    )
    reduced = equations.reduction(twice, equations.state_terms(twice, q, u))
    assert "constraint 2 (Coincident)" in reduced.redundant


def test_constraints_do_no_work():
    system = disk()
    q = [0, 0, 0.2, 0.3, 0]
    u = complete_speeds(system, q, [0, 0, 0.5, 0.4, 9.0])
    assert constraint_efforts(system, q, u, np.zeros(5)) @ u == pytest.approx(0, abs=1e-12)
    assert np.abs(constraint_efforts(system, q, u, np.zeros(5))).max() > 1.0


# Generalized speeds


def test_the_motion_does_not_depend_on_the_choice_of_speeds():
    plain = disk()

    def mixed(q, v):
        return [
            v["x"] + v["y"],
            v["y"],
            v["heading"] * cos(q["lean"]),
            v["lean"] - v["x"],
            v["spin"] * (2 + sin(q["heading"])),
        ]

    chosen = replace(plain, speeds=mixed)
    q = [0.1, 0.2, 0.3, 0.4, 0.5]
    qd = complete_speeds(plain, q, [0, 0, 0.5, 0.4, 2.0])
    u = np.array(
        mixed(dict(zip(plain.coordinates, q, strict=True)), dict(zip(plain.coordinates, qd, strict=True)))
    )
    tau = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    terms = equations.state_terms(chosen, q, u)
    assert terms.qd == pytest.approx(qd)
    qdd = terms.W @ forward_dynamics(chosen, q, u, tau) + terms.W_rate_u
    assert qdd == pytest.approx(forward_dynamics(plain, q, qd, tau), rel=1e-9)
    assert energy(chosen, q, u) == pytest.approx(energy(plain, q, qd))


def test_inverse_dynamics_undoes_forward_dynamics():
    system = disk()
    q = [0, 0, 0.2, 0.3, 0]
    u = complete_speeds(system, q, [0, 0, 0.5, 0.4, 9.0])
    names = independent_speeds(system, q)
    rates = np.array([0.1, -0.2, 0.3])
    tau = inverse_dynamics(system, q, u, rates)
    found = forward_dynamics(system, q, u, tau)
    assert found[[system.coordinates.index(name) for name in names]] == pytest.approx(rates, abs=1e-9)


# Robots


def test_a_robots_whole_tree_is_pinocchios(tmp_path):
    """M and V of every joint of a two-armed robot, torso, grippers and head included."""
    urdf = ROBOTS / "baxter_description/urdf/baxter.urdf"
    system = load_system(urdf)
    model = pinocchio.buildModelFromUrdf(str(urdf))
    data, random = model.createData(), np.random.default_rng(0)
    order = [model.idx_vs[model.getJointId(name)] for name in system.coordinates]
    free = replace(system, constraints=())
    q, qd = random.uniform(-1, 1, (2, model.nv))
    M = pinocchio.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    V = pinocchio.rnea(model, data, q, qd, np.zeros(model.nv))
    terms = equations.state_terms(free, q[order], qd[order])
    assert np.abs(terms.M - M[np.ix_(order, order)]).max() < 1e-12 * np.abs(M).max()
    assert np.abs(terms.V - V[order]).max() < 1e-12 * np.abs(V).max()


def test_loops_of_a_file_close_the_robots(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(two_joints())
    loops = tmp_path / "loops.yaml"
    loops.write_text(yaml.safe_dump({"couplings": [{"follower": "b", "leader": "a", "ratio": -1.0}]}))
    assert close(load_system(urdf, loops), [0.3, 0.0], fixed=["a"]) == pytest.approx([0.3, -0.3])


# The wind pump of the papers: its loop, taken from its dimensions alone


@pytest.mark.parametrize("crank", [0.4, 2.1, 4.0])
def test_the_wind_pumps_slide_accelerates_as_the_papers_projection_says(crank):
    """[WindPump] eq. (A46) with the crank's acceleration 0, and a crank that a constraint keeps steady."""
    pump = Mechanism()
    state = MechanismState(crank, 14.0, 0.52, 0.3)
    angles = close_loop(pump, crank, state.x_D)

    def bar(name, parent, mass, inertia, com, **place):
        return Body(name, parent, axis=Z, mass=mass, com=com, inertia=(0, 0, 0, 0, 0, inertia), **place)

    to_D = pump.h * np.array([np.cos(-pump.psi), np.sin(-pump.psi), 0])
    centre = pump.hg * np.array([np.cos(-pump.psi - pump.xi), np.sin(-pump.psi - pump.xi), 0])
    system = System(
        "wind pump",
        (
            bar("crank", "ground", pump.m1, pump.J1, (pump.a1 * pump.l1, 0, 0)),
            bar("lever", "crank", pump.m2, pump.J2, (pump.a2 * pump.l2, 0, 0), at=(pump.l1, 0, 0)),
            bar("pendulum", "lever", pump.m3, pump.J3, tuple(centre), at=(pump.l2, 0, 0)),
            Body("slide", joint="prismatic", axis=X, at=(0, pump.e, 0), mass=pump.mD),
        ),
        (
            Coincident(Point("pendulum", tuple(to_D)), Point("slide"), along=(X, Y)),
            Nonholonomic(lambda q, v: v["crank"] - state.omega_1, "steady crank"),
        ),
        gravity=(0, -9.81, 0),
        independent=("slide",),
    )
    q = [crank, angles.phi_2 - crank, angles.phi_3 - angles.phi_2, state.x_D]
    assert equations.closures(system, q)[0] == pytest.approx(0, abs=1e-12)
    u = complete_speeds(system, q, [0, 0, 0, state.v_D])
    load = -pump.Fr * np.tanh(state.v_D / pump.v_Fr) - pump.k * (state.x_D - pump.x0)
    assert forward_dynamics(system, q, u, [0, 0, 0, load])[3] == pytest.approx(
        PumpMotion(pump, state).slide_acceleration(), rel=1e-10
    )


# Refusals


def refused(code: str, call, *arguments, **keywords) -> MultibodyError:
    with pytest.raises(MultibodyError) as caught:
        call(*arguments, **keywords)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(
    "bodies",
    [
        (Body("a"), Body("a")),
        (Body("a", "b"), Body("b")),
        (Body("a", axis=(0, 0, 2)),),
        (Body("a", mass=-1.0),),
        (Body("a", inertia=(0, 0, 0, float("nan"), 0, 0)),),
        (Body("a", joint="ball"),),
    ],
    ids=["twice", "parent_after", "long_axis", "negative_mass", "nan", "unknown_joint"],
)
def test_bodies_that_cannot_be_are_refused(bodies):
    refused("bad_body", System, "x", bodies)


@pytest.mark.parametrize(
    "constraint",
    [
        Coincident(Point("b"), Point("a")),
        NoSlip("b", "a", (X,)),
        Coupling("b", "a"),
        Perpendicular("a", X, "b", Y),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_constraints_on_what_is_not_there_are_refused(constraint):
    assert refused("bad_constraint", System, "x", (Body("a"),), (constraint,)).name == "b"


def test_speeds_that_contradict_are_refused():
    system = System(
        "x",
        (Body("a", inertia=(0, 0, 0, 0, 0, 1)),),
        tuple(Nonholonomic(lambda q, v, b=b: v["a"] - b) for b in (1.0, 2.0)),
    )
    assert "2" in refused("contradictory", forward_dynamics, system, [0], [1], [0]).constraint


def test_a_loop_that_cannot_close_says_by_how_much_it_gapes():
    system = System(
        "x",
        (Body("a", **ROD), Body("b", **ROD, at=(1, 0, 0))),
        (Coincident(Point("a", (0.2, 0, 0)), Point("b", (0.3, 0, 0))),),
    )
    error = refused("not_closed", close, system, [0.1, 3.0])
    assert error.gap >= 0.5 - 1e-9  # stretched towards one another they are that far apart


def test_a_flat_parallelogram_is_singular():
    """Its bars in one line it may go on as a parallelogram or cross over."""
    system = System(
        "parallelogram",
        (Body("a", **ROD), Body("c", "a", at=(0.2, 0, 0), **ROD), Body("b", **ROD, at=(0.4, 0, 0))),
        (Coincident(Point("c", (0.4, 0, 0)), Point("b", (0.2, 0, 0))),),
    )
    refused("singular", forward_dynamics, system, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    q = close(system, [-1.0, 1.0, -1.0])
    assert len(independent_speeds(system, q)) == 1


def test_speeds_that_do_not_span_are_refused():
    system = replace(disk(), speeds=lambda q, v: [v["x"], v["x"], v["lean"], v["heading"], v["spin"]])
    refused("speeds", forward_dynamics, system, [0] * 5, [0] * 5, [0] * 5)
    refused(
        "speeds", forward_dynamics, replace(disk(), speeds=lambda q, v: [v["x"]]), [0] * 5, [0] * 5, [0] * 5
    )
    refused("speeds", replace, disk(), independent=("heading", "nobody"))
    refused(
        "singular",
        forward_dynamics,
        replace(disk(), independent=("heading", "lean")),
        [0] * 5,
        [0] * 5,
        [0] * 5,
    )


def test_motion_that_nothing_resists_is_refused():
    refused(
        "no_inertia", forward_dynamics, System("x", (Body("a"), Body("b", **ROD))), [0, 0], [0, 0], [0, 0]
    )


def test_a_start_off_the_constraints_is_refused():
    system = four_bar()
    q = close(system, [-1.0, 0.5, -1.0], fixed=["drive"])
    assert refused("not_closed", simulate, system, q + 0.01, np.zeros(3), 0.1).gap > 1e-3
    refused("contradictory", simulate, system, q, [1.0, 0.0, 0.0], 0.1)


@pytest.mark.parametrize("values", [[0.0], [0.0, np.nan, 0.0], [[0.0] * 3]])
def test_states_of_another_shape_or_not_finite_are_refused(values):
    refused("bad_state", forward_dynamics, four_bar(), values, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(
    "text",
    [
        "loops: 3",
        "loops: [{link_a: one}]",
        "loops: [{link_a: one, link_b: nobody}]",
        "loops: [{link_a: one, link_b: two, at_a: [1, 2]}]",
        "loops: [{link_a: one, link_b: two, at_a: [1, 2, .inf]}]",
        "couplings: [{follower: a, leader: b, ratio: x}]",
        "independent: a",
        "unknown: 1",
        "[",
        "[" * 5000,
        "loops: &a [*a]",
        "x" * 200_000,
    ],
)
def test_files_of_loops_that_make_no_sense_are_refused(tmp_path, text):
    (tmp_path / "arm.urdf").write_text(two_joints())
    (tmp_path / "loops.yaml").write_text(text)
    assert (
        refused("bad_file", load_system, tmp_path / "arm.urdf", tmp_path / "loops.yaml").path.name
        == "loops.yaml"
    )


def test_a_linearised_pendulum_on_a_gear_has_its_closed_form():
    """w^2 = m g l / (m l^2 + k^2 J), the rotor's inertia reflected."""
    system = System(
        "geared pendulum",
        (
            Body("swing", axis=Y, mass=2.0, com=(0, 0, -0.5)),
            Body("rotor", axis=Y, inertia=(0, 0, 0, 0.001, 0, 0)),
        ),
        (Coupling("rotor", "swing", ratio=30.0),),
        independent=("swing",),
    )
    found = np.abs(linearise(system, [0, 0], [0, 0]).eigenvalues().imag).max()
    assert found == pytest.approx(np.sqrt(2.0 * 9.81 * 0.5 / (2.0 * 0.25 + 900 * 0.001)), rel=1e-12)
