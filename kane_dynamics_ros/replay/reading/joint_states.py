"""The joint states of a bag as arrays in the model's joint order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.replay.reading.blocks import Block, Integers
from kane_dynamics_ros.replay.reading.groups import Grouper
from kane_dynamics_ros.replay.reading.layout import Doubles, Layout, joint_state_layout

UNREAD = np.iinfo(np.int64).min  # stands for the stamp of a message that was dropped
FIELDS = ("position", "velocity", "effort")


@dataclass(frozen=True)
class JointStates:
    """N messages, n joints. What a message does not tell is NaN, whatever the reason.

    ``stamps`` and ``received`` [ns], (N,); ``position``, ``velocity``, ``effort``: (N, n), in rad,
    rad/s, N m or m, m/s, N. ``found`` are the joints that appear in any message. Counted: messages
    ``dropped`` (malformed, or with arrays of another length than ``name``), and ``unstamped`` ones,
    for which the receive time stands in.
    """

    joints: tuple[str, ...]
    stamps: Integers
    received: Integers
    position: Doubles
    velocity: Doubles
    effort: Doubles
    found: tuple[str, ...]
    dropped: int
    unstamped: int


class JointStateDecoder:
    """Takes the blocks of one sensor_msgs/JointState topic, for the joints of a model."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._grouper = Grouper(joint_state_layout)
        self._parts = _Parts(len(joints))
        self._found: dict[str, None] = {}
        self._inconsistent = 0

    def add(self, block: Block) -> None:
        """Decode one block, a layout at a time."""
        shape = len(block.offsets), len(self._joints)
        stamps = np.full(shape[0], UNREAD)
        decoded: dict[str, Doubles] = {}
        for layout, chosen in self._grouper.groups(block):
            if not _consistent(layout):
                self._inconsistent += len(chosen)
                continue
            self._found.update(dict.fromkeys(layout.names))
            stamps[chosen] = layout.stamps(block, chosen)
            for name in FIELDS:
                values = _in_order(layout, block, chosen, name, self._joints)
                if len(chosen) == shape[0]:  # the usual case: one layout, nothing to merge
                    decoded[name] = values
                    continue
                if name not in decoded:
                    decoded[name] = np.full(shape, np.nan)
                decoded[name][chosen] = values
        self._parts.add(stamps, block.received, decoded)

    def result(self) -> JointStates:
        """Everything so far; the decoder is spent then."""
        stamps, received, position, velocity, effort = self._parts.joined()
        unstamped = stamps == 0
        stamps[unstamped] = received[unstamped]
        return JointStates(
            joints=self._joints,
            stamps=stamps,
            received=received,
            position=position,
            velocity=velocity,
            effort=effort,
            found=tuple(self._found),
            dropped=self._grouper.malformed + self._inconsistent,
            unstamped=int(unstamped.sum()),
        )


class _Parts:
    """The arrays of the blocks so far."""

    def __init__(self, joints: int) -> None:
        self._times: list[Integers] = [np.empty((2, 0), np.int64)]
        self._values: dict[str, list[Doubles]] = {name: [np.empty((0, joints))] for name in FIELDS}

    def add(self, stamps: Integers, received: Integers, decoded: dict[str, Doubles]) -> None:
        """Keep the messages that were read."""
        kept = stamps != UNREAD
        if not kept.any():
            return
        self._times.append(np.stack((stamps, received))[:, kept])
        for name in FIELDS:
            self._values[name].append(decoded[name] if kept.all() else decoded[name][kept])

    def joined(self) -> tuple[Integers, Integers, Doubles, Doubles, Doubles]:
        """One array each; the parts are given up field by field, so that little is held twice."""
        stamps, received = np.concatenate(self._times, axis=1)
        position, velocity, effort = (np.concatenate(self._values.pop(name)) for name in FIELDS)
        return stamps, received, position, velocity, effort


def _consistent(layout: Layout) -> bool:
    """Arrays are empty or as long as ``name``, and no name comes twice."""
    number = len(layout.names)
    lengths_fit = all(length in (0, number) for _, length in layout.arrays.values())
    return lengths_fit and len(set(layout.names)) == number


def _in_order(layout: Layout, block: Block, chosen: Integers, name: str, joints: tuple[str, ...]) -> Doubles:
    """One field of some messages in the model's joint order, (N, n); NaN where they do not tell it."""
    if layout.arrays[name][1] and layout.names == joints:
        return layout.doubles(block, chosen, name)
    ordered = np.full((len(chosen), len(joints)), np.nan)
    if layout.arrays[name][1]:
        ours = [i for i, joint in enumerate(joints) if joint in layout.names]
        theirs = [layout.names.index(joints[i]) for i in ours]
        ordered[:, ours] = layout.doubles(block, chosen, name)[:, theirs]
    return ordered
