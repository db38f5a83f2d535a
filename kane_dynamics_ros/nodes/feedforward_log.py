"""Log lines about the controller's condition: changes at once, what goes on once in a while."""

import math

from rclpy.impl.rcutils_logger import RcutilsLogger

from kane_dynamics_ros.control.limits import overloaded_by_gravity
from kane_dynamics_ros.control.supervision import Alarm
from kane_dynamics_ros.nodes.controller import Controller

REPEAT = 5.0  # [s]
GRACE = 2.0  # [s] for the first states to come


class ConditionLog:
    """Compares the controller's condition with what was said last. Not in the path of a state."""

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._alarm: Alarm | None = None
        self._refused = 0

    def tell_limits(self, controller: Controller) -> None:
        """Say once which effort limits are not known, and which ones gravity alone exceeds."""
        settings, names = controller.loop.settings, controller.model.joint_names
        limits = zip(names, settings.effort_limits, strict=True)
        unknown = [name for name, limit in limits if limit == math.inf]
        if unknown:
            self._logger.warning(
                f"the URDF gives no effort limit, or 0, for joint {', '.join(unknown)}: not clamped"
            )
        for name, found, limit in overloaded_by_gravity(settings.law.rigid, settings.effort_limits):
            self._logger.warning(
                f"joint {name}: gravity alone needs up to {found:.3g}, the effort limit is {limit:g}"
            )

    def look(self, controller: Controller, time: float) -> None:
        """Say what is new at ``time`` [s], a steady clock's."""
        self._log_alarm(controller.loop.alarm)
        self._log_refusals(controller)
        missing = controller.reader.missing(time) if time - controller.created > GRACE else []
        if missing and controller.loop.alarm is None:
            self._logger.warning(
                f"no fresh state of joint {', '.join(missing)} on joint_states", throttle_duration_sec=REPEAT
            )

    def _log_alarm(self, alarm: Alarm | None) -> None:
        before, self._alarm = self._alarm, alarm
        if alarm is not None and (before is None or before.fault != alarm.fault):
            self._logger.error(f"{alarm.fault}: reaction is {alarm.reaction}; the trajectory is dropped")
        elif alarm is None and before is not None:
            self._logger.info(f"states are good again after {before.fault}: holding the measured position")

    def _log_refusals(self, controller: Controller) -> None:
        refused = controller.reader.refusals.total()
        if refused > self._refused:
            self._logger.warning(
                f"joint_states: {controller.reader.refused_why} ({refused} messages refused so far)",
                throttle_duration_sec=1.0,
            )
        self._refused = refused
