"""From the values of the node's parameters to a simulated arm and its reports."""

from kane_dynamics_ros.nodes.parameters import ParameterError
from kane_dynamics_ros.nodes.simulated_hardware_engine import Values, build_engine, parametrised
from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.simulation.actuators import ActuatorOptions
from kane_dynamics_ros.simulation.errors import SimulationOptionError
from kane_dynamics_ros.simulation.faults import Fault, parse_fault
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.inner_loop import InnerLoop
from kane_dynamics_ros.simulation.reporting import Reporter, ReportOptions
from kane_dynamics_ros.simulation.sensors import SensorOptions


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
    """The faults that a list parameter describes. Raises ``ParameterError``."""
    try:
        return tuple(parse_fault(text) for text in values[name])
    except SimulationOptionError as error:
        raise ParameterError(name, error.found, error.allowed) from None


def _group(values: Values, prefix: str, *names: str) -> Values:
    """The values of ``prefix.name`` by ``name``."""
    return {name: values[f"{prefix}.{name}"] for name in names}
