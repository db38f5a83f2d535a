"""What can be wrong with a bag; each message names the bag, the topic and the way out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import listed, named

JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
LISTED = 20  # names that a message lists; a bag may hold any number


class BagError(KaneDynamicsError):
    """Base of the errors about one bag; ``bag`` is its path."""

    def __init__(self, bag: Path, message: str) -> None:
        self.bag = bag
        super().__init__(f"{bag}: {message}")


class BagNotFoundError(BagError):
    """There is no such file or folder."""

    def __init__(self, bag: Path) -> None:
        super().__init__(bag, "no such file or folder; give a rosbag2 folder, a .mcap or a .db3 file")


class NoBagFilesError(BagError):
    """A folder without a single file of a known storage."""

    def __init__(self, bag: Path) -> None:
        super().__init__(
            bag, "the folder holds no bag file; allowed are MCAP and SQLite 3 files, each also under zstd"
        )


class UnknownStorageError(BagError):
    """The first bytes are of no storage that rosbag2 writes."""

    def __init__(self, bag: Path, head: bytes) -> None:
        super().__init__(
            bag,
            f"not a bag file: it starts with {head.hex(' ') or 'nothing (0 bytes)'}; allowed are MCAP and "
            "SQLite 3 files, each also under zstd; record again, or give the bag's folder",
        )


class DamagedBagError(BagError):
    """The file ends early or is corrupt; raised after everything readable has been handed over."""

    def __init__(self, bag: Path, reason: str) -> None:
        super().__init__(bag, f"damaged: {reason}; what could be read before it was used")


class UnpackError(BagError):
    """A compressed file cannot be unpacked for want of room, or of rights."""

    def __init__(self, bag: Path, folder: Path, reason: str) -> None:
        super().__init__(
            bag, f"it cannot be unpacked into {folder}: {reason}; let TMPDIR name a folder with more room"
        )


class NoJointStatesError(BagError):
    """No topic of type JointState."""

    def __init__(self, bag: Path, topics: Mapping[str, str]) -> None:
        super().__init__(
            bag,
            f"no topic of type {JOINT_STATE_TYPE}; found topics {listed(topics)}; "
            "record joint_states, or name its topic with --topic",
        )


class UnknownTopicError(BagError):
    """The topic asked for is not in the bag, or is of another type."""

    def __init__(self, bag: Path, topic: str, candidates: Sequence[str]) -> None:
        super().__init__(
            bag,
            f"no topic {topic!r} of type {JOINT_STATE_TYPE}; allowed for --topic: {listed(candidates)}",
        )


class AmbiguousTopicError(BagError):
    """Several topics could be the joint states."""

    def __init__(self, bag: Path, candidates: Sequence[str]) -> None:
        super().__init__(
            bag,
            f"several topics may be the joint states: {listed(candidates)}; choose one with --topic",
        )


class OwnOutputError(BagError):
    """The topic asked for carries efforts that this package computed."""

    def __init__(self, bag: Path, topic: str) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: its efforts were computed by a model, not measured, and say nothing about it; "
            "record joint_states and give that topic",
        )


class NoMeasurementError(BagError):
    """All topics of type JointState carry commands or computed efforts."""

    def __init__(self, bag: Path, own: Sequence[str], commanded: Sequence[str]) -> None:
        way_out = "record joint_states"
        if commanded:
            way_out += f"; should {listed(commanded)} be measured, name it with --topic"
        super().__init__(
            bag,
            f"no measured joint states: by their names the topics {listed([*own, *commanded])} carry "
            f"computed or commanded efforts, which a model explains whatever the robot did; {way_out}",
        )


class ImpossibleSamplesError(BagError):
    """Too many values of one joint that no robot has."""

    def __init__(self, bag: Path, topic: str, joint: str, field: str, count: int, total: int) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: {count} of {total} values for the {field} of joint {joint!r} are impossible "
            "(infinite, or beyond any robot's); correct what publishes them, and record again",
        )


class NotFiniteError(BagError):
    """The figures of a joint are not finite."""

    def __init__(self, bag: Path, joints: Sequence[str]) -> None:
        super().__init__(
            bag,
            f"no verdict: the figures of {named('joint', joints)} are not finite; look for values in the bag "
            "that the robot cannot have had",
        )


class NoMotionError(BagError):
    """Nothing moves, so that nothing can be said."""

    def __init__(self, bag: Path, topic: str, travel: Mapping[str, str]) -> None:
        sizes = ", ".join(f"{name!r} ({size})" for name, size in list(travel.items())[:LISTED])
        super().__init__(
            bag,
            f"topic {topic!r}: hardly any motion of {'joint' if len(travel) == 1 else 'joints'} {sizes} in "
            "what is compared; without motion no term of the model can be judged: record a motion of every "
            "joint, fast and slow, up and down",
        )


class TooSlowError(BagError):
    """Samples too far apart to estimate accelerations."""

    def __init__(self, bag: Path, topic: str, found: float, lowest: float) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: recorded at {found:.3g} Hz; at least {lowest:g} Hz are needed to estimate "
            "accelerations, 100 Hz or more are better",
        )


class ReportFolderError(BagError):
    """The report's folder holds what the report would replace, or the bag itself."""

    def __init__(self, bag: Path, path: Path, reason: str) -> None:
        super().__init__(bag, f"--report: {path} {reason}; give another folder")


class EmptyTopicError(BagError):
    """The topic is there without a usable message."""

    def __init__(self, bag: Path, topic: str, dropped: int) -> None:
        why = f"all {dropped} messages on it are malformed" if dropped else "it holds zero messages"
        super().__init__(bag, f"topic {topic!r}: {why}; record while the joint state publisher runs")


class MissingFieldError(BagError):
    """Joints whose position or effort no message carries."""

    def __init__(self, bag: Path, topic: str, field: str, joints: Sequence[str]) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: no {field} of {named('joint', joints)} in any message; a verdict needs "
            "position and measured effort: have the driver or joint_state_broadcaster publish them",
        )


class JointMismatchError(BagError):
    """Joints of the model that no message names.

    ``proposed`` is a renaming that would make all of them fit; not ``renamable`` where none is possible.
    """

    def __init__(
        self,
        bag: Path,
        topic: str,
        missing: Sequence[str],
        found: Sequence[str],
        proposed: object = None,
        renamable: bool = True,
    ) -> None:
        self.missing, self.found, self.proposed = tuple(missing), tuple(found), proposed
        way_out = "use the model of the robot that was recorded"
        if proposed is not None:
            way_out = f"all joints fit with --rename '{proposed}'"
        elif renamable:
            way_out += ", or --rename BAG_NAME=MODEL_NAME"
        super().__init__(
            bag,
            f"topic {topic!r}: {named('joint', missing)} of the model never "
            f"{'appears' if len(missing) == 1 else 'appear'}; found joints {listed(found)}; {way_out}",
        )


class TooShortError(BagError):
    """No interval without a gap is long enough to filter."""

    def __init__(self, bag: Path, topic: str, longest: float, needed: float) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: the longest interval without a gap lasts {longest:.3g} s; "
            f"at least {needed:.3g} s are needed to estimate accelerations",
        )


class CutoffError(BagError):
    """A cut-off that the recorded rate cannot carry."""

    def __init__(self, bag: Path, topic: str, found: float, highest: float) -> None:
        super().__init__(
            bag,
            f"topic {topic!r}: a cut-off of {found:g} Hz is too high for its rate; at most {highest:.4g} Hz, "
            "an eighth of the rate, are allowed; leave --cutoff out to have one chosen",
        )


class DaskMissingError(KaneDynamicsError):
    """``--dask`` without Dask."""

    def __init__(self) -> None:
        super().__init__(
            "--dask needs Dask's client, which is not installed: pip install '.[dask]' in a checkout"
        )


class DaskAddressError(KaneDynamicsError):
    """No Dask scheduler answers."""

    def __init__(self, address: str, reason: object) -> None:
        super().__init__(
            f"--dask {address}: no scheduler answers there ({reason}); give the address it printed"
        )
