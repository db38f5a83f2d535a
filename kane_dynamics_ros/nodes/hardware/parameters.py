"""Every parameter of ``simulated_hardware_node``; docs/simulated_hardware.md explains them."""

from dataclasses import replace

from kane_dynamics_ros.nodes.parameters import Declaration
from kane_dynamics_ros.simulation.actuators import COMMAND_INTERFACES
from kane_dynamics_ros.simulation.hardware import SILENCES
from kane_dynamics_ros.simulation.sensors import VELOCITY_SOURCES

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
        [0.0, 0.0, -9.81],
        "free-fall acceleration in the root link's frame",
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
