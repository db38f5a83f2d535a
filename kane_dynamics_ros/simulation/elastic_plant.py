"""An arm whose links bend, as an ``Engine``: joint encoders see the joints, the tip sags and swings.

The step is ``elastic.stepping``'s. Its first half gives the joints' speeds without dry friction, brakes
and stops, and how an impulse at a joint changes them; ``friction.solve_velocity`` then finds the
impulses, as it does for the rigid plant, with the inverse of that response for A.
"""

from dataclasses import replace

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic import stepping
from kane_dynamics_ros.elastic.arm_model import ArmModel, with_payload
from kane_dynamics_ros.elastic.posture import FrameInRoot, arm_frames, rigid_tip, sag
from kane_dynamics_ros.runtime import DynamicsModel, Payload, initial_positions
from kane_dynamics_ros.simulation.engine import TipLoad, option_error, refuse_divergence
from kane_dynamics_ros.simulation.friction import LOCKED, solve_velocity
from kane_dynamics_ros.simulation.plant import PlantOptions
from kane_dynamics_ros.simulation.plant_step import dry_friction, settle, velocity_bounds


class ElasticPlant:
    """An ``Engine`` with elastic links. It starts at rest at the initial positions, sagging.

    ``model`` gives joints, gravity, rotor inertias and payload of the rigid arm. ``arm`` is the elastic one
    with the present payload, ``state`` all its coordinates, the beams' included.
    """

    def __init__(self, arm: ArmModel, model: DynamicsModel, options: PlantOptions | None = None) -> None:
        self.options = options or PlantOptions()
        self.joints, self.time_step = model.joints, self.options.time_step
        self._bare = replace(arm, rotor=np.array(model.parameters.rotor_inertia))
        self._gravity = np.array(model.parameters.gravity)
        self._resistances = self.options.resistances(model.joints)
        beyond = self._resistances.beyond
        if beyond.load.any():
            raise option_error("friction.load", beyond.load.tolist(), "0 with elastic links")
        if beyond.coupling is not None:
            raise option_error("friction.coupling", beyond.coupling.tolist(), "none with elastic links")
        self._always_locked = self._resistances.brake == LOCKED
        self._time = 0.0
        self.set_payload(model.parameters.payload)
        self.reset(initial_positions(model.joints), np.zeros(arm.n))

    @property
    def q(self) -> Array:
        return self.state.x[: self.arm.n]

    @property
    def qd(self) -> Array:
        return self.state.u[: self.arm.n]

    @property
    def tip(self) -> FrameInRoot:
        """Where the tip really is, in the root frame."""
        return arm_frames(self.arm, self.state.x).tip

    @property
    def rigid_tip(self) -> FrameInRoot:
        """Where the joints alone would put it."""
        return rigid_tip(self.arm, self.q)

    def reset(self, q: Array, qd: Array) -> None:
        """Put the joints into a state; the beams sag as they would at rest and do not vibrate."""
        x = sag(self.arm, np.array(q, dtype=float), self._gravity)
        u = np.zeros(self.arm.size)
        u[: self.arm.n] = qd
        self.state, self._fresh = stepping.State(x, u, np.zeros(self.arm.size)), True

    def set_payload(self, payload: Payload) -> None:
        self.arm = with_payload(self._bare, payload)
        self._method = stepping.method(self.arm, self.time_step)

    def set_brake(self, effort: Array) -> None:
        self._resistances.brake[:] = np.where(self._always_locked, LOCKED, np.minimum(effort, LOCKED))

    def set_tip_load(self, load: TipLoad | None) -> None:
        """Raises ``SimulationError``: a load on the tip would bend the links, which is not modelled."""
        if load is not None:
            raise option_error("fault", "contact", "any other kind with elastic links")

    def step(self, effort: Array) -> None:
        self._time += self.time_step
        n, resistances = self.arm.n, self._resistances
        effort, damping = effort - resistances.shift, resistances.damping(self.qd)
        if self._fresh:  # the accelerations of the first step after a reset
            held = (self.qd == 0.0) & (dry_friction(resistances, self.qd, np.zeros(n)) > 0.0)
            x, u, _ = self.state
            self.state = stepping.start(self.arm, x, u, effort, self._gravity, damping, held)
            self._fresh = False
        begun = stepping.begin_step(self.arm, self.state, effort, self._gravity, damping, self._method)
        v_end, friction = self._resist(begun)
        after = stepping.end_step(begun, friction)
        if v_end is not None:  # joints that rest have no speed and acceleration left, within their stops
            q, u = settle(resistances, self.q, self.qd, after.x[:n], after.u[:n], v_end)
            after.x[:n], after.u[:n], after.a[:n] = q, u, np.where(u == 0.0, 0.0, after.a[:n])
        refuse_divergence(self, after.x[:n], after.u[:n], self._time)
        self.state = after

    def _resist(self, begun: stepping.BegunStep) -> tuple[Array | None, Array | None]:
        """Joint speeds at the step's end and the mean effort of what resists; None when nothing does."""
        resistances, h = self._resistances, self.time_step
        dry = dry_friction(resistances, self.qd, np.zeros(self.arm.n))
        lower, upper = velocity_bounds(resistances, self.q, self.qd, h)
        if not (dry.any() or np.isfinite(lower).any() or np.isfinite(upper).any()):
            return None, None
        free, response = stepping.joint_speeds(begun)
        A = np.linalg.inv(response)
        A = 0.5 * (A + A.T)
        b = A @ free
        v_end = solve_velocity(A, b, h * dry, lower, upper, self.qd)
        return v_end, (A @ v_end - b) / h
