"""Joints that a bag calls by other names than the model does."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kane_dynamics_ros.errors import KaneDynamicsError

ANY = "*"


class RenameError(KaneDynamicsError):
    """``--rename`` is not BAG_NAME=MODEL_NAME."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"--rename {found!r}: write BAG_NAME=MODEL_NAME, as often as needed; one * on each side stands "
            "for what both names share: --rename 'left_*=*'"
        )


class Renaming(NamedTuple):
    """The name in the bag and the name in the model; ``*`` in both stands for the same text."""

    bag: str
    model: str

    def in_bag(self, joint: str) -> str | None:
        """What the bag calls a joint of the model; None where this renaming is not about it."""
        if ANY not in self.model:
            return self.bag if joint == self.model else None
        before, _, after = self.model.partition(ANY)
        if len(joint) < len(before) + len(after) or not (joint.startswith(before) and joint.endswith(after)):
            return None
        return self.bag.replace(ANY, joint[len(before) : len(joint) - len(after)])

    def __str__(self) -> str:
        return f"{self.bag}={self.model}"


def read_renamings(texts: Sequence[str]) -> tuple[Renaming, ...]:
    """What ``--rename`` options mean. Raises ``RenameError``."""
    found = []
    for text in texts:
        bag, equals, model = text.partition("=")
        if not equals or not bag or not model or bag.count(ANY) != model.count(ANY) or bag.count(ANY) > 1:
            raise RenameError(text)
        found.append(Renaming(bag, model))
    return tuple(found)


def names_in_bag(joints: Sequence[str], renamings: Sequence[Renaming]) -> tuple[str, ...]:
    """What the bag calls the model's joints: the first renaming that is about a joint names it."""
    return tuple(
        next((name for each in renamings if (name := each.in_bag(joint)) is not None), joint)
        for joint in joints
    )


def proposal(joints: Sequence[str], found: Sequence[str]) -> Renaming | None:
    """The one renaming, of a prefix or a suffix, with which a bag that holds ``found`` has all ``joints``."""
    for candidate in _candidates(joints, found):
        names = names_in_bag(joints, [candidate])
        if all(name in found for name in names) and len(set(names)) == len(joints):
            return candidate
    return None


def _candidates(joints: Sequence[str], found: Sequence[str]) -> Iterator[Renaming]:
    """Renamings that fit the first joint, those that change least first."""
    if not joints:
        return
    joint = joints[0]
    pairs: Mapping[int, list[Renaming]] = {size: [] for size in range(len(joint), 0, -1)}
    for name in found:
        ending = _shared(joint[::-1], name[::-1])
        beginning = _shared(joint, name)
        if ending:
            old, new = name[: len(name) - ending], joint[: len(joint) - ending]
            pairs[ending].append(Renaming(old + ANY, new + ANY))
        if beginning:
            pairs[beginning].append(Renaming(ANY + name[beginning:], ANY + joint[beginning:]))
    for same in pairs.values():
        yield from same


def _shared(a: str, b: str) -> int:
    """How many characters two texts begin with alike."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count
