"""Arms with elastic links that several tests use."""

from pathlib import Path

import numpy as np

from kane_dynamics_ros.description import load_robot, parse_robot, serial_chain
from kane_dynamics_ros.elastic.arm_model import ArmModel, arm_model
from kane_dynamics_ros.elastic.link import ElasticLink, Material, tube
from kane_dynamics_ros.elastic.posture import FrameInRoot, arm_frames

URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"
GRAVITY = np.array([0.0, 0.0, -9.81])

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0.5 0 0"/><mass value="0.6"/>
      <inertia ixx="3e-5" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
  <link name="end"/>
  <joint name="tip" type="fixed"><parent link="rod"/><child link="end"/><origin xyz="1 0 0"/></joint>
</robot>
"""

SLIDING = """
<robot name="sliding">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0.45 0 0.1"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="slide">
    <inertial><origin xyz="0.1 0.05 0"/><mass value="0.7"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0.002" iyz="0"/></inertial>
  </link>
  <link name="follower">
    <inertial><origin xyz="0 0.1 0"/><mass value="0.3"/>
      <inertia ixx="0.004" iyy="0.003" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 0.6 0.8"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/></joint>
  <joint name="push" type="prismatic"><parent link="rod"/><child link="slide"/><axis xyz="0 1 0"/>
    <origin xyz="0.9 0.1 0.05" rpy="0.2 0.1 -0.3"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="follow" type="revolute"><parent link="slide"/><child link="follower"/><axis xyz="1 0 0"/>
    <origin xyz="0.2 0 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/>
    <mimic joint="turn" multiplier="-0.5" offset="0.2"/></joint>
</robot>
"""


def reference_arm(E: float = 7e10, elements: int = 4, links=("limb_2", "limb_3"), damping=0.01) -> ArmModel:
    """The reference robot with elastic limbs of a light tube."""
    chain = serial_chain(load_robot(URDF))
    material = Material(E, E / 2.6, 1500.0)
    return arm_model(
        chain, [ElasticLink(name, material, tube(0.05, 0.02), elements, damping) for name in links]
    )


def pendulum(E: float, elements: int, stiffened: bool = False) -> ArmModel:
    """A hinged rod of 0.6 kg and 1 m; a diameter of 16 mm, E chooses the stiffness."""
    diameter = 0.016
    material = Material(E, E / 2.6, 0.6 / (np.pi * diameter**2 / 4))
    link = ElasticLink("rod", material, tube(diameter), elements, 0.0, stiffened=stiffened)
    return arm_model(serial_chain(parse_robot(PENDULUM)), [link])


def sliding_arm(E: float = 1e6) -> ArmModel:
    """A skew elastic rod that carries a slide and a follower: every kind of joint behind a beam."""
    material = Material(E, E / 2.6, 800.0)
    link = ElasticLink("rod", material, tube(0.04), 2, 0.0, start=(0.1, 0.0, 0.02), end=(0.8, 0.1, 0.0))
    return arm_model(serial_chain(parse_robot(SLIDING)), [link])


def kinetic_energy(M: np.ndarray, u: np.ndarray) -> float:
    """Kinetic energy [J] of the whole arm, from the mass matrix."""
    return 0.5 * float(u @ M @ u)


def potential_energy(model: ArmModel, x: np.ndarray, gravity: np.ndarray) -> float:
    """Strain energy plus potential of gravity [J]; the latter is 0 at the root frame's origin."""
    frames = arm_frames(model, x)
    moments = np.zeros(3)  # int r dm in the root frame
    for body, frame, beam in zip(model.bodies, frames.bodies, frames.beams, strict=True):
        moments += _moment(body.spatial, frame)
        if body.flexure is not None and beam is not None:
            flexible = body.flexure.body
            S = flexible.S + flexible.m_O @ x[body.flexure.place]
            moments += flexible.mass * beam.p + beam.R @ S + _moment(body.flexure.rest, beam)
    return 0.5 * float(x @ model.k @ x) - float(gravity @ moments)


def _moment(spatial: np.ndarray, frame: FrameInRoot) -> np.ndarray:
    """int r dm of a rigid body whose inertia in ``frame`` is ``spatial`` (6, 6)."""
    S = np.array([spatial[2, 4], spatial[0, 5], spatial[1, 3]])
    return np.asarray(spatial[3, 3] * frame.p + frame.R @ S)
