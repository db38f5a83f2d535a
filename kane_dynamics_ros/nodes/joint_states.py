"""Joint states by name: any order, any superset, several publishers, one complete state of the model."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask, finite
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.low_pass import Differentiated, differentiate
from kane_dynamics_ros.nodes.messages import nanoseconds_of
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.node_parameters import Values
from kane_dynamics_ros.text import listed, named

PRESUMED_PERIOD_NS = 20_000_000  # of states, until two stamps tell: few robots are controlled more slowly
SIMULATED_NS = 1_000_000 * SECOND_NS  # below that a stamp is a simulation's: 12 days
MOST_ORDERS = 16  # publishers repeat a few lists of names; hostile ones must not fill the memory


@dataclass
class NameOrder:
    """How one list of names maps to the model, and what came with it last.

    ``ours`` are indices into the model, ``theirs`` into the message; both are empty for messages about other
    joints only. ``continuous`` marks those of ours that turn without end. ``same``: all are ours, in our
    order, as with most publishers: nothing is put together then.
    """

    ours: NDArray[np.intp]
    theirs: NDArray[np.intp]
    continuous: Mask
    same: bool
    stamp_ns: int = 0
    newest_ns: int = 0
    filter: Differentiated | None = None


class JointStateReader:
    """The newest position and velocity of every joint, and when each came.

    ``q`` and ``qd`` are new arrays after each message, so they may be kept.
    """

    def __init__(self, model: DynamicsModel, values: Values) -> None:
        """``values`` are the checked parameters of the node."""
        self.refusals: Counter[str] = Counter()
        self.skipped = 0  # messages that waited behind a newer one of the same joints
        self.age_ns = 0  # of the last state that was taken
        self.period_ns = PRESUMED_PERIOD_NS  # between the last two stamps of one publisher
        self._joint_names = list(model.joint_names)
        self._continuous = np.array([joint.kind == "continuous" for joint in model.joints])
        self.configure(values)
        self.forget()

    def configure(self, values: Values) -> None:
        """Take states as other parameter values say."""
        self.timeout: float = values["safety.state_timeout"]  # [s]; 0: none
        self._missing_velocity: str = values["velocity.missing"]  # "differentiate" or "refuse"
        self._cutoff: float = values["velocity.cutoff"]  # of the differentiation [Hz]

    def forget(self) -> None:
        """Start anew, as after a jump of the clock."""
        n = len(self._joint_names)
        self.last_refusal = ""
        self.other_joints: list[str] = []  # the names in the last message, where none is ours
        self.forget_stamps()
        self.q, self.qd = np.zeros(n), np.zeros(n)
        self.effort = np.full(n, math.nan)  # NaN where none was reported
        self._came = np.full(n, -math.inf)  # [s]

    def forget_stamps(self) -> None:
        """Compare the next stamps with none of before, as after a step of the clock; the state is kept."""
        self._order_of = lru_cache(MOST_ORDERS)(self._new_order)

    def take_all(self, messages: Sequence[Any], now_ns: int, time: float) -> bool:
        """Take messages that came together, oldest first; of each list of names only the newest counts."""
        if len(messages) == 1:
            return self.take(messages[0], now_ns, time)
        newest: dict[tuple[str, ...], Any] = {}
        for message in messages:
            key = tuple(message.name)
            newest.pop(key, None)  # so that the order is that of the newest ones
            newest[key] = message
        self.skipped += len(messages) - len(newest)
        complete = [self.take(message, now_ns, time) for message in newest.values()]
        return any(complete)

    def take(self, message: Any, now_ns: int, time: float) -> bool:
        """Take one ``JointState``; whether there is now a complete, fresh state in ``q`` and ``qd``.

        ``now_ns`` is the clock of stamps [ns]; ``time`` [s] is one that never steps.
        """
        names = message.name
        order = self._order_of(tuple(names))
        if order is None:
            return self._refuse("duplicate_name", f"a joint is named twice in {listed(names)}")
        if not order.ours.size:
            self.other_joints = names
            return False  # not about us
        self.other_joints = []
        stamp_ns = nanoseconds_of(message.header.stamp)
        return (
            self._is_timely(stamp_ns, now_ns, order)
            and self._take_values(message, order, time)
            and (order.same or not self.missing(time))
        )

    def missing(self, time: float) -> list[str]:
        """Joints without a fresh state; those that never had one when the timeout is 0."""
        oldest = time - (self.timeout or math.inf)
        came = zip(self._joint_names, self._came.tolist(), strict=True)
        return [name for name, last in came if not last > oldest]

    def no_state_reason(self) -> str:
        """Why there is no complete state yet, from the messages that came."""
        never = self.missing(-math.inf)
        if 0 < len(never) < len(self._joint_names):
            return f"no state of {named('joint', never)} has come yet"
        if self.other_joints:
            ours = named("joint", self._joint_names)
            return f"joint_states carries {listed(self.other_joints)}, none of the model's {ours}"
        if self.last_refusal:
            return f"joint states are refused: {self.last_refusal}"
        return "no joint states have come yet"

    def _new_order(self, names: tuple[str, ...]) -> NameOrder | None:
        """The mapping for a list of names; None when a joint of ours is named twice."""
        places = {name: i for i, name in enumerate(names)}
        ours = [i for i, name in enumerate(self._joint_names) if name in places]
        if len(places) != len(names) and any(names.count(self._joint_names[i]) > 1 for i in ours):
            return None
        theirs = np.array([places[self._joint_names[i]] for i in ours], dtype=np.intp)
        same = list(names) == self._joint_names
        return NameOrder(np.array(ours, dtype=np.intp), theirs, self._continuous[ours], same)

    def _is_timely(self, stamp_ns: int, now_ns: int, order: NameOrder) -> bool:
        """Refuse stamps that are too old, in the future, or before one that was taken.

        A stamp of 0 means now; a clock of 0 is simulated time that has not begun, and tells nothing.
        """
        if not stamp_ns or not now_ns:
            self.age_ns = 0
            return True
        age_ns = now_ns - stamp_ns
        if self.timeout and abs(age_ns) > self.timeout * SECOND_NS:
            kind = "old_stamp" if age_ns > 0 else "future_stamp"
            why = f"the state is {abs(age_ns) / SECOND_NS:.3f} s {'old' if age_ns > 0 else 'in the future'}"
            why += f"; allowed is {self.timeout:g} s (safety.state_timeout)"
            if stamp_ns < SIMULATED_NS < age_ns:
                why += "; its stamp is of simulated time: is use_sim_time:=true missing?"
            return self._refuse(kind, why)
        if stamp_ns < order.newest_ns:
            return self._refuse("out_of_order", "the state is older than one that came before it")
        if order.stamp_ns and stamp_ns > order.stamp_ns:  # a repeated stamp tells no period
            self.period_ns = stamp_ns - order.stamp_ns
        order.stamp_ns = stamp_ns
        order.newest_ns = min(stamp_ns, now_ns)  # one stamp from the future must not hide what follows
        self.age_ns = age_ns
        return True

    def _take_values(self, message: Any, order: NameOrder, time: float) -> bool:
        position, velocity, length = message.position, message.velocity, len(message.name)
        if length and not len(position):
            return self._refuse("no_position", f"no positions of {length} names; the node needs them")
        if (
            len(position) != length
            or len(velocity) not in (0, length)
            or len(message.effort) not in (0, length)
        ):
            return self._refuse(
                "wrong_length",
                f"{length} names with {len(position)} positions, {len(velocity)} velocities and "
                f"{len(message.effort)} efforts; allowed: {length} positions, 0 or {length} of the others",
            )
        q, qd = _ours(position, order), _ours(velocity, order)
        if not (finite(q) and finite(qd)) and not self._complete(q, qd, order, time):
            return False
        effort = _ours(message.effort, order)
        if order.same:
            self.q, self.qd, self.effort = q, qd, effort
        else:
            self.q, self.qd, self.effort = self.q.copy(), self.qd.copy(), self.effort.copy()
            self.q[order.ours], self.qd[order.ours], self.effort[order.ours] = q, qd, effort
        self._came[order.ours] = time
        return True

    def _complete(self, q: Array, qd: Array, order: NameOrder, time: float) -> bool:
        """Put velocities in for NaN: they are missing, as joint_state_broadcaster says it."""
        missing = np.isnan(qd)
        if not (finite(q) and finite(qd[~missing])):
            return self._refuse(
                "not_finite", f"a position or velocity is not finite: {q.tolist()}, {qd.tolist()}"
            )
        if self._missing_velocity == "refuse":
            return self._refuse(
                "no_velocity", "the state has no velocities, and velocity.missing is 'refuse'"
            )
        before = order.filter or Differentiated(q, self.qd[order.ours], time)
        derived = differentiate(before, q, time, self._cutoff, order.continuous)
        if not finite(derived.qd):  # it would never leave the filter
            return self._refuse("not_finite", f"positions too far apart: {q.tolist()}")
        order.filter = derived
        qd[missing] = derived.qd[missing]
        return True

    def _refuse(self, kind: str, why: str) -> bool:
        self.refusals[kind] += 1
        self.last_refusal = why
        return False


def _ours(values: Any, order: NameOrder) -> Array:
    """The values of our joints, a new array; NaN where none are given."""
    if not len(values):
        return np.full(len(order.ours), math.nan)
    array: Array = np.array(values, np.float64)
    return array if order.same else array[order.theirs]
