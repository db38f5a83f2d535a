"""Every parameter of ``feedforward_node``, in one table."""

from kane_dynamics_ros.control.law import MODES
from kane_dynamics_ros.control.supervision import REACTIONS
from kane_dynamics_ros.nodes.parameters import Declaration

SAFE_STATES = ("hold", "zero", "stop")
ACTIVE_REACTIONS = tuple(REACTIONS)

START = (
    Declaration(
        "model",
        "text",
        "manipulator_5dof",
        "Generated module: a path, or the name of the shipped one",
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
        0.01,
        "Largest error of linear interpolation of the effort",
        "N m",
        1e-9,
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
    Declaration("safety.on_overrun", "text", "ignore", "Reaction to an overrun", choices=ACTIVE_REACTIONS),
    Declaration(
        "safety.on_non_finite",
        "text",
        "hold",
        "Reaction to a command that is not finite",
        choices=SAFE_STATES,
    ),
    Declaration(
        "safety.on_deactivate",
        "text",
        "hold",
        "Last command when deactivated or stopped",
        choices=SAFE_STATES,
    ),
)

TABLE = START + CONTROL + MODEL + INPUT + SAFETY
