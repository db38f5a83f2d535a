"""How old the state is that a command answers at the hardware: the node's, and the C++ controller's.

A loop at 1 kHz plays controller_manager. Each cycle reads a state and publishes it, as
joint_state_broadcaster does, and gives the hardware the newest command that has come by then, as
forward_command_controller does. The node is a process of its own, over DDS. The controller's command is
computed between reading and writing: its age is what the cycle of its core takes.
"""

import os
import time

import numpy as np

from benchmark.control_core import cycle_times
from benchmark.line import Line
from benchmark.round_trip import (
    PATIENT,
    RATE,
    RUN,
    START,
    Client,
    computed_torque_answer,
    running,
    spinning_node,
)
from kane_dynamics_ros.ros_domain import free_domain, private_variables

SECONDS = 20.0
PERCENTILES = (50.0, 90.0, 99.0)


class Hardware(Client):
    """Writes a command in each cycle, the newest that has come."""

    def ages(self, count: int) -> np.ndarray:
        """Of each cycle's command, the time since the state was read that it answers [s]."""
        positions = START + self._random.uniform(-1e-3, 1e-3, (count, len(START)))
        found = []
        next_time = time.perf_counter()
        for position in positions:
            time.sleep(max(next_time - time.perf_counter(), 0.0))
            next_time = max(next_time + 1.0 / RATE, time.perf_counter())
            found.append(time.perf_counter() - self.answered_state)
            self._send(position)
        return np.array(found)


def node_ages(seconds: float = SECONDS) -> np.ndarray:
    """The ages of the node's commands [s], one for each cycle."""
    with free_domain() as domain:
        os.environ.update(private_variables(domain))
        name = f"age{RUN}"
        with running("kane_dynamics_ros.nodes.feedforward_node", name, *PATIENT), spinning_node() as node:
            hardware = Hardware(node, name, computed_torque_answer())
            hardware.wait_until_answered()
            hardware.ages(RATE)
            return hardware.ages(round(seconds * RATE))


def lines() -> list[Line]:
    """The controller's age beside percentiles of the node's."""
    ages = 1e6 * node_ages()
    cycle = 1e-3 * cycle_times()[0]
    return [
        Line(
            "age of a command at the hardware, 1 kHz, by the controller",
            cycle,
            float(np.percentile(ages, share)),
            f"feedforward_node, {share:g} %",
            "us",
        )
        for share in PERCENTILES
    ]
