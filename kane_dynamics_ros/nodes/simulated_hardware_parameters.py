"""Every parameter of ``simulated_hardware_node``; docs/simulated_hardware.md explains them."""

from kane_dynamics_ros.nodes.parameter_table import Entry
from kane_dynamics_ros.simulation.hardware import SILENCES
from kane_dynamics_ros.simulation.inner_loop import COMMAND_INTERFACES
from kane_dynamics_ros.simulation.sensors import VELOCITY_SOURCES

_TIME = (
    Entry("update_rate", 1000.0, "integration steps per second", "Hz", 10.0, 1e5),
    Entry("time.mode", "wall", "what makes time pass", choices=("wall", "lock_step")),
    Entry("time.start", 1.0, "what /clock shows first, in lock step", "s", 0.0, 1e9),
    Entry("time.timeout", 1.0, "how long lock step waits for a command", "s", 0.001, 3600.0),
)
_PLANT = (
    Entry("model", "manipulator_5dof", "generated module: its path, or the name of a shipped one"),
    Entry("engine", "own", "who computes the motion", choices=("own", "mujoco")),
    Entry("urdf", "", "file of the URDF or xacro, for engine mujoco; empty: the shipped model's"),
    Entry("robot_description", "", "text of the URDF, for engine mujoco; wins over urdf"),
    Entry("plant.initial_positions", [""], "JOINT=POSITION; the URDF's where not given", "rad or m"),
    Entry("plant.gravity", [0.0, 0.0, -9.81], "free-fall acceleration in the root link's frame", "m/s^2"),
    Entry("plant.friction", True, "the URDF's damping and friction act on the joints"),
    Entry("plant.static_ratio", 1.0, "friction at rest over Coulomb friction", "", 1.0, 100.0),
    Entry(
        "plant.stribeck_velocity",
        0.05,
        "speed at which friction has fallen to Coulomb's",
        "rad/s or m/s",
        1e-6,
        1e3,
    ),
    Entry(
        "plant.rotor_inertia",
        [""],
        "JOINT=INERTIA at the joint side; the URDF's where not given",
        "kg m^2 or kg",
    ),
    Entry("plant.hard_stops", True, "the arm stops at the URDF's position limits"),
    Entry("plant.restitution", 0.0, "speed kept, reversed, at a hard stop", "", 0.0, 1.0),
    Entry("plant.locked", [""], "joints that never move, by name"),
)
_MISMATCH = (
    Entry("mismatch.factors", [""], "LINK=FACTOR on mass and inertia; drawn where not given"),
    Entry("mismatch.spread", 0.0, "factors are drawn between 1 - spread and 1 + spread", "", 0.0, 0.99),
    Entry("mismatch.seed", 0, "seed of the factors", "", 0, 2**31 - 1),
)
_PAYLOAD = (
    Entry("payload.mass", 0.0, "mass of the body at the tip", "kg", 0.0, 1e4, read_only=False),
    Entry("payload.com", [0.0, 0.0, 0.0], "its centre of mass, in the tip frame", "m", read_only=False),
    Entry(
        "payload.inertia", [0.0] * 6, "its central inertia ixx ixy ixz iyy iyz izz", "kg m^2", read_only=False
    ),
)
_ACTUATOR = (
    Entry("actuator.effort_limits", True, "the URDF's effort limits act"),
    Entry("actuator.time_constant", 0.0, "first-order lag of the effort", "s", 0.0, 10.0),
    Entry("actuator.delay", 0.0, "transport delay of the command", "s", 0.0, 10.0),
    Entry("actuator.ripple", 0.0, "amplitude of the torque ripple", "N m or N", 0.0, 1e6),
    Entry("actuator.ripple_cycles", 0.0, "ripple angle per joint position", "1/rad or 1/m", 0.0, 1e6),
    Entry("actuator.quantum", 0.0, "smallest effort difference of the drive", "N m or N", 0.0, 1e6),
)
_SENSOR = (
    Entry("sensor.resolution", 0.0, "smallest position difference of the encoder", "rad or m", 0.0, 1e3),
    Entry("sensor.position_bias", 0.0, "added to every position", "rad or m"),
    Entry("sensor.position_noise", 0.0, "standard deviation of the position noise", "rad or m", 0.0, 1e3),
    Entry("sensor.velocity", "exact", "where the velocity comes from", choices=VELOCITY_SOURCES),
    Entry("sensor.velocity_cutoff", 50.0, "cut-off of the filtered velocity", "Hz", 1e-3, 1e5),
    Entry("sensor.velocity_noise", 0.0, "standard deviation of the velocity noise", "rad/s or m/s", 0.0, 1e3),
    Entry("sensor.effort_bias", 0.0, "added to every effort", "N m or N"),
    Entry("sensor.effort_noise", 0.0, "standard deviation of the effort noise", "N m or N", 0.0, 1e6),
    Entry("sensor.seed", 0, "seed of the noise", "", 0, 2**31 - 1),
)
_REPORT = (
    Entry("publish_rate", 500.0, "joint state messages per second, at most update_rate", "Hz", 0.1, 1e5),
    Entry("report.jitter", 0.0, "largest random delay of a message, as a share of the period", "", 0.0, 1.0),
    Entry("report.shuffle", False, "the order of the joints changes from message to message"),
    Entry("report.velocity", True, "messages carry velocities"),
    Entry("report.effort", True, "messages carry efforts"),
    Entry("report.seed", 0, "seed of jitter and order", "", 0, 2**31 - 1),
)
_COMMAND = (
    Entry("command.interface", "effort", "what a command means", choices=COMMAND_INTERFACES),
    Entry("command.bandwidth", 25.0, "of the inner position or velocity loop", "Hz", 0.1, 1e4),
    Entry("command.timeout", 0.0, "silence after which on_silence applies; 0: never", "s", 0.0, 3600.0),
    Entry("command.on_silence", "hold", "what the arm does without commands", choices=SILENCES),
)

_FAULTS = (
    Entry("faults.schedule", [""], "KIND[:JOINT]@START..END, times in s of the arm"),
    Entry("faults.active", [""], "KIND[:JOINT], from now until removed", read_only=False),
)

PARAMETERS = _TIME + _PLANT + _MISMATCH + _PAYLOAD + _ACTUATOR + _SENSOR + _REPORT + _COMMAND + _FAULTS
