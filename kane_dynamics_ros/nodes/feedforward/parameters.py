"""Every parameter of ``feedforward_node``, and the settings of control loop and observer that they make.

The parameters are in ``runtime/node_parameters.yaml``; each joint has two more.
"""

from collections.abc import Sequence

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control import limits
from kane_dynamics_ros.control.goals import Tolerances
from kane_dynamics_ros.control.law import Law, TermSwitches, damped_gains, effective_inertia
from kane_dynamics_ros.control.loop import LoopSettings
from kane_dynamics_ros.control.observer import ObserverSettings, Thresholds, default_thresholds
from kane_dynamics_ros.control.states import FAULT_KINDS, Safety
from kane_dynamics_ros.control.validation import Rules
from kane_dynamics_ros.runtime import DynamicsModel, Payload
from kane_dynamics_ros.runtime.node_parameters import (
    NODE_TABLE,
    Declaration,
    Values,
    configured_model,
    declarations,
    friction_beyond,
    given,
    per_joint,
)

TABLE = declarations(NODE_TABLE)
OF_EACH_JOINT = (
    ("trajectory", 0.5, "Largest position error; 0: any"),
    ("goal", 0.2, "Largest position error after a trajectory's end; 0: any"),
)


def joint_table(joint_names: Sequence[str]) -> tuple[Declaration, ...]:
    """The parameters that each joint has: known when the model is."""
    return tuple(
        Declaration(f"constraints.{joint}.{name}", "number", default, text, "rad or m", 0.0, 1e3)
        for joint in joint_names
        for name, default, text in OF_EACH_JOINT
    )


# The settings that checked values and a model make


def build_settings(values: Values, loaded_model: DynamicsModel) -> LoopSettings:
    """LoopSettings for ``values`` and the model as it was loaded. Raises ``KaneDynamicsError``."""
    joints, n = loaded_model.joints, len(loaded_model.joints)
    beyond = friction_beyond(values, loaded_model.joint_names)
    switches = TermSwitches(**{name: values[f"terms.{name}"] for name in TermSwitches.__dataclass_fields__})
    model = configured_model(values, loaded_model)
    kp, kd = (_gain(values, model, name) for name in ("kp", "kd"))
    reactions = {fault: values[f"safety.on_{fault}"] for fault in FAULT_KINDS}
    thresholds = {
        name: values[f"safety.{name}"] for name in Safety.__dataclass_fields__ if name != "reactions"
    }
    own = {each.name: each.default for each in joint_table(loaded_model.joint_names)} | dict(values)
    trajectory, goal = (
        np.array([own[f"constraints.{joint.name}.{name}"] for joint in joints])
        for name in ("trajectory", "goal")
    )
    lower, upper = limits.position_limits(joints)
    settings = LoopSettings(
        law=Law(values["mode"], model, kp, kd, switches, beyond),
        rules=Rules(values["trajectory.allow_partial"], values["trajectory.allow_nonzero_end_velocity"]),
        safety=Safety(**thresholds, reactions=reactions),
        effort_limits=given(values, "limits.effort", n, limits.effort_limits(joints)),
        effort_rate=given(values, "limits.effort_rate", n, None),
        lower=lower,
        upper=upper,
        reference_limits=values["trajectory.limits"],
        tolerances=Tolerances(
            trajectory,
            goal,
            values["constraints.goal_time"],
            values["constraints.stopped_velocity_tolerance"],
        ),
        fastest=limits.velocity_limits(joints),
        comply_damping=values["collision.damping"],
    )
    build_observer(values, settings)  # raises for values of the observer's
    return settings


def build_observer(values: Values, settings: LoopSettings) -> ObserverSettings:
    """The observer for ``values`` and the settings made of them. Raises ``RosParameterError``.

    A command without gravity is one to which the robot adds it: then the observer leaves it out too.
    """
    law, n = settings.law, len(settings.effort_limits)
    defaults = default_thresholds(law.friction, settings.effort_limits)
    held = values["observer.effort"] == "commanded"
    bare = held and not law.switches.gravity
    return ObserverSettings(
        rigid=law.rigid.with_parameters(gravity=(0.0, 0.0, 0.0)) if bare else law.rigid,
        friction=law.friction,
        gain=np.array(per_joint("observer.gain", values["observer.gain"], n)),
        thresholds=Thresholds(
            *(given(values, f"collision.{part}", n, getattr(defaults, part)) for part in vars(defaults))
        ),
        held=held,
        wrench=True,
        adaptation=values["observer.adaptation"],
        confirmation=values["collision.confirmation"],
        beyond=law.beyond,
    )


def _gain(values: Values, model: DynamicsModel, name: str) -> Array:
    """Kp or Kd (n,) of the mode; PD gains that are not given follow from effective inertias.

    These are without payload, at zero.
    """
    n = len(model.joints)
    computed = np.array(per_joint(f"computed_torque.{name}", values[f"computed_torque.{name}"], n))
    bare = model.with_parameters(payload=dict.fromkeys(model.tips, Payload()))
    inertia = effective_inertia(bare.mass_matrix(np.zeros(n)))
    pd = given(values, f"feedforward_pd.{name}", n, computed * inertia)
    return computed if values["mode"] == "computed_torque" else pd


def gain_arguments(law: Law, q: Array, period: float, damping: float) -> str:
    """Arguments for the command line with gains of that damping ratio at ``period`` [s], none above its kp.

    Three digits of each, kp's rounded down.
    """
    kp, kd = damped_gains(law, q, period, damping)
    return " ".join(
        f'-p {law.mode}.{name}:="{[_three_digits(value, down) for value in gains.tolist()]}"'
        for name, gains, down in (("kp", kp, True), ("kd", kd, False))
    )


def _three_digits(value: float, down: bool) -> float:
    rounded = float(f"{value:.3g}")
    return float(f"{value * (1.0 - 5e-3):.3g}") if down and rounded > value else rounded
