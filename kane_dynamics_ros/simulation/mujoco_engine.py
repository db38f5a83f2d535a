"""MuJoCo on the same URDF, as a second opinion: none of our equations enter it.

MuJoCo compiles the URDF itself; friction coefficients, rotor inertias, gravity and payload are then set
from our side, so that both engines mean the same arm. Joints that the model does not have are removed,
which fixes them at zero. Needs the ``mujoco`` package (``pip install '.[mujoco]'`` in a checkout).

Differences from our plant: dry friction and hard stops are MuJoCo's soft constraints, made as stiff as
it allows (a joint at rest creeps a little; a stop gives a little and throws back 5 % of the speed, whatever
the restitution); friction has no Stribeck part. Integrator: Runge-Kutta of fourth order in ``_SUBSTEPS``
parts of a time step, or, where the damping is stiff (h d > M_ii), ``implicitfast`` of first order.
"""

import importlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.runtime import DynamicsModel, Payload, initial_positions
from kane_dynamics_ros.simulation import engine
from kane_dynamics_ros.simulation.friction import LOCKED
from kane_dynamics_ros.simulation.plant import PlantOptions, check_factors

LOCK_EFFORT = 1e5  # [N m or N] a joint braked this hard is put back where it was after each step
_SUBSTEPS = 2
_CONTACT_SUBSTEPS = 20
_UNUSED = ("visual", "collision")  # geometry plays no part, and its meshes need not be there


class MujocoEngine:
    """An ``Engine`` whose dynamics are MuJoCo's. Raises ``SimulationError`` when MuJoCo cannot stand in."""

    def __init__(
        self,
        urdf: str,
        model: DynamicsModel,
        options: PlantOptions | None = None,
        factors: Mapping[str, float] | None = None,
    ) -> None:
        """``urdf``: the text of the URDF that ``model`` was generated from.

        ``model`` gives the joint order, the tip and the parameters; nothing that it computes enters the
        motion. ``factors`` multiply masses and inertias of its bodies, see ``plant.with_factors``.
        """
        self.options = options or PlantOptions()
        self._mujoco = _import_mujoco()
        self.joints, self.time_step = model.joints, self.options.time_step
        self._model = _compile(self._mujoco, urdf, model)
        self._data = self._mujoco.MjData(self._model)
        joints = [self._model.joint(name) for name in model.joint_names]
        self._position = np.array([joint.qposadr[0] for joint in joints])
        self._velocity = np.array([joint.dofadr[0] for joint in joints])
        self._load: engine.TipLoad | None = None
        self._set_parameters(model)
        self._scale_bodies(model, factors or {})
        self._tip = self._model.body(model.tip).id
        self._tip_own = self._tip_inertial()
        self.set_payload(model.parameters.payload)
        self.set_brake(np.zeros(len(joints)))
        self.reset(initial_positions(model.joints), np.zeros(len(joints)))

    @property
    def q(self) -> Array:
        positions: Array = self._data.qpos[self._position]
        return positions

    @property
    def qd(self) -> Array:
        velocities: Array = self._data.qvel[self._velocity]
        return velocities

    def reset(self, q: Array, qd: Array) -> None:
        self._data.qpos[self._position], self._data.qvel[self._velocity] = q, qd

    def step(self, effort: Array) -> None:
        self._data.qfrc_applied[:] = 0.0
        self._data.qfrc_applied[self._velocity] = effort
        q, qd = self.q, self.qd
        if self._load is None:
            self._mujoco.mj_step(self._model, self._data, _SUBSTEPS)
        else:
            self._contact_steps(self._load)
        try:
            engine.refuse_divergence(self, self.q, self.qd, float(self._data.time))
        except engine.SimulationDivergedError:
            self.reset(q, qd)
            raise
        if self._held.any():
            self.reset(np.where(self._held, q, self.q), np.where(self._held, 0.0, self.qd))

    def set_payload(self, payload: Payload) -> None:
        """The tip body becomes the URDF's plus the payload."""
        mass, com, inertia = _combined(self._tip_own, payload)
        moments, axes = np.linalg.eigh(inertia)
        if np.linalg.det(axes) < 0.0:
            axes[:, 2] *= -1.0
        body = self._model.body(self._tip)
        body.mass, body.ipos, body.inertia = mass, com, moments
        self._mujoco.mju_mat2Quat(self._model.body_iquat[self._tip], np.ascontiguousarray(axes).ravel())
        self._mujoco.mj_setConst(self._model, self._mujoco.MjData(self._model))

    def set_brake(self, effort: Array) -> None:
        brake = np.where(self._locked, LOCK_EFFORT, np.minimum(effort, LOCK_EFFORT))
        self._held = brake == LOCK_EFFORT
        self._model.dof_frictionloss[self._velocity] = self._coulomb + brake

    def set_tip_load(self, load: engine.TipLoad | None) -> None:
        self._load = load

    def _contact_steps(self, load: engine.TipLoad) -> None:
        """A time step under a load that MuJoCo's own kinematics take to the joints.

        A contact is stiff where all else is smooth: it is looked at ``_CONTACT_SUBSTEPS`` times a step.
        """
        mujoco, model, data = self._mujoco, self._model, self._data
        commanded, whole = data.qfrc_applied.copy(), model.opt.timestep
        model.opt.timestep = self.time_step / _CONTACT_SUBSTEPS
        for _ in range(_CONTACT_SUBSTEPS):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            twist = np.empty(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, self._tip, twist, 0)
            origin = data.xpos[self._tip].copy()
            wrench = load(engine.TipMotion(data.xmat[self._tip].reshape(3, 3).copy(), origin, twist[3:]))
            effort = np.zeros(model.nv)
            mujoco.mj_applyFT(model, data, wrench[:3], wrench[3:], origin, self._tip, effort)
            data.qfrc_applied[:] = commanded + effort
            mujoco.mj_step(model, data)
        model.opt.timestep = whole

    def _set_parameters(self, model: DynamicsModel) -> None:
        own, friction = self._model, self.options.resistances(model.joints)
        if replace(friction.beyond, stribeck=np.zeros(len(model.joints))).any:
            raise _refused("friction beyond viscous and Coulomb friction", "use the own engine")
        if friction.beyond.coupling is not None:
            raise _refused("coupled drives", "use the own engine")
        own.opt.timestep = self.time_step / _SUBSTEPS
        own.opt.integrator = self._integrator(model, friction.viscous)
        own.opt.gravity[:] = model.parameters.gravity
        own.dof_armature[self._velocity] = model.parameters.rotor_inertia
        own.dof_damping[self._velocity] = friction.viscous
        self._coulomb, self._locked = friction.coulomb, friction.brake == LOCKED
        own.dof_solref[:] = (2.0 * own.opt.timestep, 1.0)  # friction and stops: as stiff as MuJoCo allows
        own.jnt_solref[:] = (2.0 * own.opt.timestep, 2.0)  # damped above critical, or a stop throws back more
        own.dof_solimp[:, :2] = own.jnt_solimp[:, :2] = 0.9999
        if not self.options.hard_stops:
            own.jnt_limited[:] = 0

    def _integrator(self, model: DynamicsModel, viscous: Array) -> Any:
        """The most accurate of MuJoCo's integrators that stays stable under this damping."""
        kinds = self._mujoco.mjtIntegrator
        inertia = np.diag(model.mass_matrix(initial_positions(model.joints)))
        stiff = (self.time_step / _SUBSTEPS * viscous > inertia).any()
        return kinds.mjINT_IMPLICITFAST if stiff else kinds.mjINT_RK4

    def _scale_bodies(self, model: DynamicsModel, factors: Mapping[str, float]) -> None:
        """Mass and inertia of these bodies, links fixed to them included."""
        check_factors(model, factors)
        for name, factor in factors.items():
            fixed = self._model.body_weldid == self._model.body(name).id
            self._model.body_mass[fixed] *= factor
            self._model.body_inertia[fixed] *= factor

    def _tip_inertial(self) -> tuple[float, Array, Array]:
        """Mass, centre of mass and central inertia tensor of the URDF's tip link, in its frame."""
        body = self._model.body(self._tip)
        rotation = np.empty(9)
        self._mujoco.mju_quat2Mat(rotation, body.iquat)
        axes = rotation.reshape(3, 3)
        return float(body.mass[0]), body.ipos.copy(), axes @ np.diag(body.inertia) @ axes.T


def _combined(own: tuple[float, Array, Array], payload: Payload) -> tuple[float, Array, Array]:
    """Mass, centre of mass and central inertia of two bodies joined; all in the tip frame."""
    ixx, ixy, ixz, iyy, iyz, izz = payload.inertia
    held = (
        payload.mass,
        np.array(payload.com),
        np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]),
    )
    mass = own[0] + held[0]
    if mass == 0.0:
        return own
    com = (own[0] * own[1] + held[0] * held[1]) / mass
    inertia = np.zeros((3, 3))
    for part_mass, part_com, part_inertia in (own, held):
        arm = part_com - com
        inertia += part_inertia + part_mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, com, inertia


def _refused(found: str, remedy: str) -> engine.SimulationError:
    return engine.SimulationError(f"engine mujoco: {found}; {remedy}", "engine", found=found)


def _import_mujoco() -> Any:
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise _refused(
            "the mujoco package is not installed",
            "pip install '.[mujoco]' in a checkout, or use the own engine",
        ) from None


def _compile(mujoco: Any, urdf: str, model: DynamicsModel) -> Any:
    """MuJoCo's model of the URDF with the joints of ``model`` alone."""
    try:
        spec = mujoco.MjSpec.from_string(_mechanics_only(urdf, model.joint_names))
        spec.compiler.fusestatic = False  # the tip keeps its body, for the payload
        for joint in list(spec.joints):
            if joint.name not in model.joint_names:
                spec.delete(joint)
        compiled = spec.compile()
    except (ValueError, ElementTree.ParseError) as error:
        raise _refused(
            f"MuJoCo refuses the URDF: {error}", "correct the URDF, or use the own engine"
        ) from None
    found = {compiled.joint(i).name for i in range(compiled.njnt)}
    bodies = {compiled.body(i).name for i in range(compiled.nbody)}
    missing = [name for name in model.joint_names if name not in found]
    if missing or model.tip not in bodies:
        what = f"joint {missing[0]!r}" if missing else f"link {model.tip!r}"
        raise _refused(
            f"the URDF has no {what}", f"give the URDF that model {model.name!r} was generated from"
        )
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return compiled


def _mechanics_only(urdf: str, joint_names: tuple[str, ...]) -> str:
    """The URDF without geometry. A joint of the chain that others mimic is refused."""
    root = ElementTree.fromstring(urdf)
    for link in root.iter("link"):
        for child in [child for child in link if child.tag in _UNUSED]:
            link.remove(child)
    for joint in root.iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") in joint_names:
            pair = f"joint {joint.get('name')!r} mimics {mimic.get('joint')!r}"
            raise _refused(f"{pair}; MuJoCo's URDF reader ignores that", "use the own engine")
    return ElementTree.tostring(root, encoding="unicode")
