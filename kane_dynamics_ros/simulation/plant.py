"""The simulated arm: the generated module's equations, friction, brakes and hard stops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import NonFiniteError, unknown_joint
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo, Payload, initial_positions
from kane_dynamics_ros.simulation import engine
from kane_dynamics_ros.simulation.friction import LOCKED, Friction
from kane_dynamics_ros.simulation.plant_step import Resistances, compiled_step, step_in_parts


@dataclass(frozen=True)
class PlantOptions:
    """What the plant has beside rigid-body dynamics.

    ``friction`` None takes the URDF's coefficients. ``restitution`` is the fraction of the speed that a
    joint keeps, reversed, when it meets a hard stop. Joints in ``locked`` never move.
    """

    time_step: float = 1e-3  # [s]
    friction: Friction | None = None
    hard_stops: bool = True
    restitution: float = 0.0
    locked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.time_step) and 0.0 < self.time_step <= 0.1):
            raise engine.option_error("time_step", self.time_step, "above 0 s, at most 0.1 s")
        if not 0.0 <= self.restitution <= 1.0:
            raise engine.option_error("restitution", self.restitution, "0 to 1")

    def resistances(self, joints: Sequence[JointInfo]) -> Resistances:
        """Friction and stops of these joints, brakes open but for the locked joints.

        Raises ``SimulationError``, ``UnknownJointError``.
        """
        names = [joint.name for joint in joints]
        for name in self.locked:
            if name not in names:
                raise unknown_joint(name, names)
        friction = self.friction or Friction.from_urdf(joints)
        lower = [joint.lower if self.hard_stops else None for joint in joints]
        upper = [joint.upper if self.hard_stops else None for joint in joints]
        return Resistances(
            viscous=np.array(friction.viscous, dtype=float),
            coulomb=np.array(friction.coulomb, dtype=float),
            beyond=friction.beyond,
            brake=np.array([LOCKED if name in self.locked else 0.0 for name in names]),
            lower=np.array([-np.inf if limit is None else limit for limit in lower], dtype=float),
            upper=np.array([np.inf if limit is None else limit for limit in upper], dtype=float),
            restitution=self.restitution,
        )


class Plant:
    """Our own ``Engine``; ``plant_step`` states the method.

    The model's own friction and coupling of drives are switched off: the plant's take their place. Starts at
    rest at the URDF's initial positions. Raises ``SingularMassMatrixError`` when a joint that is not locked
    moves no inertia.
    """

    def __init__(self, model: DynamicsModel, options: PlantOptions | None = None) -> None:
        self.options = options or PlantOptions()
        self.joints, self.time_step = model.joints, self.options.time_step
        n = len(model.joint_names)
        self._resistances = self.options.resistances(model.joints)
        C = self._resistances.beyond.coupling
        self._model = model.with_parameters(
            viscous=(0.0,) * n, coulomb=(0.0,) * n, coupling=() if C is None else C.ravel()
        )
        self._always_locked = self._resistances.brake == LOCKED
        self.q, self.qd = (
            initial_positions(model.joints),
            np.zeros(n),
        )  # written in place: C has their addresses
        self._time = 0.0
        self._load: engine.TipLoad | None = None
        self._compile()
        engine.refuse_singular(self._model.mass_matrix(self.q), model.joint_names, self._always_locked)

    @property
    def model(self) -> DynamicsModel:
        """The rigid-body model with the present payload, without friction."""
        return self._model

    def reset(self, q: Array, qd: Array) -> None:
        self.q[:], self.qd[:] = q, qd

    def set_payload(self, payload: Payload) -> None:
        self._model = self._model.with_parameters(payload=payload)
        self._compile()

    def set_brake(self, effort: Array) -> None:
        """As the engine's, but no brake may slip where drives are coupled. Raises ``SimulationError``."""
        if self._resistances.beyond.coupling is not None and ((effort > 0.0) & (effort < LOCKED)).any():
            raise engine.option_error(
                "brake", np.asarray(effort).tolist(), "0 or infinity with coupled drives"
            )
        self._resistances.brake[:] = np.where(self._always_locked, LOCKED, np.minimum(effort, LOCKED))

    def set_tip_load(self, load: engine.TipLoad | None) -> None:
        self._load = load

    def energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        energy = self._model.energy(self.q, self.qd)
        return float(energy.kinetic + energy.potential)

    def step(self, effort: Array) -> None:
        self._time += self.time_step
        if self._load is not None:
            effort = effort + self._contact_effort(self._load)
        if self._compiled is not None and self._compiled(effort):
            return
        q, qd = self._numpy_step(effort)
        engine.refuse_divergence(self, q, qd, self._time)
        self.q[:], self.qd[:] = q, qd

    def _contact_effort(self, load: engine.TipLoad) -> Array:
        """Joint efforts (n,) of what touches the tip, constant over the step.

        The load is taken at q + q' h/2: then an elastic wall neither gives nor takes energy, and
        behaves as it would to second order in h.
        """
        q = self.q + 0.5 * self.time_step * self.qd
        pose = self._model.tip_pose(q)
        velocity = self._model.tip_jacobian(q)[3:] @ self.qd
        wrench = load(engine.TipMotion(pose[:3, :3], pose[:3, 3], velocity))
        return self._model.external_effort(q, wrench, frame="root")

    def _numpy_step(self, effort: Array) -> tuple[Array, Array]:
        """The next state; the fastest joint's is not finite when the step broke off within."""
        q, qd, model = self.q, self.qd, self._model
        try:
            return step_in_parts(model, self._resistances, q, qd, effort, self.time_step)
        except (NonFiniteError, np.linalg.LinAlgError):
            engine.refuse_singular(model.mass_matrix(q), model.joint_names, self._always_locked)
            fastest = np.argmax(np.abs(qd) + np.abs(effort) / np.diag(model.mass_matrix(q)))
            return q, np.where(np.arange(len(qd)) == fastest, np.nan, qd)

    def _compile(self) -> None:
        self._compiled = compiled_step(self._model, self._resistances, self.q, self.qd, self.time_step)


# Mismatch: a plant whose links weigh something else than the controller's model believes. A factor multiplies
# mass and inertia tensor of a body and leaves its centre of mass: still a body that can exist.


def with_factors(model: DynamicsModel, factors: Mapping[str, float]) -> DynamicsModel:
    """The model with the inertial parameters of some bodies multiplied, by body name.

    Needs a module generated with ``--inertial runtime``.

    Raises ``SimulationError``.
    """
    check_factors(model, factors)
    if all(factor == 1.0 for factor in factors.values()):
        return model
    if model.parameters.inertial is None:
        raise engine.SimulationError(
            f"model {model.name!r} has its masses and inertias built in, so the plant cannot differ "
            "from them; generate it with --inertial runtime",
            "fixed_inertia",
        )
    bodies = np.reshape(model.parameters.inertial, (-1, 10))
    scaled = bodies * np.array([[factors.get(name, 1.0)] for name in model.bodies])
    return model.with_parameters(inertial=tuple(scaled.ravel()))


def check_factors(model: DynamicsModel, factors: Mapping[str, float]) -> None:
    """Raise ``SimulationError`` when these cannot be factors of the model."""
    for name, factor in factors.items():
        if name not in model.bodies:
            known = ", ".join(map(repr, model.bodies))
            raise engine.SimulationError(
                f"unknown body {name!r}; the model's bodies are {known}",
                "body",
                found=name,
                known=model.bodies,
            )
        if not (np.isfinite(factor) and factor > 0.0):
            raise engine.option_error(f"mismatch factor of {name!r}", factor, "finite and > 0")


def drawn_factors(model: DynamicsModel, spread: float, seed: int) -> dict[str, float]:
    """A factor for each body, uniform between 1 - spread and 1 + spread. Same seed, same factors."""
    if not 0.0 <= spread < 1.0:
        raise engine.option_error("mismatch.spread", spread, "at least 0, below 1")
    draws = np.random.default_rng(seed).uniform(-1.0, 1.0, len(model.bodies))
    return {name: 1.0 + spread * float(draw) for name, draw in zip(model.bodies, draws, strict=True)}
