"""What a bag says about one robot: joint states, commands, trajectories, the description."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.replay.errors import (
    JOINT_STATE_TYPE,
    AmbiguousTopicError,
    EmptyTopicError,
    JointMismatchError,
    MissingFieldError,
    NoJointStatesError,
    UnknownTopicError,
)
from kane_dynamics_ros.replay.reading.bag import Bag, open_bag
from kane_dynamics_ros.replay.reading.blocks import Block, Topic
from kane_dynamics_ros.replay.reading.messages import (
    CommandDecoder,
    Commands,
    Cursor,
    JointStateDecoder,
    JointStates,
    MalformedMessageError,
)
from kane_dynamics_ros.replay.renaming import Renaming, names_in_bag, proposal

COMMAND_TYPE = "std_msgs/msg/Float64MultiArray"
DESCRIPTION_TYPE = "std_msgs/msg/String"


@dataclass(frozen=True)
class Recording:
    """Everything of a bag that a verdict uses. ``seconds`` is the time that reading took."""

    bag: Path
    topic: str
    states: JointStates
    commands: Commands | None
    description: str | None
    notes: tuple[str, ...]
    damages: tuple[str, ...]
    seconds: float

    @property
    def rate(self) -> float:
        """Joint state messages read a second."""
        return len(self.states.stamps) / self.seconds


def read_recording(
    path: Path,
    joints: Sequence[str],
    topic: str | None = None,
    progress: Callable[[int], object] | None = None,
    renamings: Sequence[Renaming] = (),
) -> Recording:
    """Read a bag for a model with these joints. ``topic``: the joint states, when there are several.
    ``renamings``: of joints that the bag calls by other names; in the recording they have the model's.

    ``robot_description`` is searched in the whole bag, for it is latched and recorded once.
    Raises a ``BagError`` when there is nothing to judge; damage with a readable part is in ``damages``.
    """
    start = time.perf_counter()
    with open_bag(path) as bag:
        topics = bag.topics()
        if bag.damages and not topics:
            raise bag.damages[0]
        chosen = joint_state_topic(path, topics, topic)
        names = names_in_bag(joints, renamings)
        states, commands, description = _read(bag, topics, chosen, names, progress)
        if bag.damages and not len(states.stamps):
            raise bag.damages[0]
    _check(path, chosen, states, joints)
    return Recording(
        bag=path,
        topic=chosen,
        states=replace(states, joints=tuple(joints)),
        commands=commands,
        description=description,
        notes=tuple(_notes(topics, states)),
        damages=tuple(map(str, bag.damages)),
        seconds=time.perf_counter() - start,
    )


def _read(
    bag: Bag,
    topics: Iterable[Topic],
    state_topic: str,
    joints: Sequence[str],
    progress: Callable[[int], object] | None,
) -> tuple[JointStates, Commands | None, str | None]:
    """One pass over the bag: states, commands, description."""
    states, commands = JointStateDecoder(joints), CommandDecoder(len(joints))
    command_topic = _only(topics, COMMAND_TYPE, "/commands")
    description_topic = _only(topics, DESCRIPTION_TYPE, "robot_description")
    description: str | None = None
    wanted = {name for name in (state_topic, command_topic, description_topic) if name is not None}
    for block in bag.blocks(wanted):
        if block.topic == state_topic:
            states.add(block)
            if progress is not None:
                progress(len(block.offsets))
        elif block.topic == command_topic:
            commands.add(block)
        else:
            description = _text(block) or description
    return states.result(), commands.result(), description


def joint_state_topic(path: Path, topics: Iterable[Topic], wanted: str | None) -> str:
    """The topic asked for; else the only one named ``joint_states``; else the only one of the type."""
    candidates = [topic.name for topic in topics if topic.type == JOINT_STATE_TYPE]
    if wanted is not None:
        if wanted not in candidates:
            raise UnknownTopicError(path, wanted, candidates)
        return wanted
    if not candidates:
        raise NoJointStatesError(path, dict(topics))
    named = [name for name in candidates if name.rsplit("/", 1)[-1] == "joint_states"] or candidates
    if len(named) > 1:
        raise AmbiguousTopicError(path, named)
    return named[0]


def recorded_joints(path: Path, topic: str | None = None, blocks: int = 4) -> tuple[str, tuple[str, ...]]:
    """The topic of the joint states, and the joints named in its first some thousand messages.

    Raises a ``BagError`` where there are none.
    """
    with open_bag(path) as bag:
        topics = bag.topics()
        if bag.damages and not topics:
            raise bag.damages[0]
        chosen = joint_state_topic(path, topics, topic)
        decoder = JointStateDecoder(())
        for _, block in zip(range(blocks), bag.blocks({chosen}), strict=False):
            decoder.add(block)
        states = decoder.result()
    if not len(states.stamps):
        raise EmptyTopicError(path, chosen, states.dropped)
    return chosen, states.found


def _check(path: Path, topic: str, states: JointStates, joints: Sequence[str]) -> None:
    if not len(states.stamps):
        raise EmptyTopicError(path, topic, states.dropped)
    missing = [joint for joint in states.joints if joint not in states.found]
    if missing:
        raise JointMismatchError(path, topic, missing, states.found, proposal(joints, states.found))
    for field in ("position", "effort"):
        never = np.isnan(getattr(states, field)).all(axis=0)
        if never.any():
            raise MissingFieldError(
                path, topic, field, [joint for joint, no in zip(states.joints, never, strict=True) if no]
            )


def _only(topics: Iterable[Topic], kind: str, ending: str) -> str | None:
    """The topic of a type whose name ends so, if there is exactly one."""
    names = [topic.name for topic in topics if topic.type == kind and topic.name.endswith(ending)]
    return names[0] if len(names) == 1 else None


def _text(block: Block) -> str | None:
    """The last std_msgs/String of a block, if it is one."""
    try:
        return Cursor(block.message(len(block.offsets) - 1)).text()
    except MalformedMessageError:
        return None


def _notes(topics: Iterable[Topic], states: JointStates) -> Iterable[str]:
    others = [
        topic for topic in topics if topic.type not in (JOINT_STATE_TYPE, COMMAND_TYPE, DESCRIPTION_TYPE)
    ]
    known = get_typestore(Stores.ROS2_JAZZY).types if others else {}
    for topic in others:
        if topic.type not in known:
            yield f"topic {topic.name!r} of unknown type {topic.type!r} was skipped"
    if states.dropped:
        yield f"{states.dropped} joint state messages were malformed and dropped"
    if states.unstamped:
        yield f"{states.unstamped} joint states have no stamp; their receive time stands in"
