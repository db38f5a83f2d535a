"""What may change at run time without generating again: gravity, payload, rotors, friction."""

from dataclasses import dataclass

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Payload:
    """A body fixed to the tip: mass [kg], centre of mass [m] and central inertia, in the tip frame.

    ``inertia`` is (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2], the tensor's entries.
    """

    mass: float = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Parameters:
    """Run-time parameters of a model; per-joint tuples follow ``model.joint_names``.

    ``gravity`` is the free-fall acceleration in the root link's frame [m/s^2]. ``rotor_inertia`` is
    reflected to the joint side (gear ratio squared included) and adds to M's diagonal.
    Friction effort: viscous * qd + coulomb * tanh(qd / coulomb_velocity). ``inertial`` holds, for each body,
    m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz about its link frame's origin.
    """

    gravity: Vector
    rotor_inertia: tuple[float, ...]
    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    coulomb_velocity: float = 0.01  # [rad/s] or [m/s]
    payload: Payload = Payload()
    inertial: tuple[float, ...] | None = None  # of modules generated with --inertial runtime
