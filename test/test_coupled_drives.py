"""Coupled drives: the drives turn at C qd, and friction and rotors reach the joints through C^T."""

import pickle

import numpy as np
import pytest
from compilers import C_COMPILER

from kane_dynamics_ros.control.law import Law, TermSwitches, efforts
from kane_dynamics_ros.control.observer import MomentumObserver, ObserverSettings, default_thresholds
from kane_dynamics_ros.friction import ExtraFriction, wrong_coupling
from kane_dynamics_ros.runtime import ParameterError, load_model
from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.friction import Friction, solve_coupled
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.simulation.rollout import simulate

N = 5
WRIST = np.eye(N)  # of a Staubli: the last drive turns with the joint before it, too
WRIST[4, 3] = 1.0
PUMA = np.eye(N)  # three couplings of the wrist
PUMA[3, 2], PUMA[4, 2], PUMA[4, 3] = -0.5, 0.25, 0.2
SCARA = np.eye(N)  # the spindle's turning moves its nut: m/rad
SCARA[2, 3] = -0.004
MATRICES = {"wrist": WRIST, "puma": PUMA, "scara": SCARA}
ROTORS, VISCOUS, COULOMB = (np.array([each] * N) * np.arange(1, N + 1) for each in (0.02, 0.1, 0.3))


needs_a_compiler = pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")


@pytest.fixture(params=[pytest.param("c", marks=needs_a_compiler), "python"])
def backend(request):
    return request.param


def coupled(C, backend="auto"):
    return load_model("manipulator_5dof", backend=backend).with_parameters(
        rotor_inertia=ROTORS, viscous=VISCOUS, coulomb=COULOMB, coupling=C.ravel()
    )


def states(seed=0, N_states=6):
    return np.random.default_rng(seed).normal(size=(3, N_states, N))


@pytest.mark.parametrize("C", MATRICES.values(), ids=MATRICES)
def test_the_efforts_are_those_of_virtual_power(C, backend):
    """One state at a time, by sums over drives: rigid bodies, and each drive's torque times what turns it."""
    model, (q, qd, qdd) = coupled(C, backend), states()
    bare = load_model("manipulator_5dof").with_parameters(rotor_inertia=np.zeros(N))
    expected = bare.inverse_dynamics(q, qd, qdd)
    for k in range(len(q)):
        for drive in range(N):
            speed, acceleration = sum(C[drive] * qd[k]), sum(C[drive] * qdd[k])
            torque = (
                ROTORS[drive] * acceleration
                + VISCOUS[drive] * speed
                + COULOMB[drive] * np.tanh(speed / model.parameters.coulomb_velocity)
            )
            for joint in range(N):
                expected[k, joint] += C[drive, joint] * torque
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(sum(model.terms(q, qd, qdd)), expected, rtol=1e-11, atol=1e-9)
    out = np.zeros(N)
    assert model.inverse_dynamics(q[0], qd[0], qdd[0], out) is out
    np.testing.assert_allclose(out, expected[0], rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("C", MATRICES.values(), ids=MATRICES)
def test_the_other_answers_of_the_model_agree_with_its_efforts(C, backend):
    model, (q, qd, qdd) = coupled(C, backend), states(1)
    tau = model.inverse_dynamics(q, qd, qdd)
    M = model.mass_matrix(q)
    np.testing.assert_allclose(
        np.einsum("tij,tj->ti", M, qdd) + model.bias(q, qd), tau, rtol=1e-10, atol=1e-9
    )
    np.testing.assert_allclose(M @ model.inverse_mass_matrix(q), np.tile(np.eye(N), (6, 1, 1)), atol=1e-9)
    np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), qdd, rtol=1e-8, atol=1e-8)
    energy = np.einsum("ti,tij,tj->t", qd, M, qd) / 2
    np.testing.assert_allclose(model.energy(q, qd).kinetic, energy, rtol=1e-11)
    np.testing.assert_allclose(model.momentum(q, qd)[:, 0], np.einsum("tij,tj->ti", M, qd), rtol=1e-10)
    out = np.zeros((N, N))
    assert model.inverse_mass_matrix(q[0], out) is out


def test_its_derivatives_are_the_slopes_of_its_answers(backend):
    smooth = coupled(PUMA, backend).with_parameters(coulomb_velocity=5.0)
    (q, qd, qdd), step = states(2, 1)[:, 0], 1e-5
    tau = smooth.inverse_dynamics(q, qd, qdd)
    for slopes, answer, last in (
        (smooth.inverse_dynamics_derivatives(q, qd, qdd), smooth.inverse_dynamics, qdd),
        (smooth.forward_dynamics_derivatives(q, qd, tau), smooth.forward_dynamics, tau),
    ):
        for which, slope in enumerate(slopes):
            for j, e in enumerate(step * np.eye(N)):
                ends = [[q, qd] for _ in range(2)]
                ends[0][which], ends[1][which] = ends[0][which] + e, ends[1][which] - e
                up, down = (answer(*end, last) for end in ends)
                # central differences: errors of the order of step^2, and of rounding over step
                np.testing.assert_allclose(slope[:, j], (up - down) / (2 * step), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("C", MATRICES.values(), ids=MATRICES)
def test_friction_takes_power_away_whatever_the_speeds(C):
    random = np.random.default_rng(3)
    beyond = ExtraFriction.of(
        N, load=np.full(N, 0.1), stribeck=0.2 * COULOMB, square_root=np.full(N, 0.3), coupling=C
    )
    qd, load = random.normal(size=(2000, N)), 20 * random.normal(size=(2000, N))
    effort = coupled(C).friction(qd) + beyond.effort(qd, load, 0.01)
    power = (qd * effort).sum(axis=1)
    w = qd @ C.T
    drives = (VISCOUS * w + COULOMB * np.tanh(w / 0.01)) * w
    assert (power >= drives.sum(axis=1)).all()
    assert (power > 0.0).all()


def test_the_load_of_a_drive_is_what_it_carries():
    """A drive that two joints turn carries the second one's load alone; the first one's carries the rest."""
    term = ExtraFriction.of(2, load=np.array([0.1, 0.2]), coupling=np.array([[1.0, 0.0], [1.0, 1.0]]))
    # C^-T (5, 3) = (5 - 3, 3); both drives turn forwards
    found = term.effort(np.ones(2), np.array([5.0, 3.0]), 1e-3)
    np.testing.assert_allclose(found, [0.1 * 2.0 + 0.2 * 3.0, 0.2 * 3.0])


def test_a_model_travels_with_its_coupling():
    again = pickle.loads(pickle.dumps(coupled(WRIST)))
    assert again.parameters.coupling == tuple(WRIST.ravel())
    assert again.without_friction().coupling is not None
    assert again.with_parameters(coupling=()).coupling is None


@pytest.mark.parametrize(
    ("values", "found", "word"),
    [
        ([1.0, 0.0, 0.5], [1.0, 0.0, 0.5], "4 numbers"),
        ([1.0, 0.0, float("nan"), 1.0], float("nan"), "'a' turns the drive of 'b'"),
        ([1.0, 0.0, 1.0, 0.9], 0.9, "'b'"),
        ([1.0, 2.0, 0.5, 1.0], [0.5, 1.0], "'b'"),
    ],
    ids=["length", "not finite", "diagonal", "singular"],
)
def test_a_matrix_that_cannot_be_names_joint_and_value(values, found, word):
    said = wrong_coupling(values, ("a", "b"))
    assert said is not None
    np.testing.assert_equal(said[0], found)
    assert word in said[1]
    assert wrong_coupling([1.0, 0.0, 1.0, 1.0], ("a", "b")) is None


def test_the_model_and_both_nodes_refuse_it():
    pytest.importorskip("rclpy", reason="the nodes' parameters need ROS 2")
    from kane_dynamics_ros.nodes.feedforward import parameters as node
    from kane_dynamics_ros.nodes.hardware import parameters as hardware
    from kane_dynamics_ros.runtime.node_parameters import RosParameterError

    model, wrong = load_model("manipulator_5dof"), WRIST.copy()
    wrong[1, 1] = 2.0
    with pytest.raises(ParameterError) as refused:
        model.with_parameters(coupling=wrong.ravel())
    assert refused.value.found == 2.0
    for table, build in ((node.TABLE, node.build_settings), (hardware.TABLE, hardware.parametrised)):
        values = {each.name: each.default for each in table} | {"plant.rotor_inertia": []}
        values["friction.coupling"] = wrong.ravel().tolist()
        arguments = (values, model) if build is node.build_settings else (model, values)
        with pytest.raises(RosParameterError) as error:
            build(*arguments)
        assert error.value.name == "friction.coupling"
        assert "2.0" in str(error.value)
        assert model.joint_names[1] in str(error.value)


def test_the_nodes_parameters_command_it():
    pytest.importorskip("rclpy", reason="the node's parameters need ROS 2")
    from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_observer, build_settings

    given = {"viscous": VISCOUS, "coulomb": COULOMB, "load": [0.1] * N, "coupling": WRIST.ravel()}
    values = {each.name: each.default for each in TABLE}
    values |= {f"friction.{name}": list(map(float, each)) for name, each in given.items()}
    values |= {"rotor_inertia": ROTORS.tolist(), "mode": "feedforward"}
    settings = build_settings(values, load_model("manipulator_5dof"))
    q, qd, qdd = reference = states(4, 1)[:, 0]
    model = coupled(WRIST)
    load = np.linalg.solve(WRIST.T, model.without_friction().inverse_dynamics(q, qd, qdd))
    by_load = WRIST.T @ (0.1 * np.abs(load) * np.tanh(WRIST @ qd / 0.01))
    found = efforts(settings.law, reference, q, qd)
    np.testing.assert_allclose(found, model.inverse_dynamics(q, qd, qdd) + by_load, rtol=1e-10)
    observer = build_observer(values, settings)
    # at rest, friction may hold all that the drives of a joint hold together
    np.testing.assert_allclose(observer.thresholds.rest, np.abs(WRIST).T @ COULOMB)


def test_the_observer_takes_a_coupled_drive_for_no_contact():
    """Along a motion whose efforts are the coupled model's: the uncoupled one takes them for a contact."""
    model, time = coupled(WRIST), np.arange(2000) * 1e-3
    size = np.linspace(0.3, 0.7, N)
    q, qd, qdd = (size * each for each in sines(time[:, None]))
    tau = model.inverse_dynamics(q, qd, qdd)
    left = []
    for known in (model, model.with_parameters(coupling=())):
        thresholds = default_thresholds(known, np.full(N, 1e3))
        settings = ObserverSettings(known.without_friction(), known, np.full(N, 50.0), thresholds)
        observer, seen = MomentumObserver(settings), []
        for k in range(len(time)):
            observer.update(q[k], qd[k], tau[k], time[k])
            seen.append(observer.residual)
        left.append(np.abs(seen).max(axis=0))
    assert left[0].max() < 0.02 * left[1].max()  # the trapezoid's error where a drive reverses
    assert left[1][3] > COULOMB[4]


def sines(time):
    """Positions, speeds and accelerations of five slow sines."""
    omega = np.array([1.1, 1.7, 2.3, 2.9, 3.7])
    return np.sin(omega * time), omega * np.cos(omega * time), -(omega**2) * np.sin(omega * time)


# The simulated arm


def friction(C, **terms):
    return Friction(VISCOUS, COULOMB, ExtraFriction.of(N, **terms, coupling=C))


def plant_of(C, backend="auto", **terms):
    model = load_model("manipulator_5dof", backend=backend).with_parameters(rotor_inertia=ROTORS)
    return Plant(model, PlantOptions(friction=friction(C, **terms), hard_stops=False))


@needs_a_compiler
@pytest.mark.parametrize("C", MATRICES.values(), ids=MATRICES)
def test_the_compiled_step_is_the_one_in_python(C):
    random = np.random.default_rng(5)
    terms = {"load": np.full(N, 0.05), "stribeck": 0.3 * COULOMB, "stribeck_velocity": np.full(N, 0.2)}
    compiled, plain = plant_of(C, **terms), plant_of(C, "python", **terms)
    assert compiled._compiled is not None
    for plant in (compiled, plain):
        plant.reset(np.array([0.1, 0.8, -0.5, 0.3, 0.2]), np.array([0.5, -0.4, 0.3, 0.8, -1.0]))
    for _ in range(300):
        effort = 3.0 * random.normal(size=N)
        compiled.step(effort)
        plain.step(effort)
    np.testing.assert_allclose(compiled.q, plain.q, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(compiled.qd, plain.qd, rtol=1e-6, atol=1e-7)


def test_a_coupled_wrist_sticks_by_its_drives(backend):
    """Gravity off: an effort at the last joint loads both drives, and both must hold it."""
    model = load_model("manipulator_5dof", backend=backend).with_parameters(
        gravity=(0.0, 0.0, 0.0), rotor_inertia=ROTORS
    )
    plant = Plant(model, PlantOptions(friction=friction(WRIST), hard_stops=False))
    still = np.array([0.0, 0.0, 0.0, 0.0, 0.9 * COULOMB[3]])  # less than either drive's friction
    q = plant.q.copy()
    for _ in range(50):
        plant.step(still)
    np.testing.assert_array_equal(plant.q, q)  # the rest is exact
    # joint 4 breaks loose against drive 4's friction alone; drive 5 stands, so that joint 5 turns back
    push = np.array([0.0, 0.0, 0.0, 1.2 * COULOMB[3], 0.0])
    for _ in range(30):
        plant.step(push)
    assert plant.qd[3] > 0.0
    np.testing.assert_allclose(plant.qd[4], -plant.qd[3], rtol=1e-5)


def test_stops_and_brakes_are_the_joints_own(backend):
    model = load_model("manipulator_5dof", backend=backend).with_parameters(rotor_inertia=ROTORS)
    joints, wrist = model.joints, Friction(VISCOUS, COULOMB, ExtraFriction.of(N, coupling=WRIST))
    locked = Plant(model, PlantOptions(friction=wrist, locked=(joints[3].name,)))
    free = Plant(model, PlantOptions(friction=wrist))
    push, begin = np.array([0.0, 0.0, 0.0, 20.0, 5.0]), locked.q.copy()
    for _ in range(600):
        locked.step(push)
        free.step(push)
    assert locked.q[3] == begin[3]
    assert locked.qd[3] == 0.0
    assert locked.q[4] != begin[4]
    assert free.q[3] == joints[3].upper
    assert free.qd[3] == 0.0


def test_a_light_wrist_at_its_stop_is_as_free_as_it_is_under_a_heavy_base():
    """A joint at its stop, without friction: the speeds of w^T A w / 2 - b^T w where that joint rests."""
    random = np.random.default_rng(3)
    A = np.diag([300.0, 40.0, 1.0, 5e-4, 1e-4])
    K, b = np.linalg.inv(WRIST), random.normal(size=N) * np.diag(A)
    lower, upper = np.full(N, -np.inf), np.full(N, np.inf)
    free = (K @ np.linalg.solve(A, b))[4]
    (lower if free < 0.0 else upper)[4] = 0.0
    whole = np.block([[A, K[4][:, None]], [K[4][None], np.zeros((1, 1))]])
    expected = np.linalg.solve(whole, np.append(b, 0.0))[:N]
    found = solve_coupled(A, b, np.zeros(N), lower, upper, np.zeros(N), K)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_coupling_in_another_order_of_memory_is_the_same():
    C = PUMA.T.copy().T
    assert not C.flags.c_contiguous
    efforts = np.array([0.0, 0.0, 0.0, 3.0, 2.0])
    arms = [
        Plant(load_model("manipulator_5dof"), PlantOptions(friction=friction(each))) for each in (C, PUMA)
    ]
    for arm in arms:
        for _ in range(100):
            arm.step(efforts)
    # without a compiler NumPy sums products in another order; read as its transpose, C would change digits
    np.testing.assert_allclose(arms[0].q, arms[1].q, rtol=1e-14)


def test_a_matrix_of_rows_is_taken_too():
    model = load_model("manipulator_5dof").with_parameters(coupling=WRIST)
    np.testing.assert_array_equal(model.coupling, WRIST)


def test_other_engines_refuse_coupled_drives():
    pytest.importorskip("mujoco")
    from kane_dynamics_ros.share import share_directory
    from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine

    text = (share_directory() / "urdf/manipulator_5dof.urdf").read_text()
    with pytest.raises(SimulationError, match="coupled"):
        MujocoEngine(text, load_model("manipulator_5dof"), PlantOptions(friction=friction(WRIST)))


def test_the_law_compensates_a_coupled_arm_in_closed_loop():
    """Tracking of slow sines by weak gains: with the coupling in the law, what remains is a tenth."""
    errors = []
    for C in (WRIST, None):
        known = coupled(WRIST) if C is not None else coupled(WRIST).with_parameters(coupling=())
        gains = np.full(N, 25.0), np.full(N, 10.0)
        law = Law("computed_torque", known, *gains, TermSwitches())
        hardware = SimulatedHardware(plant_of(WRIST))

        def reference(time):
            return np.array([0.4 * each for each in sines(np.array(time))])

        hardware.engine.reset(*reference(0.0)[:2])

        def command(wanted, q, qd, law=law):
            return efforts(law, wanted, q, qd)

        run = simulate(known, command, reference, 4.0, hardware)
        wanted = np.array([reference(t)[0] for t in run.time])
        errors.append(np.sqrt(np.mean((run.q - wanted) ** 2, axis=0)))
    assert errors[0][3] < 0.1 * errors[1][3]
    assert errors[0].max() < 0.1 * errors[1].max()
