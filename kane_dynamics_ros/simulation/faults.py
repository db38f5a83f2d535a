"""Faults of an arm and its driver, at set times or switched while running.

| kind | what happens | joint |
|---|---|---|
| ``freeze`` | the reported values stay what they were, with fresh stamps | optional |
| ``dropout`` | no joint states | no |
| ``nan`` | position, velocity and effort are reported as NaN | optional |
| ``stale`` | the stamps stay what they were, the values are fresh | no |
| ``lost`` | the joint is missing from the messages | required |
| ``lock`` | the joint cannot move | required |
| ``blackout`` | commands do not arrive | no |
| ``contact`` | a wrench, a wall or a hand at the tip: see ``contact`` | the contact's text |

Without a joint, a fault that may have one applies to every joint.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import unknown_joint
from kane_dynamics_ros.simulation.contact import ContactLaw, contact_text, parse_contact
from kane_dynamics_ros.simulation.engine import TipLoad, TipMotion, option_error

JOINT_RULE = {
    "freeze": "optional",
    "dropout": "no",
    "nan": "optional",
    "stale": "no",
    "lost": "required",
    "lock": "required",
    "blackout": "no",
    "contact": "no",
}
_FORM = (
    "KIND[:JOINT][@START..[END]], times in s, as lock:JOINT@2..3.5, or contact:hand force=0,30,0@9..10; KIND "
    f"is one of {', '.join(JOINT_RULE)}"
)
_PATTERN = re.compile(r"(?P<kind>\w+)(:(?P<joint>.+?))?(@(?P<start>[^.]*(\.\d+)?)\.\.(?P<end>.*))?")


@dataclass(frozen=True)
class Fault:
    """One fault from ``start`` until before ``end`` [s]; ``contact`` is the law of a contact."""

    kind: str
    joint: str | None = None
    start: float = -math.inf
    end: float = math.inf
    contact: ContactLaw | None = None

    def __post_init__(self) -> None:
        rule = JOINT_RULE.get(self.kind)
        wrong_joint = (rule == "no" and self.joint) or (rule == "required" and not self.joint)
        wrong_contact = (self.kind == "contact") != (self.contact is not None)
        if rule is None or wrong_joint or wrong_contact or not self.start < self.end:
            allowed = f"{_FORM}; joint: {rule or 'by kind'}; START < END"
            raise option_error("fault", str(self), allowed)

    def __str__(self) -> str:
        what = self.joint if self.contact is None else contact_text(self.contact)
        joint = f":{what}" if what else ""
        always = (self.start, self.end) == (-math.inf, math.inf)
        return self.kind + joint + ("" if always else f"@{self.start:g}..{self.end:g}")


def parse_fault(text: str) -> Fault:
    """Read ``KIND[:JOINT][@START..[END]]``, for instance ``lock:alpha_3@2.0..3.5``.

    A contact takes its law in place of the joint: ``contact:hand force=0,15,0@2..2.5``.

    Raises ``SimulationError``.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise option_error("fault", text, _FORM)
    try:
        start = float(match["start"]) if match["start"] else -math.inf
        end = float(match["end"]) if match["end"] else math.inf
    except ValueError:
        raise option_error("fault", text, _FORM) from None
    if match["kind"] == "contact":
        return Fault("contact", None, start, end, parse_contact(match["joint"] or ""))
    return Fault(match["kind"], match["joint"], start, end)


class Faults:
    """The faults of one arm: a schedule, and those switched by hand. ``update`` once per time step."""

    def __init__(self, joint_names: Sequence[str], schedule: Iterable[Fault] = ()) -> None:
        """Raises ``UnknownJointError``."""
        self._names = tuple(joint_names)
        self._schedule = tuple(schedule)
        self._check(self._schedule)
        self._switched: tuple[Fault, ...] = ()
        self.active: tuple[Fault, ...] = ()
        self._next_change = -math.inf
        self._first_seen: dict[Fault, float] = {}

    def switch(self, faults: Iterable[Fault]) -> None:
        """Replace the faults that were switched by hand; the schedule stays. Raises ``UnknownJointError``."""
        switched = tuple(faults)
        self._check(switched)
        self._switched = switched
        self._first_seen.clear()
        self._next_change = -math.inf

    def update(self, time: float) -> bool:
        """Bring ``active`` to ``time`` [s]; whether it may have changed."""
        if time < self._next_change:
            return False
        faults = self._schedule + self._switched
        self.active = tuple(fault for fault in faults if fault.start <= time < fault.end)
        changes = [moment for fault in faults for moment in (fault.start, fault.end) if moment > time]
        self._next_change = min(changes, default=math.inf)
        return True

    def find(self, kind: str) -> Fault | None:
        """The first active fault of a kind."""
        return next((fault for fault in self.active if fault.kind == kind), None)

    def joints(self, kind: str) -> list[int]:
        """Indices of the joints that an active fault of this kind concerns."""
        faults = [fault for fault in self.active if fault.kind == kind]
        everything = any(fault.joint is None for fault in faults)
        named = {fault.joint for fault in faults}
        return [i for i, name in enumerate(self._names) if everything or name in named] if faults else []

    def tip_load(self, time: float) -> TipLoad | None:
        """What touches the tip at ``time`` [s], all contacts together; None when nothing does.

        A contact switched by hand begins when it is first seen.
        """
        if not self.active:
            return None
        touching = [(fault, fault.contact) for fault in self.active if fault.contact is not None]
        if not touching:
            return None
        spans = [(time - self._beginning(fault, time), fault.end - time) for fault, _ in touching]

        def load(tip: TipMotion) -> Array:
            wrenches = [
                contact.wrench(tip, since, until)
                for (_, contact), (since, until) in zip(touching, spans, strict=True)
            ]
            total: Array = np.sum(wrenches, axis=0)
            return total

        return load

    def _beginning(self, fault: Fault, time: float) -> float:
        """When the fault began [s]; for one without a start, when it was first asked for."""
        return fault.start if math.isfinite(fault.start) else self._first_seen.setdefault(fault, time)

    def _check(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            if fault.joint is not None and fault.joint not in self._names:
                raise unknown_joint(fault.joint, self._names)
