"""The recorder against a robot and a controller that only pretend: what it sends, and what is in the bag."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="the nodes need ROS 2")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.highlevel import AnyReader
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.nodes import recording
from kane_dynamics_ros.replay import motion
from kane_dynamics_ros.ros_domain import free_domain, private_variables

STATES, COMMANDS = "joint_states", "forward_effort_controller/commands"
STATES_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
TRAJECTORY = {
    "joint_names": ["a", "b"],
    "points": [
        {
            "positions": [0.1, 0.2],
            "velocities": [0.0, 0.0],
            "accelerations": [0.0, 0.0],
            "time_from_start": {"sec": 0, "nanosec": 500_000_000},
        }
    ],
}

JOINT = """<joint name='{0}' type='revolute'><parent link='{1}'/><child link='l{0}'/>
<limit lower='-1' upper='1' effort='1' velocity='1'/></joint><link name='l{0}'/>"""
ROBOT = f"<robot name='r'><link name='base'/>{JOINT.format('a', 'base')}{JOINT.format('b', 'la')}</robot>"


class Pretender(Node):
    """Publishes joint states and commands at 50 Hz and keeps every trajectory that comes.

    ``answers`` are the states that it reports of a trajectory, one every 0.1 s; it falls silent on the
    topics in ``silent``, and removes the publishers of those in ``gone``, 15 states after a trajectory came.
    """

    def __init__(self, context):
        super().__init__("feedforward_node", context=context)
        self.trajectories = []
        self.answers, self.silent, self.gone = [], set(), set()
        self.offset = 0.0  # [s] of the stamps
        self.lost = set()  # states that are not sent, counted since the trajectory came
        self.started, self.sent, self.since = self.get_clock().now(), 0, 0
        self.states = self.create_publisher(JointState, STATES, STATES_QOS)
        self.commands = self.create_publisher(Float64MultiArray, COMMANDS, 1)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status = self.create_publisher(DiagnosticStatus, "~/trajectory_status", latched)
        self.create_subscription(JointTrajectory, "joint_trajectory", self.take, 1)
        self.create_timer(0.02, self.publish)
        self.create_timer(0.1, self.answer)
        self.came = None

    def take(self, message):
        self.trajectories.append(message)
        self.came = time.monotonic()

    def answer(self):
        if self.trajectories and self.answers:
            label = self.trajectories[-1].header.frame_id
            values = {"state": self.answers.pop(0), "reason": "because", "frame_id": label}
            pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
            self.status.publish(DiagnosticStatus(values=pairs, message=f"{values['state']}: because"))

    def publish(self):
        ending = self.since > 15
        if self.came is None:  # a busy machine must not make the stamps lag behind before the motion
            self.started, self.sent = self.get_clock().now(), 0
        state = JointState(name=["a", "b"], position=[0.1, 0.2])
        # by count during the motion: a timer that comes late on a busy machine is no gap between the states
        state.header.stamp = (self.started + Duration(seconds=self.offset + 0.02 * self.sent)).to_msg()
        self.sent += 1
        self.since += self.came is not None
        for publisher, name, message in (
            (self.states, STATES, state),
            (self.commands, COMMANDS, Float64MultiArray(data=[1.0, 2.0])),
        ):
            if ending and name in self.gone:
                self.gone.remove(name)
                self.silent.add(name)
                self.destroy_publisher(publisher)
            elif not (ending and name in self.silent) and not (name == STATES and self.since in self.lost):
                publisher.publish(message)


@pytest.fixture
def domain(monkeypatch):
    """A DDS domain of our own that does not leave this machine."""
    with free_domain() as number:
        for name, value in private_variables(number).items():
            monkeypatch.setenv(name, value)
        yield number


def run_recorder(tmp_path, pretender_executor=None, signal_at=None, prepare=None, **parameters):
    """The recorder as a process, while the pretender is served; returns exit code and standard error.

    ``signal_at`` is asked again and again; a signal is sent once it says true.
    """
    trajectory = tmp_path / "trajectory.yaml"
    trajectory.write_text(json.dumps(TRAJECTORY))
    words = {"trajectory": trajectory, "bag": tmp_path / "bag", **parameters}
    settings = [word for name, value in words.items() for word in ("-p", f"{name}:={value}")]
    command = [sys.executable, "-m", "kane_dynamics_ros.nodes.trajectory_recorder_node", "--ros-args"]
    process = subprocess.Popen(
        [*command, *settings], env=os.environ, stderr=subprocess.PIPE, text=True, preexec_fn=prepare
    )
    deadline = time.monotonic() + 30.0
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if pretender_executor:
                pretender_executor.spin_once(timeout_sec=0.02)
            else:
                time.sleep(0.02)
            if signal_at is not None and signal_at():
                process.send_signal(signal.SIGTERM)
                signal_at = None
    finally:
        process.kill()
    lines = process.communicate()[1].splitlines(keepends=True)
    (tmp_path / "log").write_text("".join(lines))
    return process.wait(), "".join(line for line in lines if not line.startswith("[INFO]"))


def read(bag):
    """Messages of a bag by topic."""
    found = {}
    with AnyReader([bag]) as reader:
        for connection, _, data in reader.messages():
            found.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    return found


@pytest.fixture
def pretender(domain):
    context = Context()
    rclpy.init(context=context)
    node = Pretender(context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_trajectory_is_sent_once_and_everything_is_in_the_bag(tmp_path, pretender):
    node, executor = pretender
    description = tmp_path / "robot.urdf"
    description.write_text(ROBOT)
    node.answers = ["accepted", "finished"]
    assert run_recorder(tmp_path, executor, robot_description=description, settle_time=0.1) == (0, "")

    (sent,) = node.trajectories
    assert list(sent.joint_names) == ["a", "b"]
    assert [list(point.positions) for point in sent.points] == [[0.1, 0.2]]
    assert (sent.points[0].time_from_start.sec, sent.points[0].time_from_start.nanosec) == (0, 500_000_000)

    recorded = read(tmp_path / "bag")
    told = (tmp_path / "log").read_text()
    assert f"0.500 s is in the bag {tmp_path / 'bag'}: {sum(map(len, recorded.values()))} messages" in told
    start = sent.header.stamp.sec + 1e-9 * sent.header.stamp.nanosec
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in recorded["/joint_states"]]
    assert stamps[0] < start
    assert stamps[-1] > start + 0.5  # to the last point and beyond
    assert len(recorded["/joint_trajectory"]) == 1
    assert list(recorded["/forward_effort_controller/commands"][0].data) == [1.0, 2.0]
    assert [message.data for message in recorded["/robot_description"]] == [ROBOT]


def test_recorder_says_what_is_missing_when_nobody_is_there(tmp_path, domain):
    code, error = run_recorder(tmp_path, timeout=0.5)
    assert code == 1
    assert error == (
        "error: nothing came on joint_states and forward_effort_controller/commands after 0.5 s; start the "
        "controller and the robot first, with the same ROS_DOMAIN_ID and namespace\n"
    )


def test_recorder_refuses_a_file_that_is_no_trajectory(tmp_path, domain):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("points: []")
    code, error = run_recorder(tmp_path, trajectory=wrong)
    assert code == 1
    assert error.startswith(f"error: {wrong}: joint_names: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("trajectory", "YAML file with a JointTrajectory, as ros2 topic pub takes it"),
        ("bag", "directory of the bag to write; must not exist"),
    ],
)
def test_recorder_says_which_parameter_is_missing(tmp_path, domain, name, what):
    assert run_recorder(tmp_path, **{name: "''"}) == (
        1,
        f"error: parameter {name!r} is missing; give it with -p {name}:=... ({what})\n",
    )


def test_recorder_does_not_overwrite_a_bag(tmp_path, domain):
    (tmp_path / "bag").mkdir()
    assert run_recorder(tmp_path) == (
        1,
        f"error: {tmp_path / 'bag'}: exists already, and is not overwritten; name another directory for the "
        "bag\n",
    )


def test_a_controller_that_tells_nothing_of_trajectories_is_recorded_too(tmp_path, pretender):
    _, executor = pretender
    assert run_recorder(tmp_path, executor) == (0, "")


@pytest.mark.parametrize("answers", [["refused"], ["accepted", "dropped"]])
def test_a_trajectory_that_is_not_driven_is_a_failure_with_the_controllers_reason(
    tmp_path, pretender, answers
):
    node, executor = pretender
    node.answers = list(answers)
    code, error = run_recorder(tmp_path, executor)
    assert code == 1
    assert f"{answers[-1]}: because" in error
    assert len(read(tmp_path / "bag")["/feedforward_node/trajectory_status"]) == len(answers)


def test_a_trajectory_that_never_finishes_is_a_failure(tmp_path, pretender):
    node, executor = pretender
    node.answers = ["accepted"]
    code, error = run_recorder(tmp_path, executor, timeout=5.0)
    assert (code, "never finished" in error) == (1, True)


@pytest.mark.parametrize(("how", "name"), [("silent", STATES), ("gone", STATES), ("gone", COMMANDS)])
def test_a_run_that_breaks_off_is_a_failure_that_says_where(tmp_path, pretender, name, how):
    node, executor = pretender
    getattr(node, how).add(name)
    code, error = run_recorder(tmp_path, executor, timeout=5.0, settle_time=8.0)
    assert code == 1
    assert name in error
    assert "Traceback" not in error
    assert read(tmp_path / "bag")["/joint_states"]


def test_a_robot_in_another_time_is_refused_and_leaves_no_bag(tmp_path, pretender):
    node, executor = pretender
    node.offset = -1000.0
    code, error = run_recorder(tmp_path, executor)
    assert code == 1
    assert "set use_sim_time here" in error
    assert not (tmp_path / "bag").exists()


def test_states_that_are_missing_from_the_motion_are_a_failure(tmp_path, pretender):
    node, executor = pretender
    node.answers = ["accepted", "finished"]
    node.lost = {*range(30, 38)}  # 0.18 s between two states, of the 0.5 s from 0.5 s on
    code, error = run_recorder(tmp_path, executor)
    assert code == 1
    assert "joint_states has a gap" in error
    assert "0.180 s" in error
    assert read(tmp_path / "bag")["/joint_states"]


def test_a_gap_is_what_replay_takes_for_one_and_each_publisher_has_its_own_period():
    assert (recording.GAP_PERIODS, recording.GAP_SECONDS) == (motion.GAP_PERIODS, motion.GAP_SECONDS)
    times = recording.StateTimes()
    step = 2_000_000

    def record(names, numbers):
        for k in numbers:
            times.take(names, k * step)

    record(["a", "b"], [k for k in range(450) if not 200 < k < 240])  # 80 ms are missing
    record(["gripper"], range(0, 450, 10))  # never more than 20 ms between two
    assert times.gaps(0, 449 * step) == [(0.4, 0.08)]
    assert times.gaps(300 * step, 449 * step) == []
    assert times.newest_ns == 440 * step
    to_the_end = sorted(gap for _, gap in times.gaps(300 * step, 600 * step))
    assert to_the_end == pytest.approx([0.302, 0.32])  # of the arm's states, and of the gripper's


THERE = {STATES: 1, COMMANDS: 1}
SECOND = 1_000_000_000


def whole_run(outcomes=(), states_until=3.0, commands_until=3.0, publishers=THERE, timeout=20.0):
    """A trajectory of 1 s that begins at 1 s, recorded for 0.5 s more; ``outcomes`` are (time, state).

    States and commands come at 100 Hz until those times [s]; returns the run and when it was over.
    """
    run = recording.Run(Path("bag"), timeout)
    run.begin(SECOND, SECOND, SECOND // 2)
    outcomes = list(outcomes)
    for k in range(10_000):
        now = 0.01 * k
        if now <= states_until:
            run.states.take(["a"], round(now * SECOND))
            run.came(STATES, round(now * SECOND), now)
        if now <= commands_until:
            run.came(COMMANDS, round(now * SECOND), now)
        while outcomes and outcomes[0][0] <= now:
            run.outcome = {"state": outcomes.pop(0)[1], "reason": "because"}
        if run.over(now, publishers if now > 1.2 else THERE):
            return run, now
    raise AssertionError("the run was never over")


def test_a_run_is_over_with_its_recording_or_with_the_controllers_word():
    run, now = whole_run()
    run.judge()
    assert now == pytest.approx(2.51)  # the first state past the end
    run, now = whole_run([(1.0, "accepted"), (3.5, "finished")], states_until=9.0, commands_until=9.0)
    run.judge()
    assert now == pytest.approx(3.5)


@pytest.mark.parametrize("when", [1.3, 2.7])  # during the recording, and while only the word is waited for
def test_a_drop_ends_the_run_at_once_with_its_reason(when):
    run, now = whole_run([(1.0, "accepted"), (when, "dropped")], states_until=30.0, commands_until=30.0)
    assert now == pytest.approx(when)  # not the timeout of 20 s later
    with pytest.raises(recording.RecordingError) as caught:
        run.judge()
    found = caught.value
    assert (found.code, found.state, found.reason) == ("failed", "dropped", "because")


def test_a_controller_that_never_finishes_is_waited_for_until_the_timeout():
    run, now = whole_run([(1.0, "accepted")], states_until=30.0, commands_until=30.0, timeout=5.0)
    assert now == pytest.approx(2.5 + 5.0, abs=0.1)
    with pytest.raises(recording.RecordingError) as caught:
        run.judge()
    assert (caught.value.code, caught.value.state) == ("failed", "accepted")


@pytest.mark.parametrize(
    "broken",
    [
        {"states_until": 1.2, "timeout": 5.0},
        {"commands_until": 1.2, "states_until": 1.4, "timeout": 5.0},
        {"publishers": {STATES: 1, COMMANDS: 0}},
    ],
)
def test_a_run_whose_robot_or_controller_falls_silent_is_broken(broken):
    with pytest.raises(recording.RecordingError) as caught:
        whole_run(**broken)
    assert caught.value.code == "broken"


def test_commands_that_end_before_the_last_point_are_missed():
    run, _ = whole_run(commands_until=1.5)
    with pytest.raises(recording.RecordingError, match=COMMANDS) as caught:
        run.judge()
    assert caught.value.code == "broken"


def test_states_that_lag_behind_clock_are_waited_for(tmp_path, pretender):
    node, executor = pretender
    node.offset = -1000.0
    node.answers = ["accepted", "finished"]
    clock = node.create_publisher(Clock, "/clock", 10)
    heard = []

    def tell_time():
        clock.publish(Clock(clock=node.get_clock().now().to_msg()))
        if node.count_subscribers(STATES):
            heard.append(time.monotonic())
        if heard and time.monotonic() > heard[0] + 1.5:
            node.offset = 0.0
        return False

    assert run_recorder(tmp_path, executor, signal_at=tell_time, use_sim_time="true") == (0, "")


def test_simulated_time_that_never_comes_ends_the_wait(tmp_path, pretender):
    _, executor = pretender
    code, error = run_recorder(tmp_path, executor, use_sim_time="true", timeout=1.0)
    assert code == 1
    assert "/clock" in error
    assert not (tmp_path / "bag").exists()


def test_nobody_there_leaves_no_bag(tmp_path, domain):
    run_recorder(tmp_path, timeout=0.2)
    assert not (tmp_path / "bag").exists()


def test_a_signal_leaves_a_readable_bag_and_no_traceback(tmp_path, pretender):
    node, executor = pretender
    code, error = run_recorder(
        tmp_path,
        executor,
        signal_at=lambda: node.came is not None and time.monotonic() > node.came + 0.2,
        settle_time=600.0,  # it has not ended before, however late the signal comes
    )
    assert code == 1
    assert error.startswith("error: stopped by a signal")
    assert "the controller follows the trajectory to its end" in error
    assert (tmp_path / "bag" / "metadata.yaml").is_file()
    assert read(tmp_path / "bag")["/joint_states"]


def test_a_signal_while_it_waits_leaves_nothing(tmp_path, domain):
    context = Context()
    rclpy.init(context=context)
    watcher = Node("watcher", context=context)
    code, error = run_recorder(tmp_path, signal_at=lambda: "trajectory_recorder" in watcher.get_node_names())
    watcher.destroy_node()
    rclpy.shutdown(context=context)
    assert "Traceback" not in error
    assert "the controller follows" not in error  # nothing was sent
    assert code == 1
    assert not (tmp_path / "bag").exists()


def test_a_full_disk_is_said_with_the_bags_name(tmp_path, pretender):
    _, executor = pretender

    def small_files():  # stands for a full disk: writing beyond fails with an error of the system
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    code, error = run_recorder(tmp_path, executor, prepare=small_files, settle_time=2.0)
    assert code == 1
    assert f"error: {tmp_path / 'bag'}: cannot be written: " in error  # after what DDS says of its own files
    assert "Traceback" not in error


def test_a_xacro_file_is_published_expanded(tmp_path, pretender):
    _, executor = pretender
    source = tmp_path / "robot.urdf.xacro"
    source.write_text(
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
        "<xacro:arg name='n' default='base'/><link name='$(arg n)'/>"
        f"{JOINT.format('a', '$(arg n)')}{JOINT.format('b', 'la')}</robot>"
    )
    given = {"robot_description": source, "xacro_arguments": "n:=foot"}
    assert run_recorder(tmp_path, executor, **given) == (0, "")
    [description] = read(tmp_path / "bag")["/robot_description"]
    assert '<link name="foot"/>' in description.data
    assert "xacro:arg" not in description.data


@pytest.mark.parametrize("same", [True, False])
def test_a_description_that_is_published_already_is_not_published_over(tmp_path, pretender, same):
    node, executor = pretender
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    there = ROBOT if same else ROBOT.replace("upper='1'", "upper='2'")
    node.create_publisher(String, "robot_description", latched).publish(String(data=there))
    came = []
    node.create_subscription(String, "robot_description", lambda each: came.append(each.data), latched)
    description = tmp_path / "robot.urdf"
    description.write_text(ROBOT.replace("<link", "\n<link"))  # the same but for white space
    code, error = run_recorder(tmp_path, executor, robot_description=description)
    assert set(came) == {there}
    assert code == (0 if same else 1)
    assert ("robot_description is published already" in error) != same, error
    assert (tmp_path / "bag").exists() == same


def test_a_description_without_the_trajectorys_joints_is_not_published(tmp_path, pretender):
    node, executor = pretender
    came = []
    node.create_subscription(String, "robot_description", came.append, QoSProfile(depth=1))
    description = tmp_path / "robot.urdf"
    description.write_text(f"<robot name='r'><link name='base'/>{JOINT.format('a', 'base')}</robot>")
    code, error = run_recorder(tmp_path, executor, robot_description=description)
    assert (code, came, node.trajectories) == (1, [], [])
    assert f"{description} has no joint 'b'" in error


def test_xacro_arguments_of_a_file_that_is_no_xacro_are_refused(tmp_path, domain):
    description = tmp_path / "robot.urdf"
    description.write_text(ROBOT)
    code, error = run_recorder(tmp_path, robot_description=description, xacro_arguments="n:=foot")
    assert code == 1
    assert "'n' is not declared" in error


def test_states_are_asked_for_as_reliably_as_they_are_offered(tmp_path, pretender):
    node, executor = pretender
    asked = {}

    def look():
        for name in (STATES, COMMANDS):
            for each in node.get_subscriptions_info_by_topic(name):
                asked[name] = each.qos_profile.reliability
        return False

    assert run_recorder(tmp_path, executor, signal_at=look) == (0, "")
    assert asked == {STATES: ReliabilityPolicy.BEST_EFFORT, COMMANDS: ReliabilityPolicy.RELIABLE}


def test_a_best_effort_publisher_that_joins_later_is_heard_too(tmp_path, pretender):
    node, executor = pretender
    joined = []

    def join():
        if node.came is not None and not joined:
            unreliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            joined.append(node.create_publisher(Float64MultiArray, COMMANDS, unreliable))
        if joined:
            joined[0].publish(Float64MultiArray(data=[7.0]))
        return False

    assert run_recorder(tmp_path, executor, signal_at=join, settle_time=1.0) == (0, "")
    assert [7.0] in [list(each.data) for each in read(tmp_path / "bag")["/" + COMMANDS]]
