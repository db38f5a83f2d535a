"""Every parameter of ``feedforward_node``, and the settings of control loop and observer that they make."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.goals import Tolerances
from kane_dynamics_ros.control.law import MODES, TermSwitches, build_law
from kane_dynamics_ros.control.limits import effort_limits, position_limits, velocity_limits
from kane_dynamics_ros.control.loop import LoopSettings
from kane_dynamics_ros.control.observer import GAIN, ObserverSettings, Thresholds, default_thresholds
from kane_dynamics_ros.control.states import FAULT_KINDS, REACTIONS, Safety
from kane_dynamics_ros.control.validation import Rules
from kane_dynamics_ros.nodes.parameters import Declaration, RosParameterError, Values, per_joint
from kane_dynamics_ros.runtime import DynamicsModel, Payload

SAFE_STATES = ("hold", "zero", "stop")
ACTIVE_REACTIONS = tuple(each for each in REACTIONS if each != "comply")
TRAJECTORY_TOLERANCE = 0.5  # [rad] or [m]
GOAL_TOLERANCE = 0.2  # [rad] or [m]
COMPUTED_TORQUE_GAINS = ("computed_torque.kp", "computed_torque.kd")
PD_GAINS = ("feedforward_pd.kp", "feedforward_pd.kd")

START = (
    Declaration(
        "model",
        "text",
        "manipulator_5dof",
        "Generated module: a path, or the name of the shipped one",
        read_only=True,
    ),
    Declaration(
        "backend",
        "text",
        "auto",
        "How the model is evaluated: compiled where that can be had, compiled or not at all, or pure Python",
        choices=("auto", "c", "python"),
        read_only=True,
    ),
    Declaration("autostart", "switch", True, "Configure and activate by itself at the start", read_only=True),
    Declaration(
        "description_check",
        "text",
        "when_received",
        "Whether robot_description must match the model: before configuring, whenever it comes, or never",
        choices=("required", "when_received", "off"),
        read_only=True,
    ),
    Declaration(
        "generate_when_stale",
        "switch",
        False,
        "Generate a fresh model from robot_description when it does not match; needs SymPy",
        read_only=True,
    ),
    Declaration(
        "model_cache",
        "text",
        "",
        "Folder for freshly generated models; empty means kane_dynamics_ros in the user's cache folder",
        read_only=True,
    ),
)

CONTROL = (
    Declaration("mode", "text", "computed_torque", "Control law", choices=MODES),
    Declaration(
        "feedforward_pd.kp",
        "numbers",
        [],
        "Position gain of mode feedforward_pd; empty: computed_torque.kp times the joint's inertia at zero",
        "N m/rad",
        minimum=0.0,
    ),
    Declaration(
        "feedforward_pd.kd",
        "numbers",
        [],
        "Velocity gain of mode feedforward_pd; empty: computed_torque.kd times the joint's inertia at zero",
        "N m s/rad",
        minimum=0.0,
    ),
    Declaration(
        "computed_torque.kp",
        "numbers",
        [400.0],
        "Position gain of mode computed_torque",
        "1/s^2",
        minimum=0.0,
    ),
    Declaration(
        "computed_torque.kd", "numbers", [40.0], "Velocity gain of mode computed_torque", "1/s", minimum=0.0
    ),
    Declaration("terms.inertia", "switch", True, "Command M qdd_d"),
    Declaration("terms.coriolis", "switch", True, "Command Coriolis and centrifugal efforts"),
    Declaration(
        "terms.gravity", "switch", True, "Command gravity; off where the robot compensates it itself"
    ),
    Declaration("terms.friction", "switch", True, "Command friction at the desired velocity"),
    Declaration("terms.publish", "switch", False, "Publish each term on ~/terms/NAME while somebody listens"),
)

MODEL = (
    Declaration(
        "gravity", "numbers", [], "Free-fall acceleration in the root link; empty: the model's", "m/s^2"
    ),
    Declaration("payload.mass", "number", 0.0, "Mass fixed to the tip", "kg", 0.0, 1e4),
    Declaration("payload.com", "numbers", [0.0, 0.0, 0.0], "Its centre of mass in the tip frame", "m"),
    Declaration(
        "payload.inertia",
        "numbers",
        [0.0] * 6,
        "Its central inertia in the tip frame: ixx, ixy, ixz, iyy, iyz, izz",
        "kg m^2",
    ),
    Declaration(
        "rotor_inertia",
        "numbers",
        [],
        "Rotor inertia reflected to the joint side; empty: the model's",
        "kg m^2",
        minimum=0.0,
    ),
    Declaration(
        "friction.urdf_damping", "switch", True, "Use the URDF's damping where friction.viscous is empty"
    ),
    Declaration(
        "friction.urdf_friction", "switch", True, "Use the URDF's friction where friction.coulomb is empty"
    ),
    Declaration(
        "friction.viscous", "numbers", [], "Viscous friction; empty: the URDF's", "N m s/rad", minimum=0.0
    ),
    Declaration("friction.coulomb", "numbers", [], "Coulomb friction; empty: the URDF's", "N m", minimum=0.0),
    Declaration(
        "friction.coulomb_velocity",
        "number",
        0.01,
        "Width of the smooth sign of Coulomb friction",
        "rad/s",
        1e-6,
        10.0,
    ),
)

INPUT = (
    Declaration(
        "velocity.missing",
        "text",
        "differentiate",
        "States without velocity: differentiate their positions, or refuse them",
        choices=("differentiate", "refuse"),
    ),
    Declaration(
        "velocity.cutoff", "number", 50.0, "Cut-off frequency of that differentiation", "Hz", 0.1, 1e4
    ),
    Declaration("trajectory.allow_partial", "switch", False, "Accept goals for some joints; the others hold"),
    Declaration(
        "trajectory.allow_nonzero_end_velocity", "switch", False, "Accept trajectories whose last point moves"
    ),
    Declaration(
        "trajectory.limits",
        "text",
        "reject",
        "A reference outside the URDF's limits: reject the trajectory, clamp the positions, or ignore it",
        choices=("reject", "clamp", "ignore"),
    ),
    Declaration(
        "annotate.error",
        "number",
        0.0,
        "Largest error of linear interpolation of the effort; 0: of each joint a hundredth of its largest "
        "effort in the motion, or a thousandth of its limit where that is less",
        "N m",
        0.0,
        1e6,
    ),
    Declaration("annotate.max_points", "number", 20000, "Refuse to annotate with more points", "", 2, 1e6),
)

SAFETY = (
    Declaration(
        "limits.effort",
        "numbers",
        [],
        "Largest effort; empty: the URDF's, unknown ones not clamped",
        "N m",
        minimum=0.0,
    ),
    Declaration(
        "limits.effort_rate",
        "numbers",
        [],
        "Largest change of effort in a second; empty: not limited",
        "N m/s",
        minimum=0.0,
    ),
    Declaration(
        "safety.state_timeout", "number", 0.1, "A joint's state older than this is stale", "s", 0.0, 60.0
    ),
    Declaration(
        "safety.position_jump", "number", 0.5, "Largest step between states; 0: any", "rad", 0.0, 1e3
    ),
    Declaration(
        "safety.saturation_time", "number", 0.5, "Clamping for longer is a fault; 0: never", "s", 0.0, 3600.0
    ),
    Declaration(
        "safety.overrun_period",
        "number",
        0.02,
        "A longer pause between states is an overrun; 0: never",
        "s",
        0.0,
        60.0,
    ),
    Declaration(
        "safety.recovery_time", "number", 0.2, "Good states for so long end a reaction", "s", 0.0, 60.0
    ),
    Declaration(
        "safety.on_stale_state", "text", "hold", "Reaction to missing states", choices=ACTIVE_REACTIONS
    ),
    Declaration("safety.on_position_jump", "text", "hold", "Reaction to a jump", choices=ACTIVE_REACTIONS),
    Declaration("safety.on_saturation", "text", "ignore", "Reaction to clamping", choices=ACTIVE_REACTIONS),
    Declaration(
        "safety.on_collision",
        "text",
        "ignore",
        "Reaction to a collision, until ~/reset_collision; comply compensates gravity and damps",
        choices=REACTIONS,
    ),
    Declaration("safety.on_overrun", "text", "ignore", "Reaction to an overrun", choices=ACTIVE_REACTIONS),
    Declaration(
        "safety.on_non_finite",
        "text",
        "hold",
        "Reaction to a command that is not finite",
        choices=SAFE_STATES,
    ),
    Declaration(
        "safety.on_tracking_error",
        "text",
        "hold",
        "Reaction when the arm does not follow: hold drops the trajectory and holds the measured position",
        choices=ACTIVE_REACTIONS,
    ),
    Declaration(
        "safety.no_effect_time",
        "number",
        0.3,
        "A joint that stands still for so long while its reference moves is a tracking error; 0: never",
        "s",
        0.0,
        60.0,
    ),
    Declaration(
        "safety.on_deactivate",
        "text",
        "stop_and_hold",
        "Last command when deactivated or stopped; stop_and_hold first decelerates along the reference",
        choices=("stop_and_hold", *SAFE_STATES),
    ),
    Declaration(
        "safety.stop_time", "number", 1.0, "stop_and_hold decelerates in so long at most", "s", 0.0, 60.0
    ),
)

OBSERVER = (
    Declaration(
        "observer.run",
        "text",
        "when_needed",
        "Observe external efforts while somebody listens or safety.on_collision needs it, always, never",
        choices=("when_needed", "always", "never"),
    ),
    Declaration(
        "observer.effort",
        "text",
        "measured",
        "The efforts that act: those in the joint states, or the commands where none are measured",
        choices=("measured", "commanded"),
    ),
    Declaration(
        "observer.gain",
        "numbers",
        [GAIN],
        "Rate at which the external effort is followed",
        "1/s",
        minimum=0.1,
        maximum=1e4,
    ),
    Declaration(
        "observer.adaptation",
        "number",
        0.0,
        "Time constant with which a lasting residual is taken for an error of the model; 0: never",
        "s",
        0.0,
        1e4,
    ),
    Declaration(
        "observer.cutoff", "number", 0.0, "Low-pass of what is published; 0: none more", "Hz", 0.0, 1e4
    ),
    Declaration(
        "observer.wrench",
        "text",
        "wrench",
        "What acts at the tip: a wrench, or a force alone, which fewer joints tell",
        choices=("wrench", "force"),
    ),
    Declaration(
        "observer.undetermined",
        "text",
        "nan",
        "Components of the wrench that the posture does not determine: NaN, or those of the least wrench",
        choices=("nan", "least"),
        former="observer.untold",
    ),
    Declaration(
        "collision.constant",
        "numbers",
        [],
        "External effort that is a collision, at least; empty: 2.5 % of the effort limit",
        "N m",
        minimum=0.0,
    ),
    Declaration(
        "collision.speed", "numbers", [0.0], "Added for each rad/s of the joint", "N m s/rad", minimum=0.0
    ),
    Declaration(
        "collision.acceleration",
        "numbers",
        [0.0],
        "Added for each rad/s^2 of the joint",
        "N m s^2/rad",
        minimum=0.0,
    ),
    Declaration(
        "collision.rest",
        "numbers",
        [],
        "Added while the joint is too slow to know which way its friction acts; empty: the Coulomb friction",
        "N m",
        minimum=0.0,
    ),
    Declaration(
        "collision.confirmation", "number", 0.0, "It must last so long to be a collision", "s", 0.0, 60.0
    ),
    Declaration(
        "collision.damping",
        "number",
        5.0,
        "Rate at which the arm comes to rest in the reaction comply",
        "1/s",
        0.0,
        1e3,
    ),
)

CONSTRAINTS = (
    Declaration(
        "constraints.goal_time",
        "number",
        2.0,
        "The arm must be at its goal so long after a trajectory's end; 0: whenever",
        "s",
        0.0,
        3600.0,
    ),
    Declaration(
        "constraints.stopped_velocity_tolerance",
        "number",
        0.1,
        "An arm that is slower has stopped at its goal; 0: not looked at",
        "rad/s",
        0.0,
        1e3,
    ),
)

ROS2_CONTROL = (
    Declaration(
        "controller_manager",
        "text",
        "controller_manager",
        "ros2_control's node, whose controller and hardware are followed where it is there; empty: nobody's",
        read_only=True,
    ),
)

TABLE = START + CONTROL + MODEL + INPUT + SAFETY + OBSERVER + CONSTRAINTS + ROS2_CONTROL


def joint_table(joint_names: Sequence[str]) -> tuple[Declaration, ...]:
    """The parameters that each joint has: known when the model is."""
    described = (
        ("trajectory", TRAJECTORY_TOLERANCE, "Largest position error; 0: any"),
        ("goal", GOAL_TOLERANCE, "Largest position error after a trajectory's end; 0: any"),
    )
    return tuple(
        Declaration(f"constraints.{joint}.{name}", "number", default, text, "rad or m", 0.0, 1e3)
        for joint in joint_names
        for name, default, text in described
    )


# The settings that checked values and a model make


def build_settings(values: Values, loaded_model: DynamicsModel) -> LoopSettings:
    """LoopSettings for ``values`` and the model as it was loaded. Raises ``KaneDynamicsError``."""
    n = len(loaded_model.joint_names)
    kp, kd = _gains(values, loaded_model)
    switches = TermSwitches(
        **{name: values[f"terms.{name}"] for name in ("inertia", "coriolis", "gravity", "friction")}
    )
    rate = values["limits.effort_rate"]
    effort = values["limits.effort"]
    lower, upper = position_limits(loaded_model.joints)
    fastest = velocity_limits(loaded_model.joints)
    return LoopSettings(
        law=build_law(values["mode"], configured_model(values, loaded_model), kp, kd, switches),
        rules=Rules(values["trajectory.allow_partial"], values["trajectory.allow_nonzero_end_velocity"]),
        safety=_safety(values),
        effort_limits=np.array(per_joint("limits.effort", effort, n))
        if effort
        else effort_limits(loaded_model.joints),
        effort_rate=np.array(per_joint("limits.effort_rate", rate, n)) if rate else None,
        lower=lower,
        upper=upper,
        reference_limits=values["trajectory.limits"],
        tolerances=_tolerances(values, loaded_model.joint_names),
        fastest=fastest if np.isfinite(fastest).any() else None,
        comply_damping=values["collision.damping"],
    )


def build_observer(values: Values, settings: LoopSettings) -> ObserverSettings:
    """The observer for ``values`` and the settings made of them. Raises ``RosParameterError``.

    A command without gravity is one to which the robot adds it: then the observer leaves it out too.
    """
    law, n = settings.law, len(settings.law.rigid.joint_names)
    defaults = default_thresholds(law.friction, settings.effort_limits)

    def part(name: str) -> Array:
        given = values[f"collision.{name}"]
        chosen: Array = (
            np.array(per_joint(f"collision.{name}", given, n)) if given else getattr(defaults, name)
        )
        return chosen

    held = values["observer.effort"] == "commanded"
    rigid = law.rigid
    if held and not law.switches.gravity:
        rigid = rigid.with_parameters(gravity=(0.0, 0.0, 0.0))
    return ObserverSettings(
        rigid=rigid,
        friction=law.friction,
        gain=np.array(per_joint("observer.gain", values["observer.gain"], n)),
        thresholds=Thresholds(*(part(name) for name in ("constant", "speed", "acceleration", "rest"))),
        held=held,
        wrench=True,
        adaptation=values["observer.adaptation"],
        confirmation=values["collision.confirmation"],
    )


def configured_model(values: Values, loaded_model: DynamicsModel) -> DynamicsModel:
    """The model with gravity, payload, rotors and friction as the parameters say."""
    n = len(loaded_model.joint_names)
    changes: dict[str, Any] = {
        "payload": Payload(
            values["payload.mass"],
            _of_length("payload.com", values["payload.com"], 3),
            _of_length("payload.inertia", values["payload.inertia"], 6),
        ),
        "viscous": _friction(
            values, "viscous", "urdf_damping", [joint.damping for joint in loaded_model.joints]
        ),
        "coulomb": _friction(
            values, "coulomb", "urdf_friction", [joint.friction for joint in loaded_model.joints]
        ),
        "coulomb_velocity": values["friction.coulomb_velocity"],
    }
    if values["gravity"]:
        changes["gravity"] = _of_length("gravity", values["gravity"], 3)
    if values["rotor_inertia"]:
        changes["rotor_inertia"] = tuple(per_joint("rotor_inertia", values["rotor_inertia"], n))
    return loaded_model.with_parameters(**changes)


def _friction(values: Values, name: str, switch: str, urdf: list[float]) -> tuple[float, ...]:
    """Coefficients that were given, else the URDF's where they are switched on, else 0."""
    given = values[f"friction.{name}"]
    if given:
        return tuple(per_joint(f"friction.{name}", given, len(urdf)))
    return tuple(urdf) if values[f"friction.{switch}"] else (0.0,) * len(urdf)


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


def _safety(values: Values) -> Safety:
    thresholds = (
        "state_timeout",
        "position_jump",
        "saturation_time",
        "overrun_period",
        "recovery_time",
        "no_effect_time",
    )
    reactions = {fault: values[f"safety.on_{fault}"] for fault in FAULT_KINDS}
    return Safety(**{name: values[f"safety.{name}"] for name in thresholds}, reactions=reactions)


def _tolerances(values: Values, joint_names: Sequence[str]) -> Tolerances:
    """Those of ``constraints``; a joint whose own are not declared has the defaults."""
    own = {each.name: each.default for each in joint_table(joint_names)} | dict(values)
    trajectory, goal = (
        np.array([own[f"constraints.{joint}.{name}"] for joint in joint_names])
        for name in ("trajectory", "goal")
    )
    stopped = values["constraints.stopped_velocity_tolerance"]
    return Tolerances(trajectory, goal, values["constraints.goal_time"], stopped)


def _of_length(name: str, value: list[float], length: int) -> Any:
    if len(value) != length:
        raise RosParameterError(name, value, f"a list of {length} numbers")
    return tuple(value)
