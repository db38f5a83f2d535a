"""The effort commands of a bag as arrays."""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.replay.reading.blocks import Block, Integers
from kane_dynamics_ros.replay.reading.groups import Grouper
from kane_dynamics_ros.replay.reading.layout import Doubles, float64_array_layout


@dataclass(frozen=True)
class Commands:
    """Effort commands in the model's joint order: ``received`` [ns] (N,), ``effort`` (N, n).

    They carry no stamp: only the receive time places them.
    """

    received: Integers
    effort: Doubles


class CommandDecoder:
    """Takes the blocks of one std_msgs/Float64MultiArray topic; arrays of another length are left out."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._grouper = Grouper(float64_array_layout)
        self._received: list[Integers] = [np.empty(0, np.int64)]
        self._effort: list[Doubles] = [np.empty((0, joints))]

    def add(self, block: Block) -> None:
        """Decode one block."""
        for layout, chosen in self._grouper.groups(block):
            if layout.arrays["data"][1] == self._joints:
                self._received.append(block.received[chosen])
                self._effort.append(layout.doubles(block, chosen, "data"))

    def result(self) -> Commands | None:
        """All commands by receive time; ``None`` when there were none."""
        received = np.concatenate(self._received)
        order = np.argsort(received, kind="stable")
        return Commands(received[order], np.concatenate(self._effort)[order]) if len(received) else None
