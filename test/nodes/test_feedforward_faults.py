"""feedforward_node as a process when things go wrong: missing hardware, hostile messages, clocks."""

import random
from array import array

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_lab import (
    MODEL,
    NAMES,
    PATIENT,
    RELIABLE,
    SPACE,
    STILL,
    TOLD,
    Q,
    trajectory,
)
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

GRAVITY = MODEL.gravity(Q)
ROUNDING = 1e-9  # [N m]
RECOVERY = 1.0  # [s] after good states return, as promised
HOSTILE_MESSAGES = 10_000
ARGUMENTS = ()  # the default timeouts


def test_hardware_that_dies_and_comes_back(start):
    node, lab = start()
    statuses = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    lab.wait_until_commanding()
    lab.hold(0.2)
    lab.commands.clear()
    lab.wait_for(lambda: "stale_state: no state for " in node.log)  # no states: killed
    lab.wait_for(lambda: len(lab.commands) >= 3)
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)
    moved = Q + 0.05
    lab.hold(RECOVERY, q=moved)  # restarted, elsewhere
    lab.commands.clear()
    lab.wait_for(lambda: len(lab.commands) >= 3, lambda: lab.send(moved))
    np.testing.assert_allclose(lab.commands[-1], MODEL.gravity(moved), atol=ROUNDING)

    def send_motion():  # refused where a pause of this machine was another death
        lab.trajectories.publish(trajectory((0.2, Q, np.zeros(5))))
        lab.hold(0.1, moved)

    lab.wait_for(lambda: any(each.message.startswith("accepted") for each in statuses), send_motion)


def test_a_burst_of_old_states_is_not_answered(start):  # field report 139
    node, lab = start()
    lab.wait_until_commanding()
    lab.hold(0.1)
    old = lab.node.get_clock().now().to_msg()
    lab.spin(0.3)  # the link is down
    lab.wait_for(lambda: "stale_state" in node.log)
    assert "trajectory" not in next(line for line in node.log.splitlines() if "stale_state" in line)
    lab.commands.clear()
    for _ in range(50):
        lab.send(Q + 0.3, stamp=old)
    lab.spin(0.2)
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)  # still the safe one
    lab.wait_for(lambda: "s old; allowed is 0.1 s (safety.state_timeout)" in node.log)


def test_ten_thousand_hostile_messages(start):
    node, lab = start()
    lab.wait_until_commanding()
    random.seed(7)
    for i in range(HOSTILE_MESSAGES):
        lab.states.publish(hostile_state())
        if i % 10 == 0:
            lab.trajectories.publish(hostile_trajectory())
            lab.executor.spin_once(timeout_sec=0.0)
    lab.hold(RECOVERY)
    before = len(lab.commands)
    lab.hold(0.2)
    assert len(lab.commands) > before + 3
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)
    assert np.isfinite(lab.commands).all()
    assert {len(command) for command in lab.commands} == {5}
    assert "Traceback" not in node.log
    assert node.end() == 0


def hostile_state():
    names = random.choice(
        [NAMES, NAMES[:3], [*NAMES, NAMES[0]], [], ["x"] * random.randint(0, 50), NAMES[::-1]]
    )
    message = JointState(name=names)
    for field in ("position", "velocity", "effort"):
        length = random.choice([len(names), len(names), 0, random.randint(0, 9)])
        setattr(message, field, array("d", [hostile_number() for _ in range(length)]))
    message.header.stamp = Time(
        sec=random.choice([0, -5, 2**31 - 1, random.randint(0, 2**31 - 1)]),
        nanosec=random.randint(0, 2**32 - 1),
    )
    return message


def hostile_trajectory():
    message = JointTrajectory(joint_names=random.choice([NAMES, NAMES[:2], ["x"], [], [NAMES[0]] * 5]))
    for _ in range(random.randint(0, 4)):
        point = JointTrajectoryPoint()
        for field in ("positions", "velocities", "accelerations", "effort"):
            length = random.choice([len(message.joint_names), 0, random.randint(0, 7)])
            setattr(point, field, array("d", [hostile_number() for _ in range(length)]))
        point.time_from_start.sec = random.choice([0, 1, -1, -(2**31), 2**31 - 1])
        message.points.append(point)
    return message


def hostile_number():
    return random.choice(
        [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e-320, random.gauss(0.0, 1.0)]
    )


def test_simulated_time_that_jumps_back_drops_the_trajectory_and_goes_on(start):  # field reports 111, 112
    node, lab = start("-p", "use_sim_time:=true", "-p", "safety.state_timeout:=2.0")
    clock = lab.node.create_publisher(Clock, "/clock", 10)
    lab.wait_for(lambda: "use_sim_time is true and no /clock comes" in node.log)
    now = [100.0]

    def tick():
        now[0] += 0.01
        stamp = Time(sec=int(now[0]), nanosec=round(now[0] % 1 * 1e9))
        clock.publish(Clock(clock=stamp))
        lab.send(stamp=stamp)
        lab.spin(0.01)

    lab.wait_for(lambda: lab.commands, tick)
    references = lab.listen(JointState, "feedforward_node/feedforward")
    lab.wait_for(lambda: references, tick)
    lab.trajectories.publish(trajectory((50.0, Q + 0.2, np.zeros(5))))
    lab.wait_for(lambda: abs(references[-1].position[0] - Q[0]) > 1e-6, tick)
    now[0] = 40.0
    lab.wait_for(lambda: "time jumped back by" in node.log, tick)
    references.clear()
    lab.wait_for(lambda: references, tick)
    np.testing.assert_array_equal(references[-1].position, Q)
    assert 40.0 < references[-1].header.stamp.sec + 1.0 < 60.0


def test_names_keep_their_meaning_in_a_namespace(start):
    _, lab = start(namespace="/left_arm")
    lab.wait_until_commanding()
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)


def test_a_clock_that_jitters_by_less_than_the_states_period_drops_nothing(start):
    node, lab = start("-p", "use_sim_time:=true", "-p", "safety.state_timeout:=2.0", *STILL)
    statuses = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    clock = lab.node.create_publisher(Clock, "/clock", 10)
    now = [100.0]

    def show(seconds):
        clock.publish(Clock(clock=stamp_of(seconds)))

    def tick():
        now[0] += 0.01
        show(now[0])
        lab.spin(0.005)
        lab.send(stamp=stamp_of(now[0]))
        lab.spin(0.005)
        show(now[0] - 0.004)  # another publisher of /clock, or one that reorders

    lab.wait_for(lambda: lab.commands, tick)
    lab.trajectories.publish(trajectory((0.5, Q + 0.2, np.zeros(5))))
    lab.wait_for(lambda: len(statuses) > 1, tick)
    messages = [each.message for each in statuses]
    assert [text.partition(":")[0] for text in messages] == ["accepted", "finished"], messages
    assert "time jumped back" not in node.log


def test_gains_are_judged_by_the_rate_of_simulated_time(start):
    """A simulation that a slow machine runs at a tenth of the wall's pace is no slow controller."""
    node, lab = start("-p", "use_sim_time:=true", "-p", "safety.state_timeout:=2.0", *STILL)
    clock = lab.node.create_publisher(Clock, "/clock", 10)
    now = [100.0]

    def tick():
        now[0] += 0.002
        clock.publish(Clock(clock=stamp_of(now[0])))
        lab.send(stamp=stamp_of(now[0]))
        lab.spin(0.02)

    lab.wait_for(lambda: lab.commands, tick)
    reports = lab.listen(DiagnosticArray, f"{SPACE}/diagnostics")
    lab.wait_for(lambda: len(reports) > 5, tick)  # one a second; the gains are judged at the third
    assert "the gains of joint" not in node.log


def stamp_of(seconds):
    return Time(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))


def test_states_that_come_back_to_back_from_two_publishers_are_all_taken(start):
    _, lab = start(*PATIENT, "-p", "mode:=gravity_compensation")
    second = lab.node.create_publisher(JointState, "joint_states", RELIABLE)
    lab.wait_for(lambda: lab.states.get_subscription_count() and second.get_subscription_count())
    lab.wait_until_commanding()
    begin = Q + 0.01
    known = MODEL.gravity(begin)
    lab.wait_for(  # both are known to the node
        lambda: np.allclose(lab.commands[-1], known, atol=1e-6),
        lambda: (
            lab.send(begin[:3], names=NAMES[:3]),
            lab.send(begin[3:], names=NAMES[3:], publisher=second),
        ),
    )
    for k in range(300):
        q = begin + 1e-3 * k
        lab.send(q[:3], names=NAMES[:3])
        lab.send(q[3:], names=NAMES[3:], publisher=second)
        expected = MODEL.gravity(q)  # of both halves: neither is sent again
        lab.wait_for(lambda expected=expected: np.allclose(lab.commands[-1], expected, atol=1e-6))
