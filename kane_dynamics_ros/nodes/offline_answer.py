"""What the feedforward node must answer to recorded states, computed without ROS's transport."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.control.splines import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward_settings import Values, build_settings
from kane_dynamics_ros.nodes.joint_state_reader import JointStateReader
from kane_dynamics_ros.nodes.messages import request_from
from kane_dynamics_ros.runtime.interface import DynamicsModel


def offline_answers(
    model: DynamicsModel,
    values: Values,
    played: Sequence[JointState | JointTrajectory],
    clocks: Iterable[int],
) -> Array:
    """Efforts (N, n), one row a joint state among the played messages; NaN where nothing may be published.

    ``values`` are the node's parameters; ``clocks`` [ns] what its clock said at each state. The time that
    never steps, which only timeouts use, is taken from the same clocks.
    """
    loop = ControlLoop(build_settings(values, model))
    reader = JointStateReader(model.joint_names)
    reader.timeout = values["safety.state_timeout"]
    rows: list[Array] = []
    nothing = np.full(len(model.joint_names), np.nan)
    times = iter(clocks)
    now_ns = 0
    for message in played:
        if isinstance(message, JointTrajectory):
            _follow(loop, message, now_ns)
            continue
        now_ns = next(times)
        taken = reader.take(message, now_ns, now_ns * 1e-9)
        tau = loop.step(reader.q, reader.qd, now_ns, now_ns * 1e-9) if taken else None
        rows.append(nothing if tau is None else tau.copy())
    return np.array(rows)


def _follow(loop: ControlLoop, trajectory: JointTrajectory, now_ns: int) -> None:
    with suppress(KaneDynamicsError):  # the node rejects such a trajectory too, and goes on
        loop.follow(request_from(trajectory), now_ns)
