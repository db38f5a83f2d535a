"""Every parameter of ``simulated_hardware_node``, and the arm that they make.

The parameters are in ``parameters.yaml``; docs/simulated_hardware.md explains them.
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
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions
from kane_dynamics_ros.runtime.node_parameters import (
    Values,
    declarations,
    friction_beyond,
    given,
    of_length,
    payloads,
    wrong_parameter,
)
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.actuators import ActuatorOptions, InnerLoop
from kane_dynamics_ros.simulation.engine import Engine, SimulationError
from kane_dynamics_ros.simulation.faults import Fault, parse_fault
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions, drawn_factors, with_factors
from kane_dynamics_ros.simulation.sensors import Reporter, ReportOptions, SensorOptions

TABLE = declarations(Path(__file__).with_name("parameters.yaml"))


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
    hardware = SimulatedHardware(engine, options, inner, arm.gravity)
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
        found = tuple(parse_fault(text) for text in values[name])
    except SimulationError as error:
        raise wrong_parameter(name, error.found, error.allowed) from None
    contacts = [str(each) for each in found if each.contact is not None]
    if values["elastic"] and contacts:
        raise wrong_parameter(name, contacts[0], "any fault but a contact with elastic links")
    return found


def build_engine(arm: DynamicsModel, values: Values) -> Engine:
    """The engine at its initial position. Raises ``KaneDynamicsError``."""
    if values["plant.friction"] and arm.followers:
        arm = arm.with_urdf_friction()  # theirs; the plant has the others' own
    options = PlantOptions(
        time_step=1.0 / values["update_rate"],
        friction=joint_friction(arm, values),
        hard_stops=values["plant.hard_stops"],
        restitution=values["plant.restitution"],
        locked=tuple(values["plant.locked"]),
    )
    factors = drawn_factors(arm, values["mismatch.spread"], values["mismatch.seed"])  # of each body
    factors |= _named_numbers("mismatch.factors", values["mismatch.factors"], arm.bodies)
    engine: Engine
    if arm.followers and (values["elastic"] or values["engine"] != "own"):
        allowed = "own, and no elastic links, where the model has closed loops, which a URDF does not say"
        raise wrong_parameter("engine", values["engine"], allowed)
    if values["payload.branches"] and (values["elastic"] or values["engine"] != "own"):
        allowed = "empty with elastic links or MuJoCo, which know the first tip's payload alone"
        raise wrong_parameter("payload.branches", values["payload.branches"], allowed)
    if values["elastic"]:
        engine = _elastic_engine(arm, values, options, factors)
    elif values["engine"] == "own":
        engine = Plant(with_factors(arm, factors), options)
    else:
        engine = MujocoEngine(_urdf(values), arm, options, factors)
    start = _by_joint(arm, "plant.initial_positions", values, initial_positions(arm.joints))
    engine.reset(start, np.zeros(len(arm.joints)))
    return engine


def joint_friction(arm: DynamicsModel, values: Values) -> Friction:
    """The feedforward node's friction parameters; where they are empty, the URDF's friction."""
    n, on = len(arm.joints), values["plant.friction"]
    viscous = given(values, "friction.viscous", n, np.array([on * joint.damping for joint in arm.joints]))
    coulomb = given(values, "friction.coulomb", n, np.array([on * joint.friction for joint in arm.joints]))
    rise, width = (
        (values["plant.static_ratio"] - 1.0) * coulomb,
        np.full(n, values["plant.stribeck_velocity"]),
    )
    beyond = replace(
        friction_beyond(values, arm.joint_names),
        stribeck=given(values, "friction.stribeck", n, rise),
        stribeck_velocity=given(values, "friction.stribeck_velocity", n, width),
    )
    return Friction(viscous, coulomb, beyond)


def parametrised(model: DynamicsModel, values: Values) -> DynamicsModel:
    """The model with the gravity, rotor inertias, their coupling and payload that the parameters give."""
    gravity = of_length("plant.gravity", values["plant.gravity"] or model.parameters.gravity, 3)
    rotors = _by_joint(model, "plant.rotor_inertia", values, model.parameters.rotor_inertia)
    bodies = payloads(values, model.tips)
    C = friction_beyond(values, model.joint_names).coupling
    return model.with_parameters(
        gravity=gravity,
        rotor_inertia=tuple(rotors),
        payload=bodies,
        coupling=() if C is None else C.ravel(),
    )


def _elastic_engine(
    model: DynamicsModel, values: Values, options: PlantOptions, factors: dict[str, float]
) -> Engine:
    if values["engine"] != "own":
        raise wrong_parameter("elastic", values["elastic"], "empty with engine mujoco")
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
        raise wrong_parameter(
            "urdf", "", "the URDF that the model was generated from, for engine mujoco and elastic links"
        )
    return urdf_text(name)


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
            raise wrong_parameter(name, item, f"NAME=NUMBER, NAME one of {', '.join(known)}")
        try:
            result[key] = float(number)
        except ValueError:
            result[key] = math.nan
        if not math.isfinite(result[key]):
            raise wrong_parameter(name, item, "NAME=NUMBER, a finite number")
    return result


def _group(values: Values, prefix: str, *names: str) -> dict[str, Any]:
    """The values of ``prefix.name`` by ``name``."""
    return {name: values[f"{prefix}.{name}"] for name in names}
