"""What can be wrong with a bag."""

from collections.abc import Sequence
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import listed, named


class BagError(KaneDynamicsError):
    """A bag that cannot be read or judged; ``bag`` is its path, ``code`` one of these words.

    ``not_found``, ``no_files``, ``unknown_storage``, ``damaged``, ``no_room``: its files.
    ``no_joint_states``, ``unknown_topic``, ``ambiguous_topic``, ``computed``, ``no_measurement``,
    ``empty_topic``: the topic of the joint states.
    ``joint_mismatch``, ``missing_field``, ``impossible``, ``units``, ``velocities``, ``no_effort``,
    ``no_motion``, ``not_finite``, ``too_slow``, ``too_short``, ``cutoff``, ``no_description``: what it holds.
    ``folder``: where the report about it is to go.
    """

    bag: Path


class TooShortError(BagError):
    """No interval without a gap is long enough to filter: ``longest`` of ``needed`` seconds ("too_short")."""

    longest: float
    needed: float


class JointMismatchError(BagError):
    """Joints that no message names; ``proposed`` is a renaming that would make all of them fit, or None."""

    missing: tuple[str, ...]
    found: tuple[str, ...]
    proposed: object


def joint_mismatch(
    bag: Path,
    topic: str,
    missing: Sequence[str],
    found: Sequence[str],
    proposed: object = None,
    *,
    renamable: bool = True,
    part: str = "",
) -> JointMismatchError:
    """The error of joints of the model that never appear; not ``renamable`` where no option renames them.

    ``part``: the options of the part of the robot that was recorded.
    """
    way_out = f"give {part}" if part else "use the model of the robot that was recorded"
    if proposed is not None:
        way_out = f"all joints fit with --rename '{proposed}'"
    elif renamable:
        way_out += ", or --rename BAG_NAME=MODEL_NAME"
    return JointMismatchError(
        f"{bag}: topic {topic!r}: {named('joint', missing)} of the model never "
        f"{'appears' if len(missing) == 1 else 'appear'}; found joints {listed(found)}; {way_out}",
        "joint_mismatch",
        bag=bag,
        missing=tuple(missing),
        found=tuple(found),
        proposed=proposed,
    )


def damaged(file: Path, reason: object) -> BagError:
    """The file ends early or is corrupt; raised after everything readable has been handed over."""
    return BagError(f"{file}: damaged: {reason}; what could be read before it was used", "damaged", bag=file)
