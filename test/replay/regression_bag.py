"""The committed bag and its expected torques; run this file to write both again.

An arm lags behind a trajectory to one point; the node runs in mode ``feedforward``, so its torque is the
inverse dynamics at the reference. The expected torques come from Pinocchio and the closed form of the
quintic: nothing of this package computes them.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pinocchio
from replay_bags import (
    JOINT_STATE,
    START,
    STORE,
    Array,
    effort,
    joint_state,
    pinocchio_arm,
    record,
    write_messages,
)

FOLDER = Path(__file__).parent / "data"
BAG, TORQUES = FOLDER / "regression.mcap", FOLDER / "regression_torques.csv"
RATE, STATES = 100.0, 160
SENT_AFTER = 10  # states before the trajectory
DURATION = 1.2  # [s] of the move
FROM, TO = np.array([0.2, 0.5, -0.8, 0.1, 0.3]), np.array([0.9, 0.9, -1.2, -0.6, 1.2])
LAG = 0.05  # [s] of the recorded arm behind the reference
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"


def quintic(time: Array) -> tuple[Array, Array, Array]:
    """From rest to rest: s = 10 x^3 - 15 x^4 + 6 x^5 with x = time / DURATION, and its derivatives."""
    x = np.clip(time / DURATION, 0.0, 1.0)[:, None]
    way = TO - FROM
    return (
        FROM + way * (10 * x**3 - 15 * x**4 + 6 * x**5),
        way * (30 * x**2 - 60 * x**3 + 30 * x**4) / DURATION,
        way * (60 * x - 180 * x**2 + 120 * x**3) / DURATION**2,
    )


def reference() -> tuple[Array, Array, Array]:
    """At each state: the move begins at the first state after the trajectory was sent."""
    return quintic((np.arange(STATES) - SENT_AFTER) / RATE)


def expected_torques() -> Array:
    """Pinocchio's inverse dynamics at the reference, with the URDF's damping and friction: (STATES, 5)."""
    q, qd, qdd = reference()
    arm: pinocchio.Model = pinocchio_arm()
    friction = arm.damping * qd + arm.friction * np.tanh(qd / 0.01)
    return np.asarray(effort(arm, q, qd, qdd) + friction)


def write() -> None:
    """Both files."""
    times = (np.arange(STATES) - SENT_AFTER) / RATE
    q, qd, qdd = quintic(times - LAG)
    names = pinocchio_arm().names[1:]
    states = record(q, qd, effort(pinocchio_arm(), q, qd, qdd), RATE, names)
    messages = [(int(states.received[i]), joint_state(states, i)) for i in range(STATES)]
    sent = START + round((SENT_AFTER - 0.5) * 1e9 / RATE)
    topics = {
        ("/joint_states", JOINT_STATE): messages,
        ("/joint_trajectory", TRAJECTORY): [(sent, _trajectory(names))],
    }
    with tempfile.TemporaryDirectory() as folder:
        bag = write_messages(Path(folder) / "bag", topics)
        shutil.copy(next(bag.glob("*.mcap")), BAG)
    np.savetxt(TORQUES, expected_torques(), fmt="%.17g", delimiter=",", header=",".join(names))


def _trajectory(names: list[str]) -> bytes:
    types = STORE.types
    time, nothing = types["builtin_interfaces/msg/Time"](0, 0), np.zeros(5)
    seconds, part = divmod(DURATION, 1.0)
    point = types["trajectory_msgs/msg/JointTrajectoryPoint"](
        TO,
        nothing,
        nothing,
        np.empty(0),
        types["builtin_interfaces/msg/Duration"](int(seconds), round(part * 1e9)),
    )
    message = types[TRAJECTORY](types["std_msgs/msg/Header"](time, ""), list(names), [point])
    return bytes(STORE.serialize_cdr(message, TRAJECTORY))


if __name__ == "__main__":
    write()
    sys.exit(0)
