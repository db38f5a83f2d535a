"""Every parameter of ``simulated_hardware_node``, and the arm that they make.

docs/simulated_hardware.md explains the parameters.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description.load import urdf_text
from kane_dynamics_ros.nodes.parameters import Declaration, RosParameterError, Values
from kane_dynamics_ros.runtime import DynamicsModel, Payload, initial_positions
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.actuators import COMMAND_INTERFACES, ActuatorOptions, InnerLoop
from kane_dynamics_ros.simulation.engine import Engine, SimulationOptionError
from kane_dynamics_ros.simulation.faults import Fault, parse_fault
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SILENCES, HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine
from kane_dynamics_ros.simulation.plant import (
    Plant,
    PlantOptions,
    drawn_factors,
    with_factors,
)
from kane_dynamics_ros.simulation.sensors import VELOCITY_SOURCES, Reporter, ReportOptions, SensorOptions

_TIME = (
    Declaration("update_rate", "number", 1000.0, "integration steps per second", "Hz", 10, 100000),
    Declaration("time.mode", "text", "wall", "what makes time pass", choices=("wall", "clock", "lock_step")),
    Declaration("time.start", "number", 1.0, "what /clock shows first", "s", 0, 1e9),
    Declaration("time.rate", "number", 1.0, "seconds of /clock in a second of the wall", "", 0.001, 1000),
    Declaration(
        "time.timeout",
        "number",
        0.0,
        "how long, by the wall, lock step waits for a command before it goes on without; 0: for ever",
        "s",
        0,
        3600,
    ),
    Declaration("time.paused", "switch", False, "lock step stands still, whatever is commanded"),
)

_PLANT = (
    Declaration(
        "model", "text", "manipulator_5dof", "generated module: its path, or the name of a shipped one"
    ),
    Declaration(
        "backend",
        "text",
        "auto",
        "how the model is evaluated: compiled if that can be had, compiled or not at all, or pure Python",
        choices=("auto", "c", "python"),
    ),
    Declaration("engine", "text", "own", "who computes the motion", choices=("own", "mujoco")),
    Declaration(
        "elastic",
        "text",
        "",
        "links that bend, engine own: a YAML file, or urdf for the URDF's <elastic>",
    ),
    Declaration(
        "urdf", "text", "", "file of the URDF or xacro, for engine mujoco; empty: the shipped model's"
    ),
    Declaration("robot_description", "text", "", "text of the URDF, for engine mujoco; wins over urdf"),
    Declaration(
        "plant.initial_positions", "texts", [""], "JOINT=POSITION; the URDF's where not given", "rad or m"
    ),
    Declaration(
        "plant.gravity",
        "numbers",
        [],
        "free-fall acceleration in the root link's frame; empty: the model's",
        "m/s^2",
    ),
    Declaration("plant.friction", "switch", True, "the URDF's damping and friction act on the joints"),
    Declaration("plant.static_ratio", "number", 1.0, "friction at rest over Coulomb friction", "", 1, 100),
    Declaration(
        "plant.stribeck_velocity",
        "number",
        0.05,
        "speed at which friction has fallen to Coulomb's",
        "rad/s or m/s",
        1e-6,
        1000,
    ),
    Declaration(
        "plant.rotor_inertia",
        "texts",
        [""],
        "JOINT=INERTIA at the joint side; the URDF's where not given",
        "kg m^2 or kg",
    ),
    Declaration("plant.hard_stops", "switch", True, "the arm stops at the URDF's position limits"),
    Declaration("plant.restitution", "number", 0.0, "speed kept, reversed, at a hard stop", "", 0, 1),
    Declaration("plant.locked", "texts", [""], "joints that never move, by name"),
)

_MISMATCH = (
    Declaration("mismatch.factors", "texts", [""], "LINK=FACTOR on mass and inertia; drawn where not given"),
    Declaration(
        "mismatch.spread", "number", 0.0, "factors are drawn between 1 - spread and 1 + spread", "", 0, 0.99
    ),
    Declaration("mismatch.seed", "integer", 0, "seed of the factors", "", 0, 2**31 - 1),
)

_PAYLOAD = (
    Declaration("payload.mass", "number", 0.0, "mass of the body at the tip", "kg", 0, 10000),
    Declaration("payload.com", "numbers", [0.0, 0.0, 0.0], "its centre of mass, in the tip frame", "m"),
    Declaration(
        "payload.inertia",
        "numbers",
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "its central inertia ixx ixy ixz iyy iyz izz",
        "kg m^2",
    ),
)

_ACTUATOR = (
    Declaration("actuator.effort_limits", "switch", True, "the URDF's effort limits act"),
    Declaration("actuator.time_constant", "number", 0.0, "first-order lag of the effort", "s", 0, 10),
    Declaration("actuator.delay", "number", 0.0, "transport delay of the command", "s", 0, 10),
    Declaration("actuator.ripple", "number", 0.0, "amplitude of the torque ripple", "N m or N", 0, 1e06),
    Declaration(
        "actuator.ripple_cycles", "number", 0.0, "ripple angle per joint position", "1/rad or 1/m", 0, 1e06
    ),
    Declaration(
        "actuator.quantum", "number", 0.0, "smallest effort difference of the drive", "N m or N", 0, 1e06
    ),
)

_SENSOR = (
    Declaration(
        "sensor.resolution", "number", 0.0, "smallest position difference of the encoder", "rad or m", 0, 1000
    ),
    Declaration("sensor.position_bias", "number", 0.0, "added to every position", "rad or m"),
    Declaration(
        "sensor.position_noise",
        "number",
        0.0,
        "standard deviation of the position noise",
        "rad or m",
        0,
        1000,
    ),
    Declaration(
        "sensor.velocity", "text", "exact", "where the velocity comes from", choices=VELOCITY_SOURCES
    ),
    Declaration(
        "sensor.velocity_cutoff", "number", 50.0, "cut-off of the filtered velocity", "Hz", 0.001, 100000
    ),
    Declaration(
        "sensor.velocity_noise",
        "number",
        0.0,
        "standard deviation of the velocity noise",
        "rad/s or m/s",
        0,
        1000,
    ),
    Declaration("sensor.effort_bias", "number", 0.0, "added to every effort", "N m or N"),
    Declaration(
        "sensor.effort_noise", "number", 0.0, "standard deviation of the effort noise", "N m or N", 0, 1e06
    ),
    Declaration("sensor.seed", "integer", 0, "seed of the noise", "", 0, 2**31 - 1),
)

_REPORT = (
    Declaration(
        "publish_rate",
        "number",
        500.0,
        "joint state messages per second, at most update_rate",
        "Hz",
        0.1,
        100000,
    ),
    Declaration(
        "report.jitter",
        "number",
        0.0,
        "largest random delay of a message, as a share of the period",
        "",
        0,
        1,
    ),
    Declaration("report.shuffle", "switch", False, "the order of the joints changes from message to message"),
    Declaration("report.velocity", "switch", True, "messages carry velocities"),
    Declaration("report.effort", "switch", True, "messages carry efforts"),
    Declaration("report.seed", "integer", 0, "seed of jitter and order", "", 0, 2**31 - 1),
)

_COMMAND = (
    Declaration(
        "command.type",
        "text",
        "array",
        "message of a command: std_msgs/Float64MultiArray, or sensor_msgs/JointState on joint_commands",
        choices=("array", "joint_state"),
    ),
    Declaration("command.interface", "text", "effort", "what a command means", choices=COMMAND_INTERFACES),
    Declaration(
        "command.bandwidth", "number", 25.0, "of the inner position or velocity loop", "Hz", 0.1, 10000
    ),
    Declaration(
        "command.timeout", "number", 0.0, "silence after which on_silence applies; 0: never", "s", 0, 3600
    ),
    Declaration("command.on_silence", "text", "hold", "what the arm does without commands", choices=SILENCES),
)

_FAULTS = (
    Declaration("faults.schedule", "texts", [""], "KIND[:JOINT]@START..END, times in s of the arm"),
    Declaration("faults.active", "texts", [""], "KIND[:JOINT], from now until removed"),
)

_CHANGEABLE = {"faults.active", "time.paused", *(each.name for each in _PAYLOAD)}
TABLE = tuple(
    replace(each, read_only=each.name not in _CHANGEABLE)
    for each in _TIME + _PLANT + _MISMATCH + _PAYLOAD + _ACTUATOR + _SENSOR + _REPORT + _COMMAND + _FAULTS
)


def build_hardware(model: DynamicsModel, values: Values) -> SimulatedHardware:
    """The arm that the parameters describe, at its initial position with the brakes on.

    Raises ``KaneDynamicsError`` with the parameter's name when a value makes no sense.
    """
    arm = parametrised(model, values)
    engine = build_engine(arm, values)
    options = HardwareOptions(
        ActuatorOptions(
            effort_limits=None if values["actuator.effort_limits"] else (None,) * len(model.joints),
            **_group(values, "actuator", "time_constant", "delay", "ripple", "ripple_cycles", "quantum"),
        ),
        SensorOptions(**_group(values, "sensor", *SensorOptions.__dataclass_fields__)),
        faults(values, "faults.schedule"),
        values["command.timeout"],
        values["command.on_silence"],
    )
    interface = values["command.interface"]
    inner = None if interface == "effort" else InnerLoop(arm, interface, values["command.bandwidth"])
    hardware = SimulatedHardware(engine, options, inner)
    hardware.switch_faults(faults(values, "faults.active"))
    return hardware


def build_reporter(hardware: SimulatedHardware, values: Values) -> Reporter:
    """What the joint state messages look like."""
    options = ReportOptions(
        values["publish_rate"], **_group(values, "report", "jitter", "shuffle", "velocity", "effort", "seed")
    )
    return Reporter(hardware.joint_names, options, hardware.engine.time_step)


def faults(values: Values, name: str) -> tuple[Fault, ...]:
    """The faults that a list parameter describes. Raises ``RosParameterError``."""
    try:
        return tuple(parse_fault(text) for text in values[name])
    except SimulationOptionError as error:
        raise RosParameterError(name, error.found, error.allowed) from None


def build_engine(arm: DynamicsModel, values: Values) -> Engine:
    """The engine at its initial position. Raises ``KaneDynamicsError``."""
    engine = _engine(arm, values)
    start = _by_joint(arm, "plant.initial_positions", values, initial_positions(arm.joints))
    engine.reset(start, np.zeros(len(start)))
    return engine


def parametrised(model: DynamicsModel, values: Values) -> DynamicsModel:
    """The model with the gravity, rotor inertias and payload that the parameters give."""
    gravity = values["plant.gravity"] or model.parameters.gravity
    if len(gravity) != 3:
        raise RosParameterError("plant.gravity", gravity, "3 numbers")
    rotors = _by_joint(model, "plant.rotor_inertia", values, model.parameters.rotor_inertia)
    return model.with_parameters(gravity=tuple(gravity), rotor_inertia=tuple(rotors), payload=payload(values))


def payload(values: Values) -> Payload:
    """The body at the tip."""
    com, inertia = values["payload.com"], values["payload.inertia"]
    for name, found, length in (("payload.com", com, 3), ("payload.inertia", inertia, 6)):
        if len(found) != length:
            raise RosParameterError(name, found, f"{length} numbers")
    return Payload(values["payload.mass"], tuple(com), tuple(inertia))


def _engine(arm: DynamicsModel, values: Values) -> Engine:
    options = _plant_options(arm, values)
    factors = _factors(arm, values)
    if values["elastic"]:
        return _elastic_engine(arm, values, options, factors)
    if values["engine"] == "own":
        return Plant(with_factors(arm, factors), options)
    return MujocoEngine(_urdf(values), arm, options, factors)


def _elastic_engine(
    model: DynamicsModel, values: Values, options: PlantOptions, factors: dict[str, float]
) -> Engine:
    if values["engine"] != "own":
        raise RosParameterError("elastic", values["elastic"], "empty with engine mujoco")
    # Only here: they bring SciPy, which takes a second to import that rigid arms need not wait for.
    from kane_dynamics_ros.elastic.reader import elastic_arm
    from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant

    links = None if values["elastic"] == "urdf" else values["elastic"]
    return ElasticPlant(elastic_arm(_urdf(values), model, links, factors), model, options)


def _urdf(values: Values) -> str:
    if values["robot_description"]:
        return str(values["robot_description"])
    name = values["urdf"] or str(share_directory() / "urdf" / f"{values['model']}.urdf")
    if not values["urdf"] and not Path(name).is_file():
        raise RosParameterError(
            "urdf", "", "the URDF that the model was generated from, for engine mujoco and elastic links"
        )
    return urdf_text(name)


def _plant_options(model: DynamicsModel, values: Values) -> PlantOptions:
    n = len(model.joints)
    friction = Friction.none(n)
    if values["plant.friction"]:
        friction = Friction.from_urdf(
            model.joints, values["plant.stribeck_velocity"], values["plant.static_ratio"]
        )
    return PlantOptions(
        time_step=1.0 / values["update_rate"],
        friction=friction,
        hard_stops=values["plant.hard_stops"],
        restitution=values["plant.restitution"],
        locked=tuple(values["plant.locked"]),
    )


def _factors(model: DynamicsModel, values: Values) -> dict[str, float]:
    """The mismatch of each body."""
    drawn = drawn_factors(model, values["mismatch.spread"], values["mismatch.seed"])
    return drawn | _named_numbers("mismatch.factors", values["mismatch.factors"], model.bodies)


def _by_joint(model: DynamicsModel, name: str, values: Values, default: ArrayLike) -> Array:
    """A parameter of JOINT=NUMBER strings in joint order; ``default`` (n,) where a joint is not given."""
    given = _named_numbers(name, values[name], model.joint_names)
    pairs = zip(model.joint_names, np.asarray(default, dtype=float), strict=True)
    return np.array([given.get(joint, number) for joint, number in pairs])


def _named_numbers(name: str, items: Sequence[str], known: Sequence[str]) -> dict[str, float]:
    """NAME=NUMBER strings of the parameter ``name``; each name one of ``known``."""
    result = {}
    for item in items:
        key, separator, number = item.rpartition("=")
        if not separator or key not in known:
            raise RosParameterError(name, item, f"NAME=NUMBER, NAME one of {', '.join(known)}")
        try:
            result[key] = float(number)
        except ValueError:
            result[key] = math.nan
        if not math.isfinite(result[key]):
            raise RosParameterError(name, item, "NAME=NUMBER, a finite number")
    return result


def _group(values: Values, prefix: str, *names: str) -> dict[str, Any]:
    """The values of ``prefix.name`` by ``name``."""
    return {name: values[f"{prefix}.{name}"] for name in names}
