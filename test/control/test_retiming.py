"""The fastest timing of a path: closed forms, linear programs by another solver, other libraries' torques."""

import math
from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from example_robots import ROBOTS
from joints import point, request
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.sparse import lil_matrix
from small_urdf import joint, link, robot

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.joint_path import curves_of, divided
from kane_dynamics_ros.control.law import Law, TermSwitches, efforts_by_term
from kane_dynamics_ros.control.plan import Rules, hold_at, replan, sample
from kane_dynamics_ros.control.retiming import RetimingLimits, fastest, urdf_limits
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryError
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant
from kane_dynamics_ros.simulation.rollout import simulate

ARM = load_model("manipulator_5dof").with_urdf_friction()
WAYPOINTS = [(0.0, 0.9, -1.2, 0.3, 0.5), (0.8, 0.5, -1.0, 0.0, 0.0), (1.6, 1.0, -1.6, -0.5, 0.5)]
STEP_NS = 100_000  # [ns]: 10 kHz
ROUNDING = 1e-6  # of a limit: the trajectory's times are whole nanoseconds


def through(points, names=ARM.joint_names):
    """A request of positions, whose times mean nothing."""
    return request(*(point(0.0, q) for q in points), names=names)


def model_of(urdf, folder, tip=None):
    robot_ = load_robot(urdf) if not isinstance(urdf, str) else load_robot(_written(urdf, folder))
    module, *_ = write_module(derive(serial_chain(robot_, tip)), "arm", folder)
    return load_model(module, backend="python")


def _written(text, folder):
    path = folder / "arm.urdf"
    path.write_text(text)
    return path


def sampled(motion, model, step_ns=STEP_NS):
    """What the controller's own interpolation makes of the motion: times [s], states (N, 3, n)."""
    wanted = motion.request(model)
    plan = replan(hold_at(motion.q[0], 0), wanted, model.joints, 0, Rules())
    times = np.arange(0, motion.times_ns[-1] + step_ns, step_ns)
    return 1e-9 * times, np.array([sample(plan, int(t)) for t in times])


def assert_within(motion, model, limits):
    _, states = sampled(motion, model)
    q, qd, qdd = (np.ascontiguousarray(states[:, k]) for k in range(3))
    for values, largest in (
        (qd, limits.velocity),
        (qdd, limits.acceleration),
        (model.inverse_dynamics(q, qd, qdd), limits.effort),
    ):
        assert np.max(np.abs(values) / largest) <= 1.0 + ROUNDING


# Optimal, and within all limits


PENDULUM = robot(
    link("base", ""),
    link("rod"),
    joint(
        "hinge",
        "base",
        "rod",
        inside='<axis xyz="0 1 0"/><limit lower="-4" upper="4" velocity="100" effort="3"/>',
        xyz="0 0 0",
    ),
)


def test_a_pendulum_swings_as_the_bang_bang_optimum(tmp_path):
    """From hanging to level: full effort one way, then the other; the switch is where the energies meet."""
    model = model_of(PENDULUM, tmp_path)
    effort, inertia, weight = 3.0, 0.01 + 0.1**2, 9.81 * 0.1  # about the hinge, m = 1 kg, l = 0.1 m
    start, end = 0.2, 1.4

    def squared(theta):
        def worked(begin, force):  # by the effort and by gravity, whose torque is weight cos(theta)
            return force * (theta - begin) + weight * (math.sin(theta) - math.sin(begin))

        return 2.0 / inertia * min(worked(start, effort), worked(end, -effort))

    optimum = quad(lambda theta: 1.0 / math.sqrt(squared(theta)), start, end, limit=500)[0]
    motion = fastest(
        curves_of(through([[start], [end]], ["hinge"]), model.joints, 0.0), [model], urdf_limits(model.joints)
    )
    assert optimum <= motion.duration <= 1.005 * optimum  # the switch falls into one of some 100 cells
    assert_within(motion, model, urdf_limits(model.joints))


def test_an_arm_moves_on_a_line_as_fast_as_a_linear_program_finds():
    """The same problem by HiGHS, with Pinocchio's torques: the highest x(s) is the largest sum of x."""
    frictionless = load_model("manipulator_5dof")
    limits = urdf_limits(ARM.joints)
    curves = curves_of(through(WAYPOINTS[:2]), ARM.joints, 0.0)
    grid = divided(curves[0], 200)
    other = pinocchio.buildModelFromUrdf("urdf/manipulator_5dof.urdf")
    data = other.createData()
    still = np.zeros(5)
    h = np.diff(grid.s)
    cells = len(h)
    rows, bounds = lil_matrix((4 * 5 * cells, cells + 1)), []
    for i in range(cells):
        for side in (0, 1):
            q, slope, bend = grid.q[side, i], grid.slope[side, i], grid.bend[side, i]
            g = pinocchio.rnea(other, data, q, still, still)
            a = pinocchio.rnea(other, data, q, still, slope) - g
            b = pinocchio.rnea(other, data, q, slope, bend) - g
            for j in range(5):  # tau = a u + b x + g with u = (x_1 - x_0) / 2 h, at either end
                for sign in (1.0, -1.0):
                    row = len(bounds)
                    rows[row, i] -= sign * a[j] / (2 * h[i])
                    rows[row, i + 1] += sign * a[j] / (2 * h[i])
                    rows[row, i + side] += sign * b[j]
                    bounds.append(limits.effort[j] - sign * g[j])
    fastest_x = np.min((limits.velocity / np.abs(grid.slope[0, 0])) ** 2)
    x_bounds = [(0, 0), *[(0, fastest_x)] * (cells - 1), (0, 0)]
    x = linprog(-np.ones(cells + 1), A_ub=rows.tocsr(), b_ub=bounds, bounds=x_bounds).x
    optimum = np.sum(2 * h / (np.sqrt(x[1:]) + np.sqrt(x[:-1])))
    motion = fastest(curves, [frictionless], limits, points=200)
    assert motion.duration == pytest.approx(optimum, rel=2e-3)  # cells are not divided alike
    assert_within(motion, frictionless, limits)


def test_every_limit_holds_at_10_khz_on_a_path_with_corners():
    limits = urdf_limits(ARM.joints).scaled(0.9)
    limits = replace(limits, acceleration=np.array([20.0, 15.0, 30.0, 20.0, 25.0]))
    motion = fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.02), [ARM], limits)
    assert_within(motion, ARM, limits)
    assert motion.use[:, 1].max() > 0.99, "the acceleration limit governs somewhere"
    assert motion.use[:, 0].max() > 0.99, "so does the velocity limit"


def test_the_path_is_kept_and_corners_are_rounded_within_the_tolerance():
    motion = fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.02), [ARM], urdf_limits(ARM.joints))
    _, states = sampled(motion, ARM, 1_000_000)
    a, b, c = map(np.array, WAYPOINTS)

    def to_line(q, begin, end):
        way = end - begin
        share = np.clip((q - begin) @ way / (way @ way), 0.0, 1.0)
        return np.abs(q - begin - share[:, None] * way).max(axis=1)

    away = np.minimum(to_line(states[:, 0], a, b), to_line(states[:, 0], b, c))
    assert away.max() < 0.02
    near_corner = np.abs(states[:, 0] - b).max(axis=1).min()
    assert 0.005 < near_corner <= 0.02
    far = np.abs(states[:, 0] - b).max(axis=1) > 0.2
    assert away[far].max() < 1e-7


def test_a_sampled_curve_is_followed_through_its_points():
    """A minute at 1000 points, positions alone; it turns back once."""
    times = np.linspace(0.0, 60.0, 1000)
    omega, size = 2 * np.pi * np.array([0.05, 0.07, 0.09, 0.11, 0.13]), np.array([1.0, 0.4, 0.5, 0.8, 0.8])
    points = WAYPOINTS[0] + size * np.sin(times[:, np.newaxis] * omega)
    limits = urdf_limits(ARM.joints)
    motion = fastest(curves_of(through(points), ARM.joints, 0.01), [ARM], limits)
    assert motion.use.max() <= 1.0
    assert len(motion.q) <= 1100
    _, states = sampled(motion, ARM, 1_000_000)
    curve = WAYPOINTS[0] + size * np.sin(np.linspace(0.0, 60.0, 100_000)[:, np.newaxis] * omega)
    assert max(np.abs(curve - q).max(axis=1).min() for q in states[::20, 0]) < 0.01


def test_the_controllers_curve_is_kept_where_points_carry_velocities():
    still = (0.0,) * 5
    given = request(
        point(0.0, WAYPOINTS[0], still),
        point(2.0, WAYPOINTS[1], (0.3, 0.1, -0.2, 0.0, 0.1)),
        point(4.0, WAYPOINTS[2], still),
        names=ARM.joint_names,
    )
    slow = replan(hold_at(np.array(WAYPOINTS[0]), 0), given, ARM.joints, 0, Rules())
    curve = np.array([sample(slow, t)[0] for t in range(0, 4 * SECOND_NS, SECOND_NS // 5000)])
    motion = fastest(curves_of(given, ARM.joints, 0.0), [ARM], urdf_limits(ARM.joints))
    _, states = sampled(motion, ARM, 5_000_000)
    distances = [np.abs(curve - q).max(axis=1).min() for q in states[:, 0]]
    assert max(distances) < 1e-4  # half the spacing of the curve's own samples
    assert motion.duration < 2.0


def test_the_arm_rests_where_the_path_turns_back():
    motion = fastest(
        curves_of(through([WAYPOINTS[0], WAYPOINTS[1], WAYPOINTS[0]]), ARM.joints, 0.05),
        [ARM],
        urdf_limits(ARM.joints),
    )
    turn = np.argmin(np.abs(motion.q - WAYPOINTS[1]).max(axis=1))
    assert np.abs(motion.q[turn] - WAYPOINTS[1]).max() < 1e-12
    assert np.abs(motion.qd[turn]).max() == 0.0


def test_a_curve_that_swings_back_is_cut_where_its_speed_is_lowest():
    still = (0.0,) * 5
    away = np.array(WAYPOINTS[0]) + 0.3
    given = request(
        point(0.0, WAYPOINTS[0], still),
        point(1.0, away, (0.5,) * 5),  # goes on, and turns in the middle of the next segment
        point(2.0, WAYPOINTS[0], still),
        names=ARM.joint_names,
    )
    curves = curves_of(given, ARM.joints, 0.0)
    assert len(curves) == 2
    last = curves[0][-1]
    assert np.abs(last.states(np.array([last.end]))[0, 1]).max() < 1e-6
    assert_within(fastest(curves, [ARM], urdf_limits(ARM.joints)), ARM, urdf_limits(ARM.joints))


def test_no_timing_by_iteration_on_acceleration_limits_is_faster():
    """What planners do: shrink the acceleration limits until the efforts fit."""
    curves = curves_of(through(WAYPOINTS), ARM.joints, 0.02)
    limits = urdf_limits(ARM.joints)
    ours = fastest(curves, [ARM], limits)
    loose, acceleration = np.full(5, np.inf), np.full(5, 50.0)
    while True:
        motion = fastest(curves, [ARM], RetimingLimits(limits.velocity, acceleration, loose, loose))
        _, states = sampled(motion, ARM, 1_000_000)
        q, qd, qdd = (np.ascontiguousarray(states[:, k]) for k in range(3))
        if (np.abs(ARM.inverse_dynamics(q, qd, qdd)) <= limits.effort).all():
            break
        acceleration = 0.8 * acceleration
    assert ours.duration < motion.duration


def test_jerk_is_limited_by_smoothing_on_the_same_path():
    limits = replace(urdf_limits(ARM.joints), jerk=np.full(5, 200.0))
    curves = curves_of(through(WAYPOINTS), ARM.joints, 0.02)
    motion = fastest(curves, [ARM], limits)
    assert motion.window > 0.0
    assert_within(motion, ARM, limits)
    times, states = sampled(motion, ARM)
    jerk = np.abs(np.diff(states[:, 2], axis=0)) / np.diff(times)[:, None]
    assert 0.9 * 200.0 < jerk.max() < 200.0 * 1.001  # rounding of times, in a difference over 0.1 ms
    assert motion.duration > fastest(curves, [ARM], replace(limits, jerk=np.full(5, np.inf))).duration


def test_a_joint_that_only_momentum_lifts_has_no_motion_of_limited_jerk():
    """Where it is slow, gravity with Coulomb friction takes more than the effort limit."""
    arm = ARM.with_parameters(coulomb=(0.0, 10.0, 0.0, 0.0, 0.0), viscous=(0.0,) * 5)
    curves = curves_of(through([(0.0, -0.8, -1.2, 0.0, 0.0), (0.0, 1.5, -1.2, 0.0, 0.0)]), arm.joints, 0.0)
    effort = np.array([500.0, 68.5, 500.0, 500.0, 500.0])
    limits = replace(urdf_limits(arm.joints), effort=effort)
    assert fastest(curves, [arm], limits, points=200).duration < 10.0
    with pytest.raises(TrajectoryError) as raised:
        fastest(curves, [arm], replace(limits, jerk=np.full(5, 10.0)), points=200)
    assert raised.value.code == "too_slow"


def test_efforts_hold_for_both_ends_of_a_payload_and_all_between():
    limits = urdf_limits(ARM.joints)
    curves = curves_of(through(WAYPOINTS), ARM.joints, 0.02)
    ends = [ARM.with_parameters(payload=Payload(mass, com=(0.0, 0.0, 0.1))) for mass in (1.0, 8.0)]
    motion = fastest(curves, ends, limits)
    assert motion.duration > fastest(curves, [ARM], limits).duration
    for mass in (1.0, 3.0, 5.0, 8.0):
        assert_within(motion, ARM.with_parameters(payload=Payload(mass, com=(0.0, 0.0, 0.1))), limits)


@pytest.mark.parametrize("viscous", [0.0, 20.0, 100.0])
def test_limits_hold_with_heavy_friction(viscous):
    """At 100 N m s/rad friction alone would take four fifths of the second joint's effort at its limit."""
    model = ARM.with_parameters(viscous=[viscous] * 3 + [1.0] * 2, coulomb=[20.0] * 3 + [1.0] * 2)
    limits = urdf_limits(ARM.joints)
    motion = fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.02), [model], limits)
    assert_within(motion, model, limits)
    assert motion.use[:, 3].max() > 0.99


def test_the_simulated_arm_follows_without_clamping():
    limits = urdf_limits(ARM.joints).scaled(0.9)
    motion = fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.02), [ARM], limits)
    plan = replan(hold_at(motion.q[0], 0), motion.request(ARM), ARM.joints, 0, Rules())
    kp, kd = np.array([200.0, 200.0, 100.0, 5.0, 2.0]), np.array([20.0, 20.0, 10.0, 0.2, 0.05])
    law = Law("feedforward_pd", ARM, kp, kd, TermSwitches())
    plant = Plant(ARM)
    plant.reset(motion.q[0], np.zeros(5))
    largest, errors = np.zeros(5), []

    def controller(reference, q, qd):
        nonlocal largest
        tau = efforts_by_term(law, reference, q, qd).total
        largest = np.maximum(largest, np.abs(tau))
        errors.append(np.abs(reference[0] - q).max())
        return tau

    simulate(
        ARM,
        controller,
        lambda t: sample(plan, round(t * SECOND_NS)),
        motion.duration,
        SimulatedHardware(plant),
    )
    assert (largest <= urdf_limits(ARM.joints).effort).all()
    assert max(errors) < 0.01


ARMS = {
    "ur3": ("ur_description/urdf/ur3_robot.urdf", None),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", None),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", None),
    "panda": ("panda_description/urdf/panda.urdf", "panda_link8"),
    "kinova": ("kinova_description/robots/kinova.urdf", None),
    "z1": ("z1_description/urdf/z1.urdf", None),
    "so100": ("so_arm_description/urdf/so100.urdf", None),
    "so101": ("so_arm_description/urdf/so101.urdf", None),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", None),
    "tiago": ("tiago_description/robots/tiago.urdf", "arm_7_link"),
}


@pytest.mark.parametrize("name", ARMS)
def test_real_arms_move_within_their_limits(name, tmp_path):
    """Limits that a URDF lacks, or that do not hold the arm against gravity, are made up."""
    path, tip = ARMS[name]
    model = model_of(ROBOTS / path, tmp_path, tip)
    given = urdf_limits(model.joints)
    weight = np.abs(model.gravity(np.random.default_rng(0).uniform(-1, 1, (200, len(model.joints))))).max()
    limits = replace(
        given,
        velocity=np.where(np.isfinite(given.velocity), given.velocity, 2.0),
        effort=np.maximum(np.where(np.isfinite(given.effort), given.effort, 0.0), 1.5 * weight + 1.0),
    )
    rng = np.random.default_rng(5)
    lower = np.array([-1.0 if j.lower is None else max(j.lower, -1.0) for j in model.joints])
    upper = np.array([1.0 if j.upper is None else min(j.upper, 1.0) for j in model.joints])
    points = rng.uniform(lower, upper, (5, len(lower)))
    motion = fastest(curves_of(through(points, model.joint_names), model.joints, 0.02), [model], limits)
    assert motion.use.max() <= 1.0
    _, states = sampled(motion, model, 1_000_000)
    q, qd, qdd = (np.ascontiguousarray(states[:, k]) for k in range(3))
    assert np.max(np.abs(model.inverse_dynamics(q, qd, qdd)) / limits.effort) <= 1.0 + ROUNDING
    assert np.max(np.abs(qd) / limits.velocity) <= 1.0 + ROUNDING


def test_the_efforts_in_the_file_are_those_of_the_motion():
    motion = fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.02), [ARM], urdf_limits(ARM.joints))
    wanted = motion.request(ARM)
    times, states = sampled(motion, ARM, 1_000_000)
    true = ARM.inverse_dynamics(*(np.ascontiguousarray(states[:, k]) for k in range(3)))
    points = np.array([each.effort for each in wanted.points])
    linear = np.stack(
        [np.interp(times, [1e-9 * each.time_ns for each in wanted.points], points[:, j]) for j in range(5)],
        axis=1,
    )
    near = np.median(np.abs(linear - true), axis=0)  # but at switches, which linear interpolation smears
    assert (near < 0.01 * np.abs(true).max(axis=0)).all()
    assert (np.abs(points) <= urdf_limits(ARM.joints).effort * (1 + ROUNDING)).all()
    np.testing.assert_allclose(points[-1], ARM.gravity(motion.q[-1]))


# Refusals


@pytest.mark.parametrize(
    ("points", "code"),
    [
        ([WAYPOINTS[0]], "no_points"),
        ([WAYPOINTS[0], WAYPOINTS[0], WAYPOINTS[1]], "repeated_point"),
        ([WAYPOINTS[0], (0.0, 5.0, 0.0, 0.0, 0.0)], "outside_limits"),
        ([(0.01 * i + (6.0 if i > 15 else 0.0), 0.9, -1.2, 0.0, 0.0) for i in range(30)], "jump"),
    ],
)
def test_what_is_no_path_is_refused(points, code):
    joints = [each._replace(lower=-20.0, upper=20.0) if i == 0 else each for i, each in enumerate(ARM.joints)]
    with pytest.raises(TrajectoryError) as caught:
        curves_of(through(points), joints, 0.01)
    assert caught.value.code == code


def test_a_curve_through_points_that_leaves_the_limits_is_refused():
    upper = ARM.joints[1].upper
    given = request(
        point(0.0, (0.0, upper - 0.01, 0, 0, 0), (0.0, 1.0, 0, 0, 0)),
        point(1.0, (0.5, upper - 0.01, 0, 0, 0), (0.0, 0.0, 0, 0, 0)),
        names=ARM.joint_names,
    )
    with pytest.raises(TrajectoryError) as caught:
        curves_of(given, ARM.joints, 0.0)
    assert (caught.value.code, caught.value.joint) == ("outside_limits", "alpha_2")


def test_a_place_where_gravity_alone_is_too_much_is_named():
    """Hanging arms need nothing; the way to level is where the second joint cannot hold."""
    heavy = ARM.with_parameters(payload=Payload(40.0))
    upright, level = (0.0, math.pi / 2, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)
    holding = np.abs(heavy.gravity(np.array([upright, level])))
    weak = int(np.argmax(holding[1] / urdf_limits(ARM.joints).effort))
    limits = urdf_limits(ARM.joints)
    limits.effort[:] = 10.0 * holding.max(axis=0) + 1.0
    limits.effort[weak] = 0.5 * holding[1, weak]
    start, end = (upright, level) if holding[0, weak] < holding[1, weak] else (level, upright)
    with pytest.raises(TrajectoryError) as caught:
        fastest(curves_of(through([start, end]), ARM.joints, 0.0), [heavy], limits)
    assert caught.value.code == "gravity"
    assert caught.value.joint == ARM.joint_names[weak]


def test_a_joint_without_limits_is_named():
    none = np.full(5, np.inf)
    limits = RetimingLimits(urdf_limits(ARM.joints).velocity, none, none, none)
    with pytest.raises(TrajectoryError) as caught:
        fastest(curves_of(through(WAYPOINTS), ARM.joints, 0.0), [ARM], limits)
    assert (caught.value.code, caught.value.joint) == ("no_limit", "gamma_1")
