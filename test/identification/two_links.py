"""The smallest arm on which identification can fail: two links, recorded as its URDF does not say."""

from pathlib import Path

import numpy as np
import pinocchio
from planted_arm import Array, write

URDF = """<robot name="two_links"><link name="base"/>
  <link name="l1"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx=".01" iyy=".03" izz=".03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="l2"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx=".005" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-7" upper="7" effort="100" velocity="9"/>{dynamics}</joint>
  <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-7" upper="7" effort="100" velocity="9"/>{dynamics}</joint>
</robot>"""
NAMES = ("j1", "j2")
RATE, SECONDS = 200.0, 60.0
Motion = tuple[Array, Array, Array]


def times() -> Array:
    return np.arange(round(SECONDS * RATE)) / RATE


def harmonics(seed: int = 3) -> Motion:
    """Five harmonics of 0.1 Hz on both joints: q, qd, qdd, (N, 2) each."""
    random = np.random.default_rng(seed)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    size, phase = random.uniform(-1, 1, (5, 2)) / w[:, None], random.uniform(0, 2 * np.pi, (5, 2))
    angle = w[:, None] * times()[:, None, None] + phase
    return (
        (size * np.sin(angle)).sum(axis=1),
        (size * w[:, None] * np.cos(angle)).sum(axis=1),
        (-size * w[:, None] ** 2 * np.sin(angle)).sum(axis=1),
    )


def one_way() -> Motion:
    """The first joint never turns back."""
    t = times()
    return (
        np.column_stack([-2 + 0.1 * t + 0.04 * np.sin(2 * t), 0.9 * np.sin(0.7 * t) + 0.4 * np.sin(1.9 * t)]),
        np.column_stack([0.1 + 0.08 * np.cos(2 * t), 0.63 * np.cos(0.7 * t) + 0.76 * np.cos(1.9 * t)]),
        np.column_stack([-0.16 * np.sin(2 * t), -0.441 * np.sin(0.7 * t) - 1.444 * np.sin(1.9 * t)]),
    )


def pauses(seed: int = 5) -> Motion:
    """A move of 1.5 s along a polynomial of fifth order and 1.5 s of rest, again and again."""
    random = np.random.default_rng(seed)
    since, move = np.modf(times() / 3.0)
    s = np.clip(2.0 * since, 0.0, 1.0)[:, None]
    points = random.uniform(-1.0, 1.0, (int(move[-1]) + 2, 2))
    start, step = points[move.astype(int)], np.diff(points, axis=0)[move.astype(int)]
    return (
        start + step * (10 * s**3 - 15 * s**4 + 6 * s**5),
        step * (30 * s**2 - 60 * s**3 + 30 * s**4) / 1.5,
        step * (60 * s - 180 * s**2 + 120 * s**3) / 1.5**2,
    )


def rigid(motion: Motion, fall: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> Array:
    """Pinocchio's efforts without friction, under a free fall, (N, 2)."""
    arm = pinocchio.buildModelFromXML(URDF.format(dynamics=""))
    arm.gravity.linear = np.array(fall)
    data = arm.createData()
    return np.array([pinocchio.rnea(arm, data, *row) for row in zip(*motion, strict=True)])


def urdf(folder: Path, damping: float = 0.0, friction: float = 0.0) -> Path:
    """The arm's file; without friction it has places for it."""
    path = folder / "two_links.urdf"
    path.write_text(URDF.format(dynamics=f'<dynamics damping="{damping}" friction="{friction}"/>'))
    return path


def bag(folder: Path, motion: Motion, effort: Array, noise: float = 0.05, names=NAMES) -> Path:
    """A recording with white noise on the efforts."""
    noisy = effort + noise * np.random.default_rng(0).normal(size=effort.shape)
    return write(folder, motion[0], motion[1], noisy, RATE, names)
