"""From checked parameter values and a model to the immutable settings of the control loop."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kane_dynamics_ros.control.law import TermSwitches, build_law
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.loop import Settings
from kane_dynamics_ros.control.splines import Array
from kane_dynamics_ros.control.supervision import FAULTS, Safety
from kane_dynamics_ros.control.validation import Rules
from kane_dynamics_ros.nodes.parameters import ParameterError, per_joint
from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.runtime.parameters import Payload

Values = Mapping[str, Any]

COMPUTED_TORQUE_GAINS = ("computed_torque.kp", "computed_torque.kd")
PD_GAINS = ("feedforward_pd.kp", "feedforward_pd.kd")


def build_settings(values: Values, shipped: DynamicsModel) -> Settings:
    """Settings for ``values`` and the model as it was loaded. Raises ``KaneDynamicsError``."""
    n = len(shipped.joint_names)
    kp, kd = _gains(values, shipped)
    switches = TermSwitches(
        **{name: values[f"terms.{name}"] for name in ("inertia", "coriolis", "gravity", "friction")}
    )
    rate = values["limits.effort_rate"]
    effort = values["limits.effort"]
    lower, upper = position_limits(shipped.joints)
    return Settings(
        law=build_law(values["mode"], configured_model(values, shipped), kp, kd, switches),
        rules=Rules(values["trajectory.allow_partial"], values["trajectory.allow_nonzero_end_velocity"]),
        safety=_safety(values),
        effort_limits=np.array(per_joint("limits.effort", effort, n))
        if effort
        else effort_limits(shipped.joints),
        effort_rate=np.array(per_joint("limits.effort_rate", rate, n)) if rate else None,
        lower=lower,
        upper=upper,
        reference_limits=values["trajectory.limits"],
    )


def _gains(values: Values, model: DynamicsModel) -> tuple[Array, Array]:
    """Kp and Kd (n,) of the mode; PD gains that are not given follow from each joint's own inertia."""
    n = len(model.joint_names)
    computed = [np.array(per_joint(name, values[name], n)) for name in COMPUTED_TORQUE_GAINS]
    inertia = model.mass_matrix(np.zeros(n)).diagonal()
    pd = [
        np.array(per_joint(name, values[name], n)) if values[name] else gain * inertia
        for name, gain in zip(PD_GAINS, computed, strict=True)
    ]
    kp, kd = computed if values["mode"] == "computed_torque" else pd
    return kp, kd


def configured_model(values: Values, shipped: DynamicsModel) -> DynamicsModel:
    """The model with gravity, payload, rotors and friction as the parameters say."""
    n = len(shipped.joint_names)
    changes: dict[str, Any] = {
        "payload": Payload(
            values["payload.mass"],
            _of_length("payload.com", values["payload.com"], 3),
            _of_length("payload.inertia", values["payload.inertia"], 6),
        ),
        "viscous": _friction(values, "viscous", "urdf_damping", [joint.damping for joint in shipped.joints]),
        "coulomb": _friction(
            values, "coulomb", "urdf_friction", [joint.friction for joint in shipped.joints]
        ),
        "coulomb_velocity": values["friction.coulomb_velocity"],
    }
    if values["gravity"]:
        changes["gravity"] = _of_length("gravity", values["gravity"], 3)
    if values["rotor_inertia"]:
        changes["rotor_inertia"] = tuple(per_joint("rotor_inertia", values["rotor_inertia"], n))
    return shipped.with_parameters(**changes)


def _friction(values: Values, name: str, switch: str, urdf: list[float]) -> tuple[float, ...]:
    """Coefficients that were given, else the URDF's where they are switched on, else 0."""
    given = values[f"friction.{name}"]
    if given:
        return tuple(per_joint(f"friction.{name}", given, len(urdf)))
    return tuple(urdf) if values[f"friction.{switch}"] else (0.0,) * len(urdf)


def _of_length(name: str, value: list[float], length: int) -> Any:
    if len(value) != length:
        raise ParameterError(name, value, f"a list of {length} numbers")
    return tuple(value)


def _safety(values: Values) -> Safety:
    thresholds = ("state_timeout", "position_jump", "saturation_time", "overrun_period", "recovery_time")
    reactions = {fault: values[f"safety.on_{fault}"] for fault in FAULTS}
    return Safety(**{name: values[f"safety.{name}"] for name in thresholds}, reactions=reactions)
