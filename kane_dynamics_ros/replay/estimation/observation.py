"""What a recording shows of a motion: all that a verdict needs, at a fraction of the samples' memory."""

from dataclasses import dataclass
from pathlib import Path

from kane_dynamics_ros.replay.estimation.delay import Delay, command_delay
from kane_dynamics_ros.replay.estimation.motion import Motion, estimate
from kane_dynamics_ros.replay.reading.recording import Recording


@dataclass(frozen=True)
class Observation:
    """The estimated motion, and what the recording said beside.

    ``first_received`` [ns] is the receive time of the first message, ``messages_per_second`` the speed of
    reading.
    """

    bag: Path
    topic: str
    joints: tuple[str, ...]
    motion: Motion
    delay: Delay | None
    messages: int
    messages_per_second: float
    first_received: int
    description: str | None
    notes: tuple[str, ...]
    damages: tuple[str, ...]


def observe(recording: Recording, cutoff: float | None = None) -> Observation:
    """Estimate the motion; the recording can be dropped then. Raises ``TooShortError``."""
    states, commands = recording.states, recording.commands
    return Observation(
        bag=recording.bag,
        topic=recording.topic,
        joints=states.joints,
        motion=estimate(recording, cutoff),
        delay=command_delay(commands, states) if commands is not None else None,
        messages=len(states.stamps),
        messages_per_second=recording.rate,
        first_received=int(states.received[0]),
        description=recording.description,
        notes=recording.notes,
        damages=recording.damages,
    )
