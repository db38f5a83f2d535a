"""What a bag records of one robot: its joint states, the commands sent to it, its description.

``read_recording`` chooses the topic of the joint states, translates the joints' names, reads the bag once,
and sets values aside that no robot can have.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay import messages
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import BagError, joint_mismatch
from kane_dynamics_ros.replay.messages import JOINT_STATE_TYPE, Commands, JointStates, Topic
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo
from kane_dynamics_ros.text import listed, named

COMMAND_TYPE = "std_msgs/msg/Float64MultiArray"
DESCRIPTION_TYPE = "std_msgs/msg/String"
# Topics whose efforts this package computed: feedforward_node's, the observer's, those of a report.
OWN_OUTPUT = re.compile(r"(^|/)(feedforward|external_torque|terms/[^/]+)$|(^|/)kane_dynamics/replay/[^/]+$")
# Words in the names of JointState topics by which other tools send commands or publish what they plan.
COMMAND_WORD = re.compile(
    "commands?|commanded|cmds?|desired|references?|targets?|goals?|setpoints?|planned|predicted|expected|requested"
    "|ideal|nominal|feedforward"
)
# Values that no robot has: a driver's overflow, a damaged bag.
LARGEST = {"position": 1e5, "velocity": 1e5, "effort": 1e7}  # [rad, rad/s, N m] or [m, m/s, N]
FAR_OUTSIDE = 0.2  # of the range between the limits: further outside than any arm is pushed
MOST_OUTSIDE = 0.1  # of a joint's positions that may be so far outside
MOST_IMPOSSIBLE = 0.01  # of a joint's values that may be set aside
MOST_BACK = 0.05  # of a joint's stamps that may be before the one received before
FEW = 10  # late messages of any recording, however short
RESTART = 1_000_000_000  # [ns] a stamp this far back is a looped bag, not a late message
ANY = "*"  # in a renaming: what both names share


# The topic of the joint states


def joint_state_topic(path: Path, topics: Iterable[Topic], wanted: str | None) -> str:
    """The topic asked for; else the only one named ``joint_states``; else the only one that may be measured.

    Raises ``BagError``.
    """
    every = list(dict.fromkeys(topic.name for topic in topics if topic.type == JOINT_STATE_TYPE))
    own = [name for name in every if is_own_output(name)]
    others = [name for name in every if name not in own]
    if wanted in own:
        raise BagError(
            f"{path}: topic {wanted!r}: its efforts were computed by a model, not measured, and say nothing "
            "about it; record joint_states and give that topic",
            "computed",
            bag=path,
            topic=wanted,
        )
    if wanted is not None and wanted not in others:
        raise BagError(
            f"{path}: no topic {wanted!r} of type {JOINT_STATE_TYPE}; allowed for --topic: {listed(others)}",
            "unknown_topic",
            bag=path,
            topic=wanted,
            allowed=others,
        )
    if wanted is not None:
        return wanted
    if not every:
        raise BagError(
            f"{path}: no topic of type {JOINT_STATE_TYPE}; found topics {listed(dict(topics))}; record "
            "joint_states, or name its topic with --topic",
            "no_joint_states",
            bag=path,
        )
    candidates = [name for name in others if not is_command(name)]
    if not candidates:
        measured = f"; should {listed(others)} be measured, name it with --topic" if others else ""
        raise BagError(
            f"{path}: no measured joint states: by their names the topics {listed([*own, *others])} carry "
            "computed or commanded efforts, which a model explains whatever the robot did; record "
            "joint_states" + measured,
            "no_measurement",
            bag=path,
        )
    named_so = [name for name in candidates if name.rsplit("/", 1)[-1] == "joint_states"] or candidates
    if len(named_so) > 1:
        raise BagError(
            f"{path}: several topics may be the joint states: {listed(named_so)}; choose one with --topic",
            "ambiguous_topic",
            bag=path,
            topics=named_so,
        )
    return named_so[0]


def is_own_output(topic: str) -> bool:
    """Whether a topic's efforts were computed by this package."""
    return OWN_OUTPUT.search(topic) is not None


def is_command(topic: str) -> bool:
    """Whether a topic, by its name, carries what was asked of a robot instead of what it did."""
    *parents, last = topic.lower().strip("/").split("/")
    return any(COMMAND_WORD.fullmatch(word) for word in (*parents, *last.split("_")))


# Joints that a bag calls by other names than the model does


class Renaming(NamedTuple):
    """The name in the bag and the name in the model; ``*`` in both stands for the same text."""

    bag: str
    model: str

    def in_bag(self, joint: str) -> str | None:
        """What the bag calls a joint of the model; None where this renaming is not about it."""
        before, any_text, after = self.model.partition(ANY)
        if not any_text:
            return self.bag if joint == self.model else None
        if len(joint) < len(before) + len(after) or not (joint.startswith(before) and joint.endswith(after)):
            return None
        return self.bag.replace(ANY, joint[len(before) : len(joint) - len(after)])

    def __str__(self) -> str:
        return f"{self.bag}={self.model}"


def read_renamings(texts: Sequence[str]) -> tuple[Renaming, ...]:
    """What ``--rename`` options mean.

    >>> read_renamings(["left_*=*"])[0].in_bag("elbow")
    'left_elbow'

    Raises ``KaneDynamicsError`` for what is not BAG_NAME=MODEL_NAME.
    """
    found = [Renaming(*text.partition("=")[::2]) for text in texts]
    for (bag, model), text in zip(found, texts, strict=True):
        if not bag or not model or bag.count(ANY) != model.count(ANY) or bag.count(ANY) > 1:
            raise KaneDynamicsError(
                f"--rename {text!r}: write BAG_NAME=MODEL_NAME, as often as needed; one * on each side "
                "stands for what both names share: --rename 'left_*=*'",
                "rename",
            )
    return tuple(found)


def names_in_bag(joints: Sequence[str], renamings: Sequence[Renaming]) -> tuple[str, ...]:
    """What the bag calls the model's joints: the first renaming that is about a joint names it."""
    return tuple(
        next((name for each in renamings if (name := each.in_bag(joint)) is not None), joint)
        for joint in joints
    )


def proposal(joints: Sequence[str], found: Sequence[str]) -> Renaming | None:
    """The one renaming, of a prefix or a suffix, with which a bag that holds ``found`` has all ``joints``.

    Of those that fit the first joint, the one that changes least.
    """
    candidates: list[tuple[int, Renaming]] = []  # with how many characters the names share
    for joint in joints[:1]:
        for name in found:
            ending, beginning = _shared(joint[::-1], name[::-1]), _shared(joint, name)
            prefixes = name[: len(name) - ending] + ANY, joint[: len(joint) - ending] + ANY
            suffixes = ANY + name[beginning:], ANY + joint[beginning:]
            candidates += [(ending, Renaming(*prefixes)), (beginning, Renaming(*suffixes))]
    for shared, candidate in sorted(candidates, key=lambda each: -each[0]):
        names = set(names_in_bag(joints, [candidate]))
        if shared and names <= set(found) and len(names) == len(joints):
            return candidate
    return None


def _shared(a: str, b: str) -> int:
    """How many characters two texts begin with alike."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))


# Values that no robot can have


@dataclass(frozen=True)
class Impossible:
    """``count`` of ``total`` values of a joint, set aside; the first was ``value``, at ``time`` [s]."""

    joint: str
    field: str
    count: int
    total: int
    value: float
    time: float

    def __str__(self) -> str:
        values = "value" if self.count == 1 else "values"
        return (
            f"{self.count} impossible {values} for the {self.field} of joint {self.joint!r} set aside, the "
            f"first {self.value:.3g} at {self.time:.2f} s"
        )


def set_aside(states: JointStates) -> tuple[JointStates, list[Impossible]]:
    """The states with NaN for every value that is infinite, or beyond any robot's, and which those are.

    Arrays without such a value are shared with ``states``, which stays as it is.
    """
    found = []
    cleaned: dict[str, Any] = {}
    for field, largest in LARGEST.items():
        values = getattr(states, field)
        for j, joint in enumerate(states.joints):
            chosen = np.flatnonzero(np.abs(values[:, j]) > largest)
            if not len(chosen):
                continue
            first = int(chosen[0])
            time = (int(states.stamps[first]) - int(states.stamps[0])) * 1e-9
            total = len(values) - int(np.isnan(values[:, j]).sum())
            found.append(Impossible(joint, field, len(chosen), total, float(values[first, j]), time))
            if field not in cleaned:
                cleaned[field] = values.copy()
            cleaned[field][chosen, j] = np.nan
    return replace(states, **cleaned), found


def check_units(bag: Path, topic: str, position: Array, joints: Sequence[JointInfo]) -> None:
    """Refuse positions (N, n) in degrees or encoder ticks: most of what they show is far outside the limits.

    Far is a fifth of the range between the limits, and half a turn at least; of a prismatic joint, all of the
    range. Missing values are NaN. Raises ``BagError`` with the code "units".
    """
    for column, joint in zip(position.T, joints, strict=True):
        if joint.kind == "continuous" or joint.lower is None or joint.upper is None:
            continue
        margin, guess = max(FAR_OUTSIDE * (joint.upper - joint.lower), np.pi), "degrees"
        if joint.kind == "prismatic":
            margin, guess = joint.upper - joint.lower, "millimetres, another joint"
        known = column[np.isfinite(column)]
        outside = (known < joint.lower - margin) | (known > joint.upper + margin)
        if outside.mean() > MOST_OUTSIDE:
            raise BagError(
                f"{bag}: topic {topic!r}: joint {joint.name!r} is at {known.min():.4g} to {known.max():.4g}, "
                f"its limits are {joint.lower:.4g} to {joint.upper:.4g} {joint.unit}: {guess}, or encoder "
                f"ticks? record positions in {joint.unit}",
                "units",
                bag=bag,
                joint=joint.name,
            )


def check_clock(bag: Path, topic: str, states: JointStates) -> None:
    """Refuse states, as they were received, that several clocks stamped: sorted, they are no motion.

    A few late messages are none, nor is a bag that was played again. Raises ``BagError`` ("clocks").
    """
    columns = [np.diff(states.stamps[np.isfinite(one)]) for one in states.position.T]
    every = np.diff(states.stamps)
    for steps in (*columns, np.where(every < -RESTART, every, 0)):  # of each joint; of joints in turns
        back = steps < 0
        if back.sum() > max(FEW, MOST_BACK * len(steps)):
            seconds = -float(np.median(steps[back])) * 1e-9
            raise BagError(
                f"{bag}: topic {topic!r}: {back.sum()} of {len(steps)} stamps go back, usually by "
                f"{seconds:.3g} s: do several publishers with clocks of their own stamp it? record one alone",
                "clocks",
                bag=bag,
            )


# Recordings


@dataclass(frozen=True)
class Recording:
    """Everything of a bag that a verdict uses.

    ``seconds`` is the time that reading took; ``revolving`` are the joints whose position is an angle, which
    a driver may publish modulo 2 pi; ``effort_delay`` [s]: by which efforts are stamped too late.
    """

    bag: Path
    topic: str
    states: JointStates
    commands: Commands | None
    description: str | None
    notes: tuple[str, ...]
    damages: tuple[str, ...]
    seconds: float
    revolving: tuple[str, ...] = ()
    effort_delay: float = 0.0


def read_recording(
    path: Path,
    joints: Sequence[str],
    topic: str | None = None,
    renamings: Sequence[Renaming] = (),
    *,
    revolving: Sequence[str] = (),
) -> Recording:
    """Read a bag for a model with these joints.

    ``topic``: the joint states, when there are several; ``renamings``: of joints that the bag calls by other
    names; in the recording they have the model's. ``revolving``: the joints that turn, see ``Recording``.

    ``robot_description`` is searched in the whole bag, for it is latched and recorded once.
    Raises a ``BagError`` when there is nothing to judge; damage with a readable part is in ``damages``.
    """
    start = time.perf_counter()
    names = names_in_bag(joints, renamings)
    state_decoder, command_decoder = messages.JointStateDecoder(names), messages.CommandDecoder(len(joints))
    description: str | None = None
    with open_bag(path) as bag:
        topics = bag.topics()
        chosen = joint_state_topic(path, topics, topic)
        command_topic = _only(topics, COMMAND_TYPE, "/commands")
        description_topic = _only(topics, DESCRIPTION_TYPE, "robot_description")
        wanted = {name for name in (chosen, command_topic, description_topic) if name is not None}
        for block in bag.blocks(wanted):
            if block.topic == chosen:
                state_decoder.add(block)
            elif block.topic == command_topic:
                command_decoder.add(block)
            else:
                description = messages.string(block.message(len(block.offsets) - 1)) or description
        states = state_decoder.result()
        if bag.damages and not len(states.stamps):
            raise bag.damages[0]
    if not len(states.stamps):
        raise empty_topic(path, chosen, states.dropped)
    recorded = {field: np.isfinite(getattr(states, field)).any(axis=0) for field in ("position", "effort")}
    refuse_incomplete(path, chosen, joints, names, states.found, recorded)
    states, impossible = set_aside(replace(states, joints=tuple(joints)))
    refuse_impossible(path, chosen, impossible)
    return Recording(
        bag=path,
        topic=chosen,
        states=states,
        commands=command_decoder.result(),
        description=description,
        notes=(*_notes(topics, states, chosen), *map(str, impossible)),
        damages=tuple(map(str, bag.damages)),
        seconds=time.perf_counter() - start,
        revolving=tuple(joint for joint in joints if joint in revolving),
    )


def read_for(model: DynamicsModel, bag: Path, topic: str | None, renamings: Sequence[Renaming]) -> Recording:
    """Read a bag for a model. Raises ``BagError`` for stamps of several clocks and for other units, too."""
    turning = [joint.name for joint in model.joints if joint.kind != "prismatic"]
    recording = read_recording(bag, model.joint_names, topic, renamings, revolving=turning)
    check_clock(bag, recording.topic, recording.states)
    check_units(bag, recording.topic, recording.states.position, model.joints)
    return recording


def refuse_incomplete(
    path: Path,
    topic: str,
    joints: Sequence[str],
    names: Sequence[str],
    found: Sequence[str],
    recorded: Mapping[str, Mask],
) -> None:
    """Raise ``BagError`` where the bag's name of a joint is not ``found``, or it has a field in no message.

    ``recorded``: by the name of a field, whether a message ever carries it (n,).
    """
    if missing := [name for name in names if name not in found]:
        raise joint_mismatch(path, topic, missing, found, proposal(joints, found))
    for field, ever in recorded.items():
        if missing := [name for name, yes in zip(names, ever, strict=True) if not yes]:
            raise BagError(
                f"{path}: topic {topic!r}: no {field} of {named('joint', missing)} in any message; a verdict "
                "needs position and measured effort: have the driver or joint_state_broadcaster publish them",
                "missing_field",
                bag=path,
                field=field,
                joints=tuple(missing),
            )


def refuse_impossible(path: Path, topic: str, impossible: Sequence[Impossible]) -> None:
    """Raise ``BagError`` where too many of a joint's values were set aside."""
    for one in impossible:
        if one.count > MOST_IMPOSSIBLE * one.total:
            raise BagError(
                f"{path}: topic {topic!r}: {one.count} of {one.total} values for the {one.field} of joint "
                f"{one.joint!r} are impossible (infinite, or beyond any robot's); correct what publishes "
                "them, and record again",
                "impossible",
                bag=path,
                joint=one.joint,
            )


def _only(topics: Iterable[Topic], kind: str, ending: str) -> str | None:
    """The topic of a type whose name ends so, if there is exactly one."""
    names = [topic.name for topic in topics if topic.type == kind and topic.name.endswith(ending)]
    return names[0] if len(names) == 1 else None


def _notes(topics: Iterable[Topic], states: JointStates, chosen: str) -> Iterator[str]:
    if is_command(chosen):
        yield f"topic {chosen!r} is named like a command; --topic says that it was measured"
    known = get_typestore(Stores.ROS2_JAZZY).types
    skipped = [f"{topic.name} ({topic.type})" for topic in topics if topic.type not in known]
    if skipped:
        yield f"skipped, of unknown type: {named('topic', skipped)}"
    if states.dropped:
        yield f"{states.dropped} joint state messages were malformed and dropped"
    if states.unstamped:
        yield f"{states.unstamped} joint states have no stamp; their receive time stands in"


def recorded_joints(path: Path, topic: str | None = None, blocks: int = 4) -> tuple[str, tuple[str, ...]]:
    """The topic of the joint states, and the joints named in its first some thousand messages.

    Raises a ``BagError`` where there are none.
    """
    with open_bag(path) as bag:
        chosen = joint_state_topic(path, bag.topics(), topic)
        decoder = messages.JointStateDecoder(())
        for _, block in zip(range(blocks), bag.blocks({chosen}), strict=False):
            decoder.add(block)
        states = decoder.result()
    if not len(states.stamps):
        raise empty_topic(path, chosen, states.dropped)
    return chosen, states.found


def empty_topic(path: Path, topic: str, dropped: int) -> BagError:
    """The error of a topic without a usable message."""
    why = f"all {dropped} messages on it are malformed" if dropped else "it holds zero messages"
    return BagError(
        f"{path}: topic {topic!r}: {why}; record while the joint state publisher runs",
        "empty_topic",
        bag=path,
        topic=topic,
        dropped=dropped,
    )
