"""Inertial parameters as positive definite matrices, and how far apart two bodies are.

A rigid body with mass m, first moment h and inertia J about its frame's origin has the pseudo-inertia

    P = [[S, h], [h', m]],    S = tr(J)/2 1 - J                       [Wensing2018]

the second moments of its mass in homogeneous coordinates. Some distribution of mass has these parameters
if and only if P is positive definite (or, of mass on a plane, line or point, semidefinite). Around a
reference P0 every symmetric 4 x 4 matrix D stands for one set of parameters,

    P = R (1 + D) R',    R R' = P0

and |D|^2 = tr((P0^-1 (P - P0))^2) is the squared distance of P from P0 in the pull-back of the
affine-invariant metric, taken as constant at P0 [Lee2020]: it knows no units and no frames. ``y`` are the ten
entries of D with off-diagonal ones times sqrt(2), so that |y| = |D|.
"""

from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array

ROOT2 = float(np.sqrt(2.0))
ENTRIES = tuple((i, j) for j in range(4) for i in range(j + 1))  # upper triangle, column by column
SMALLEST_GYRATION = 0.02  # [m] a reference body is taken as no thinner: point masses would not give way
SMALLEST_MASS = 1e-3  # of the heaviest body, for a reference without mass


class BodyCoordinates(NamedTuple):
    """Coordinates ``y`` (10,) of one body about its reference: pi = origin + basis @ y.

    ``origin`` (10,): the parameters m, h, J of the reference; ``basis``: (10, 10); ``root`` (4, 4): R.
    """

    origin: Array
    basis: Array
    root: Array


def pseudo_inertia(parameters: Array) -> Array:
    """P, (..., 4, 4), of m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz, (..., 10)."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(np.asarray(parameters, float), -1, 0)
    half = (xx + yy + zz) / 2
    rows = [[half - xx, -xy, -xz, x], [-xy, half - yy, -yz, y], [-xz, -yz, half - zz, z], [x, y, z, m]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def parameters_of(P: Array) -> Array:
    """The ten parameters, (..., 10), of pseudo-inertias (..., 4, 4)."""
    S, h, m = P[..., :3, :3], P[..., :3, 3], P[..., 3, 3]
    J = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    upper = [J[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return np.stack([m, h[..., 0], h[..., 1], h[..., 2], *upper], axis=-1)


def matrix_of(y: Array) -> Array:
    """D, (..., 4, 4), of its coordinates (..., 10)."""
    D = np.zeros((*y.shape[:-1], 4, 4))
    for k, (i, j) in enumerate(ENTRIES):
        D[..., i, j] = D[..., j, i] = y[..., k] if i == j else y[..., k] / ROOT2
    return D


def coordinates_of(D: Array) -> Array:
    """The ten coordinates of a symmetric matrix: |y| is its Frobenius norm."""
    return np.stack([D[..., i, j] if i == j else ROOT2 * D[..., i, j] for i, j in ENTRIES], axis=-1)


def reference(parameters: Array, heaviest: float) -> Array:
    """The nearest usable pseudo-inertia (4, 4) to a URDF's: positive definite, no thinner than a finger.

    Second moments about the centre of mass below m r^2, r = ``SMALLEST_GYRATION``, are raised to it: a
    URDF that gives a point mass, or an inertia that no body has, would otherwise hold its parameters fast.
    """
    mass = max(float(parameters[0]), SMALLEST_MASS * heaviest)
    P = pseudo_inertia(parameters)
    h = P[:3, 3] if parameters[0] > 0.0 else np.zeros(3)
    central = P[:3, :3] - np.outer(h, h) / mass
    moments, axes = np.linalg.eigh(central)
    central = (axes * np.maximum(moments, mass * SMALLEST_GYRATION**2)) @ axes.T
    return np.block([[central + np.outer(h, h) / mass, h[:, None]], [h[None], np.full((1, 1), mass)]])


def body_at(
    parameters: Array, heaviest: float, known: bool = False, known_mass: bool = False
) -> BodyCoordinates:
    """Coordinates about a URDF's body; ``origin`` is the URDF's own values where a body can have them.

    A body without mass is a frame, and stays one: its ``basis`` is zero, as that of a ``known`` body. With
    ``known_mass`` the coordinates that would change the mass change nothing.
    """
    if known or not np.any(parameters):
        return BodyCoordinates(np.array(parameters, dtype=float), np.zeros((10, 10)), np.eye(4))
    P0 = reference(parameters, heaviest)
    root: Array = np.linalg.cholesky(P0).astype(np.float64)
    basis = np.stack([parameters_of(root @ matrix_of(unit) @ root.T) for unit in np.eye(10)], axis=1)
    if known_mass:
        towards = basis[0] / np.linalg.norm(basis[0])
        basis = basis - np.outer(basis @ towards, towards)
    consistent = np.linalg.eigvalsh(pseudo_inertia(parameters)).min() > 0.0
    return BodyCoordinates(np.array(parameters if consistent else parameters_of(P0)), basis, root)
