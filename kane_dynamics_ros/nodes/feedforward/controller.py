"""The path of one state, message in and effort out, with its clock, its topics and its meter.

Lean, since it runs a thousand times a second.
"""

import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from rclpy.clock import Clock, ROSClock
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.goals import own_tolerances
from kane_dynamics_ros.control.law import Efforts, Law, efforts_by_term, too_stiff
from kane_dynamics_ros.control.limits import motion_limits
from kane_dynamics_ros.control.loop import Candidate, ControlLoop, ControlStep, LoopSettings
from kane_dynamics_ros.control.states import Reaction
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.nodes.feedforward.observer import ObserverOutput
from kane_dynamics_ros.nodes.feedforward.parameters import build_settings, gain_arguments
from kane_dynamics_ros.nodes.joint_states import JointStateReader
from kane_dynamics_ros.nodes.messages import (
    BURST_QOS,
    COMMAND_TOPIC,
    COMMANDS_QOS,
    OUTPUT_QOS,
    nanoseconds_of,
    set_nanoseconds,
)
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.node_parameters import Values, wrong_parameter

TERM_NAMES = (*Efforts._fields, "limits")
LAST_REPEATS = 10
LAST_PERIOD = 0.05  # [s] between them
RAMP_TIME = 2.0  # [s] at most for limits.effort_rate on the way to the last command
FLUSH_TIME = Duration(nanoseconds=200_000_000)
SOURCES = 16  # publishers of states that are remembered
UNSTABLE = -0.2  # damping ratio with one period of delay, less than any real loop has
STEP_NS = 50_000_000  # of the system clock, beyond which a stamp does not mean any more what it did
NOISE_NS = 100_000  # between two readings of clocks that belong together


class NodeClock:
    """``now_ns`` for stamps and trajectories [ns], ``steady`` for timeouts [s].

    Under system time the clock of stamps runs on the steady clock, from the system clock's reading; every
    step of the system clock is noticed and reported, so that running motions can go on without it. What the
    machine's time service does otherwise, a change of rate, it does to both clocks. Under simulated time it
    is the ROS clock, and timeouts count its seconds.
    """

    def __init__(self, clock: Clock) -> None:
        if not isinstance(clock, ROSClock):
            raise TypeError("a node's clock is a ROSClock")
        self._clock = clock
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self.simulated = clock.ros_time_is_active

    def now_ns(self) -> int:
        """The time of stamps and trajectories [ns]."""
        if self.simulated:
            return int(self._clock.now().nanoseconds)
        return time.monotonic_ns() + self._offset_ns

    def steady(self) -> float:
        """The time of timeouts [s]. Under simulated time it is that: a slow machine times nothing out."""
        return self.now_ns() * 1e-9 if self.simulated else time.monotonic()

    def read_source(self) -> None:
        """Notice whether time is simulated; too slow to ask for every state."""
        self.simulated = self._clock.ros_time_is_active

    def check(self) -> int:
        """Follow the system clock; how far it was stepped since the last check [ns], 0 when it was not."""
        before_ns = time.monotonic_ns()
        offset_ns = time.time_ns() - before_ns
        step_ns = offset_ns - self._offset_ns
        if time.monotonic_ns() - before_ns > NOISE_NS or abs(step_ns) < NOISE_NS:
            return 0  # another process ran between the readings, or it is noise
        self._offset_ns = offset_ns
        return 0 if self.simulated else step_ns


class CommandOutput:
    """Efforts (n,) in model order on the controller's command topic."""

    def __init__(self, node: Node, joints: int) -> None:
        self.publisher = node.create_publisher(Float64MultiArray, COMMAND_TOPIC, COMMANDS_QOS)
        self._message = Float64MultiArray(data=array("d", bytes(8 * joints)))
        self._values = np.frombuffer(self._message.data)  # shares the message's memory

    def publish(self, tau: Array) -> None:
        self._values[:] = tau
        self.publisher.publish(self._message)

    def leave(self, tau: Array) -> None:
        """Publish the last command until even a best-effort reader of depth 1 must have it.

        A forward command controller is such a reader: of commands that were sent once, right before the
        publisher went, it lost 3 of 38; of those sent five times over 0.3 s none of 18.
        """
        for _ in range(LAST_REPEATS):
            self.publish(tau)
            time.sleep(LAST_PERIOD)
        self.publisher.wait_for_all_acked(FLUSH_TIME)


class StepOutput:
    """The reference with its effort, and each term when asked, while there are subscribers."""

    def __init__(self, node: Node, joint_names: Sequence[str]) -> None:
        self._names = list(joint_names)
        self._feedforward = node.create_publisher(JointState, "~/feedforward", BURST_QOS)
        self._terms = [
            node.create_publisher(JointState, f"~/terms/{name}", OUTPUT_QOS) for name in TERM_NAMES
        ]
        self.publishers: list[Publisher[JointState]] = [self._feedforward, *self._terms]
        self._feedforward_heard = self._terms_heard = False

    def look_for_subscribers(self, publish_terms: bool) -> None:
        """Ask the middleware for subscribers; too slow to ask for every state."""
        self._feedforward_heard = self._feedforward.get_subscription_count() > 0
        self._terms_heard = publish_terms and any(each.get_subscription_count() for each in self._terms)

    def publish(self, step: ControlStep, law: Law, now_ns: int) -> None:
        if self._feedforward_heard:
            q_d, qd_d, _ = step.reference
            message = self._message(now_ns, step.tau)
            message.position, message.velocity = array("d", q_d.tobytes()), array("d", qd_d.tobytes())
            self._feedforward.publish(message)
        if self._terms_heard:
            terms = efforts_by_term(law, step.reference, step.q, step.qd, step.direction)
            for publisher, tau in zip(self._terms, (*terms, step.tau - terms.total), strict=True):
                publisher.publish(self._message(now_ns, tau))

    def _message(self, now_ns: int, effort: Array) -> JointState:
        message = JointState(name=self._names, effort=array("d", effort.tobytes()))
        set_nanoseconds(message.header.stamp, now_ns)
        return message


class Source(NamedTuple):
    """A publisher of states: the names in its last message, when that came [s], and its number."""

    names: list[str]
    came: float
    number: int | None


class Meter:
    """Counts commands, and the time from a state's arrival in the node to its command."""

    def __init__(self, time: float) -> None:
        self.total = 0
        self.rate = 0.0  # [Hz], as it was read last
        self._since = time
        self._count, self._sum, self._largest = 0, 0.0, 0.0

    def count(self, latency: float) -> None:
        self._count += 1
        self._sum += latency
        if latency > self._largest:
            self._largest = latency

    def read(self, time: float) -> tuple[float, float]:
        """Mean and largest latency [s] since the last reading, and start anew."""
        elapsed, mean, largest = time - self._since, self._sum / max(self._count, 1), self._largest
        self.rate = self._count / elapsed if elapsed > 0.0 else 0.0
        self.total += self._count
        self._since, self._count, self._sum, self._largest = time, 0, 0.0, 0.0
        return mean, largest


class Controller:
    """A loaded model with its reader, control loop and publishers.

    ``values`` are the checked parameters, ``model`` the module as it was loaded.
    """

    def __init__(self, node: Node, clock: NodeClock, model: DynamicsModel, values: Values) -> None:
        self.model = model
        self.values = values
        self.loop = ControlLoop(build_settings(values, model))
        self.reader = JointStateReader(model, values)
        self.sources: dict[bytes, Source] = {}
        self.lost: int | None = None  # states between two that came from one publisher; None: not known
        self.created = time.monotonic()
        self.meter = Meter(self.created)
        self._clock, self._logger = clock, node.get_logger()
        self._commands = CommandOutput(node, len(model.joint_names))
        self._steps = StepOutput(node, model.joint_names)
        self.external = ObserverOutput(node, self.loop, values)

    @property
    def rate(self) -> float:
        """How often a state is answered [Hz], by simulated time where that passes; 0: not known."""
        if self._clock.simulated and self.meter.rate:
            return SECOND_NS / self.reader.period_ns
        return self.meter.rate

    def prepare(self, values: Values) -> LoopSettings:
        """LoopSettings for other parameter values. Raises ``KaneDynamicsError``."""
        settings = build_settings(values, self.model)
        self._refuse_unstable(settings.law, values)
        return settings

    def _refuse_unstable(self, law: Law, values: Values) -> None:
        """Raise ``RosParameterError`` for gains that grow and are far from stable at the measured rate."""
        before = self.loop.settings.law
        stiffer = law.mode != before.mode or (law.kp > before.kp).any() or (law.kd > before.kd).any()
        if not self.rate or not stiffer:
            return
        period = min(1.0 / self.rate, self.reader.period_ns / SECOND_NS)
        found = too_stiff(law, self.reader.q, period, UNSTABLE, delay=1)
        if found is not None:
            name = f"{law.mode}.kp"
            allowed = (
                f"gains with which joint {self.model.joint_names[found.joint]!r} is stable on states at "
                f"{1.0 / period:.0f} Hz; about the limit is {gain_arguments(law, self.reader.q, period, 0.0)}"
            )
            raise wrong_parameter(name, values[name], allowed)

    def apply(self, values: Values) -> None:
        """Use other parameter values from the next state on."""
        self.values, self.loop.settings = values, self.prepare(values)
        self.external.configure(values)
        self.reader.configure(values)

    def on_states(self, taken: Sequence[tuple[Any, Any]]) -> None:
        """Answer joint states that came together with one command, if the state is complete and fresh.

        Each message comes with what the middleware says of it.
        """
        arrival = time.monotonic()
        self._answer([message for message, _ in taken], arrival)
        for message, about in taken:  # after the command, which must not wait for it
            self._note_source(about, message.name, arrival)

    def _answer(self, messages: Sequence[Any], arrival: float) -> None:
        stepped = self.follow_clock()
        now_ns = self._clock.now_ns()
        reader, loop = self.reader, self.loop
        simulated = self._clock.simulated
        if simulated:
            now_ns = self._moment_of(messages, now_ns)
        steady = now_ns * 1e-9 if simulated else arrival
        if not reader.take_all(messages, now_ns, steady):
            return
        tau = loop.step(reader.q, reader.qd, now_ns, steady)
        if tau is not None:
            self._commands.publish(tau)
            self.meter.count(time.monotonic() - arrival)
            if loop.last is not None:
                self._steps.publish(loop.last, loop.settings.law, now_ns)
        if self.external.takes and not stepped:  # after the command; this stamp may be of before the step
            self.external.take(reader.q, reader.qd, reader.effort, tau, now_ns - reader.age_ns)

    def _moment_of(self, messages: Sequence[Any], now_ns: int) -> int:
        """Simulated time [ns]: /clock may be heard after the states of its time, or not yet at all."""
        newest = max(nanoseconds_of(message.header.stamp) for message in messages)
        timeout = self.reader.timeout
        from_the_future = now_ns and timeout and newest - now_ns > timeout * SECOND_NS
        return now_ns if from_the_future else max(now_ns, newest)

    def _note_source(self, about: Any, names: list[str], arrival: float) -> None:
        """Remember who sends which joints, and how many of its states are missing.

        Jazzy's middleware does not say who, others do not number the messages.
        """
        publisher, number = about.get("publisher_gid"), about.get("publication_sequence_number")
        if publisher is not None:
            before = self.sources.get(publisher["data"])
            if before is None and len(self.sources) > SOURCES:
                self.sources.clear()
            if number is not None and before is not None and before.number is not None:
                self.lost = (self.lost or 0) + max(number - before.number - 1, 0)
            self.sources[publisher["data"]] = Source(names, arrival, number)

    def prepare_trajectory(self, request: TrajectoryRequest, number: int, goal: Any) -> Candidate:
        """All that takes long about a trajectory, in any thread; ``goal`` is an action's, or None."""
        candidate = self.loop.prepare(request, self._clock.now_ns(), number)
        if goal is None:
            return candidate
        try:
            if candidate.prepared is None:
                raise TrajectoryError("the goal has no points; cancel a goal to stop", "empty_goal")
            own = own_tolerances(goal, self.model.joint_names, self.loop.settings.tolerances)
        except TrajectoryError as error:
            return Candidate(candidate.ticket, error)
        return replace(candidate, tolerances=own)

    def follow(self, candidate: Candidate) -> None:
        """Take a prepared trajectory; the loop's goals tell what becomes of it."""
        self.loop.no_state_reason = self.reader.no_state_reason()
        with suppress(TrajectoryError):
            self.loop.accept(candidate, self._clock.now_ns())

    def cancel(self, number: int) -> None:
        """Drop one trajectory, as its sender asks."""
        self.loop.cancel(number, self._clock.now_ns())

    def missing(self) -> list[str]:
        """The joints of which there is no fresh state."""
        return self.reader.missing(self._clock.steady())

    def watch(self) -> None:
        """Between states: react to missing ones, and look for subscribers."""
        tau = self.loop.watch(self._clock.steady())
        if tau is not None:
            self._commands.publish(tau)
        self._steps.look_for_subscribers(self.values["terms.publish"])
        self.external.look_for_subscribers()

    def annotate(self, request: TrajectoryRequest, abandoned: Callable[[], bool]) -> TrajectoryRequest:
        """The trajectory with efforts. Raises ``TrajectoryError``."""
        settings = self.loop.settings
        accuracy = Accuracy(self.values["annotate.error"] or None, int(self.values["annotate.max_points"]))
        limits = motion_limits(self.model.joints, None) if settings.rejects else None
        retime = self.values["annotate.retime"]
        return annotate(
            request, settings.law, settings.effort_limits, accuracy, limits, abandoned, retime=retime
        )

    def follow_clock(self) -> bool:
        """Look for a step of the system clock, of which the motion takes no part; whether there was one."""
        step_ns = self._clock.check()
        if not step_ns:
            return False
        self.reader.forget_stamps()
        self.external.observer.interrupt()
        far = abs(step_ns) > STEP_NS
        dropped = self.loop.shift_clock(step_ns, self._clock.now_ns(), drops=far)
        effect = "the trajectory, which had a stamp, is dropped" if dropped else "the motion goes on"
        if far:
            self._logger.warning(f"the system clock was stepped by {step_ns * 1e-9:.3f} s: {effect}")
        return True

    def forget(self, reason: str) -> None:
        """Drop the motion and the states; the next complete state is held."""
        self.loop.forget(reason)
        self.reader.forget()
        self.external.begin()

    def begin_stop(self) -> float:
        """Come to rest along the reference where ``safety.on_deactivate`` says so; for how long at most [s].

        The reference rests within ``safety.stop_time``; the arm gets as long again to come to rest too.
        """
        longest = self.values["safety.stop_time"]
        if self.values["safety.on_deactivate"] != "stop_and_hold" or not longest:
            return 0.0
        seconds = self.loop.stop(self._clock.now_ns(), longest, self.reader.period_ns / SECOND_NS)
        if self.loop.stopped:
            return 0.0
        if self._clock.simulated:
            self.reader.timeout = 0.0  # nobody hears /clock meanwhile: the states' stamps tell the time
        return seconds + float(longest)

    def leave_safe(self) -> None:
        """Send the last command, and wait until its subscribers have it."""
        asked = self.values["safety.on_deactivate"]
        reaction: Reaction = "hold" if asked == "stop_and_hold" else asked
        last, end = self.loop.last_effort(reaction), time.monotonic() + RAMP_TIME
        ahead = self._clock.steady() - time.monotonic()  # simulated time may stand still meanwhile
        self.reader.configure(self.values)
        if last is None:
            return
        while (now := time.monotonic()) < end:
            tau = self.loop.safe_effort(reaction, now + ahead)
            if tau is None or np.array_equal(tau, last):
                break
            self._commands.publish(tau)
            time.sleep(0.1 * LAST_PERIOD)
        self._commands.leave(last)

    def destroy(self, node: Node) -> None:
        for publisher in (self._commands.publisher, *self._steps.publishers):
            node.destroy_publisher(publisher)
        self.external.destroy()
