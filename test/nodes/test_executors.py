"""The node under rclpy's executors and ours: beside others, in a thread, after a failing callback."""

import threading
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

import rclpy
from feedforward_lab import ABSOLUTE, PATIENT, SPACE, Lab
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray, String

from kane_dynamics_ros.nodes.feedforward_node import FeedforwardNode
from kane_dynamics_ros.nodes.process import StateFirstExecutor, take_all


@contextmanager
def in_this_process(domain, executor_of, spaces=("",)):
    """Feedforward nodes in namespaces, spun in a thread by an executor; ends them all."""
    words = ["--ros-args", *PATIENT, *ABSOLUTE]
    rclpy.init(args=words, domain_id=domain)
    made = []
    try:
        for space in spaces:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Node, "__init__", in_namespace(Node.__init__, SPACE + space))
                made.append(FeedforwardNode())
        executor = executor_of(made)

        def spin():
            with suppress(ExternalShutdownException):
                executor.spin()

        thread = threading.Thread(target=spin)
        thread.start()
        try:
            yield made, executor
        finally:
            executor.shutdown()
            thread.join()
    finally:
        for node in made:
            node.destroy_node()
        rclpy.shutdown()


def in_namespace(init, namespace):
    """``Node.__init__`` for a node in a namespace: a component's container gives it by remapping."""

    def initialise(self, name, **more):
        init(self, name, **more, namespace=namespace, cli_args=["--ros-args", "-r", f"__ns:={namespace}"])

    return initialise


def added(executor):
    def make(nodes):
        for node in nodes:
            executor.add_node(node)
        return executor

    return make


EXECUTORS = {
    "rclpy's, single": lambda nodes: added(SingleThreadedExecutor())(nodes),
    "rclpy's, multiple": lambda nodes: added(MultiThreadedExecutor(4))(nodes),
    "ours": lambda nodes: added(nodes[0].make_executor())(nodes),
}


@pytest.mark.parametrize("executor_of", EXECUTORS.values(), ids=EXECUTORS)
def test_two_nodes_in_one_process_both_command_their_arms(ros_domain, executor_of):
    labs = [Lab(ros_domain, space) for space in ("/left", "/right")]
    try:
        with in_this_process(ros_domain, executor_of, ("/left", "/right")):
            for lab in labs:
                lab.wait_until_commanding()
    finally:
        for lab in labs:
            lab.close()


def test_an_exception_in_a_callback_is_counted_and_the_node_goes_on(ros_domain, lab):
    """A time before 0 on /clock raises a ValueError within rclpy; others come from a callback of a user's."""
    clocks = lab.node.create_publisher(Clock, "/clock", 10)
    wishes = lab.node.create_publisher(String, "wishes", 10)
    with in_this_process(ros_domain, lambda nodes: added(nodes[0].make_executor())(nodes)) as (
        nodes,
        executor,
    ):
        [node] = nodes

        def refuse(message):
            raise RuntimeError(message.data)

        node.create_subscription(String, "wishes", refuse, 10)
        lab.wait_until_commanding()
        node.set_parameters([Parameter("use_sim_time", value=True)])
        negative = Clock()
        negative.clock.sec = -1
        lab.wait_for(clocks.get_subscription_count)
        lab.wait_for(lambda: executor.failures, lambda: clocks.publish(negative))
        lab.wait_for(wishes.get_subscription_count)
        lab.wait_for(
            lambda: executor.failures["RuntimeError in refuse"] > 1,
            lambda: wishes.publish(String(data="a wish")),
        )
        assert any(kind.startswith("ValueError") for kind in executor.failures)
        node.set_parameters([Parameter("use_sim_time", value=False)])
        lab.wait_until_commanding()


def test_nothing_is_taken_of_a_subscription_that_was_destroyed(ros_domain):
    """rclpy destroys that of /clock when ``use_sim_time`` is switched off, between two looks at the node."""
    rclpy.init(domain_id=ros_domain)
    try:
        node = Node("listener")
        subscription = node.create_subscription(Clock, "/clock", print, 10)
        assert take_all(subscription) == []
        node.destroy_subscription(subscription)
        assert take_all(subscription) == []
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_a_task_that_waits_for_a_future_goes_on_when_that_is_done(ros_domain):
    """By an event, not by the next look: the executor sleeps until a state comes, which none does here."""
    rclpy.init(domain_id=ros_domain)
    node = rclpy.create_node("waiter")
    subscription = node.create_subscription(Float64MultiArray, "states", lambda message: None, 10)
    executor = StateFirstExecutor(node, subscription, lambda taken: None)
    executor.add_node(node)
    wishes = [rclpy.task.Future() for _ in range(100)]

    async def wait():
        return [await each for each in wishes]

    try:
        task = executor.create_task(wait)
        looks = 0
        for k, wish in enumerate(wishes):
            wish.set_result(k)
            executor.wake()
            executor.spin_once(timeout_sec=60.0)
            looks += 1
        assert task.result() == list(range(100))
        assert looks == 100  # a spin for each
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()
