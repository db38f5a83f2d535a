"""An arm whose links bend, as an ``Engine``: joint encoders see the joints, the tip sags and swings.

The step is ``elastic.stepping``'s. Its first half gives the joints' speeds without dry friction, brakes
and stops, and how an impulse at a joint changes them; ``friction.solve_velocity`` then finds the
impulses, as it does for the rigid plant, with the inverse of that response for A.
"""

from dataclasses import replace

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm_model import ArmModel, with_payload
from kane_dynamics_ros.elastic.posture import FrameInRoot, arm_frames, sag
from kane_dynamics_ros.elastic.stepping import (
    BegunStep,
    State,
    begin_step,
    end_step,
    joint_speeds,
    method,
    start,
)
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo, Payload, initial_positions
from kane_dynamics_ros.simulation.engine import TipLoad, option_error, refuse_divergence
from kane_dynamics_ros.simulation.friction import LOCKED, solve_velocity
from kane_dynamics_ros.simulation.plant import PlantOptions
from kane_dynamics_ros.simulation.plant_step import dry_friction, settle, velocity_bounds


class ElasticPlant:
    """An ``Engine`` with elastic links. It starts at rest at the initial positions, sagging.

    ``model`` gives joints, gravity, rotor inertias and payload of the rigid arm; ``arm`` computes.
    """

    def __init__(self, arm: ArmModel, model: DynamicsModel, options: PlantOptions | None = None) -> None:
        self.options = options or PlantOptions()
        self.joints: tuple[JointInfo, ...] = model.joints
        self._bare = replace(arm, rotor=np.array(model.parameters.rotor_inertia))
        self._arm = with_payload(self._bare, model.parameters.payload)
        self._gravity = np.array(model.parameters.gravity)
        self._resistances = self.options.resistances(model.joints)
        self._always_locked = self._resistances.brake == LOCKED
        self._method = method(self._arm, self.options.time_step)
        self._time = 0.0
        self.reset(initial_positions(model.joints), np.zeros(arm.n))

    @property
    def time_step(self) -> float:
        return self.options.time_step

    @property
    def q(self) -> Array:
        return self._state.x[: self._arm.n]

    @property
    def qd(self) -> Array:
        return self._state.u[: self._arm.n]

    @property
    def arm(self) -> ArmModel:
        """The elastic arm with the present payload."""
        return self._arm

    @property
    def state(self) -> State:
        """All coordinates, the beams' included."""
        return self._state

    @property
    def tip(self) -> FrameInRoot:
        """Where the tip really is, in the root frame."""
        return arm_frames(self._arm, self._state.x).tip

    @property
    def rigid_tip(self) -> FrameInRoot:
        """Where the joints alone would put it."""
        straight = np.zeros(self._arm.size)
        straight[: self._arm.n] = self.q
        return arm_frames(self._arm, straight).tip

    def reset(self, q: Array, qd: Array) -> None:
        """Put the joints into a state; the beams sag as they would at rest and do not vibrate."""
        x = sag(self._arm, np.array(q, dtype=float), self._gravity)
        u = np.zeros(self._arm.size)
        u[: self._arm.n] = qd
        self._state, self._fresh = State(x, u, np.zeros(self._arm.size)), True

    def set_payload(self, payload: Payload) -> None:
        self._arm = with_payload(self._bare, payload)
        self._method = method(self._arm, self.options.time_step)

    def set_brake(self, effort: Array) -> None:
        self._resistances.brake[:] = np.where(self._always_locked, LOCKED, np.minimum(effort, LOCKED))

    def set_tip_load(self, load: TipLoad | None) -> None:
        """Raises ``SimulationError``: a load on the tip would bend the links, which is not modelled."""
        if load is not None:
            raise option_error("fault", "contact", "any other kind with elastic links")

    def step(self, effort: Array) -> None:
        self._time += self.time_step
        if self._fresh:
            self._begin(effort)
        begun = begin_step(
            self._arm, self._state, effort, self._gravity, self._resistances.viscous, self._method
        )
        v_end, friction = self._resist(begun)
        after = end_step(begun, friction)
        if v_end is not None:
            after = self._settled(after, v_end)
        n = self._arm.n
        refuse_divergence(self, after.x[:n], after.u[:n], self._time)
        self._state = after

    def _begin(self, effort: Array) -> None:
        """Find the accelerations of the first step after a reset."""
        resistances, (x, u, _) = self._resistances, self._state
        held = (self.qd == 0.0) & (dry_friction(resistances, self.qd) > 0.0)
        self._state = start(self._arm, x, u, effort, self._gravity, resistances.viscous, held)
        self._fresh = False

    def _resist(self, begun: BegunStep) -> tuple[Array | None, Array | None]:
        """Joint speeds at the step's end and the mean effort of what resists; None when nothing does."""
        resistances, h = self._resistances, self.time_step
        dry = dry_friction(resistances, self.qd)
        lower, upper = velocity_bounds(resistances, self.q, self.qd, h)
        if not (dry.any() or np.isfinite(lower).any() or np.isfinite(upper).any()):
            return None, None
        free, response = joint_speeds(begun)
        A = np.linalg.inv(response)
        A = 0.5 * (A + A.T)
        b = A @ free
        v_end = solve_velocity(A, b, h * dry, lower, upper, self.qd)
        return v_end, (A @ v_end - b) / h

    def _settled(self, after: State, v_end: Array) -> State:
        """Joints that rest have no speed and no acceleration left, and stay within their stops."""
        n = self._arm.n
        q, u = settle(self._resistances, self.q, self.qd, after.x[:n], after.u[:n], v_end)
        for array, joints in ((after.x, q), (after.u, u), (after.a, np.where(u == 0.0, 0.0, after.a[:n]))):
            array[:n] = joints
        return after
