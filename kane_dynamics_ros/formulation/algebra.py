"""Vectors and matrices of the formulations: tuples of scalars of any kind, and what turns them.

Sums and products are those of ``description.algebra``: all scalars take the same path.
"""

from collections.abc import Callable
from typing import Any

from kane_dynamics_ros.description.algebra import add, apply, cross, dot, multiply, scale, transpose

__all__ = [
    "Matrix",
    "Scalar",
    "Vector",
    "add",
    "apply",
    "cross",
    "cross_columns",
    "dot",
    "multiply",
    "rotate_about",
    "scale",
    "transpose",
    "turned",
]

Scalar = Any  # as ``description.algebra.Scalar`` says
Vector = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Vector, Vector, Vector]  # rows


def cross_columns(p: Vector, matrix: Matrix) -> Matrix:
    """[p]x matrix: the cross product of p with each column."""
    a, b, c = transpose(matrix)
    return transpose((cross(p, a), cross(p, b), cross(p, c)))


def turned(matrix: Matrix, turn: Callable[[Vector], Vector]) -> Matrix:
    """R matrix R^T, where ``turn`` multiplies a vector by R."""
    a, b, c = transpose((turn(matrix[0]), turn(matrix[1]), turn(matrix[2])))  # columns of matrix R^T
    return transpose((turn(a), turn(b), turn(c)))


def rotate_about(axis: Vector, sine: Scalar, cosine: Scalar, v: Vector) -> Vector:
    """R(axis, angle) v for a unit axis; axes along a coordinate cost four products.

    Rodrigues: R v = cos v + sin (axis x v) + (1 - cos) axis (axis . v).
    """
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if axis[i] == 0 and axis[j] == 0:  # axis = +-e_k: a rotation in the plane (i, j)
            s = sine * axis[k]
            turned = [v[0], v[1], v[2]]
            turned[i] = cosine * v[i] - s * v[j]
            turned[j] = s * v[i] + cosine * v[j]
            return turned[0], turned[1], turned[2]
    along = (1 - cosine) * dot(axis, v)
    return add(scale(cosine, v), scale(sine, cross(axis, v)), scale(along, axis))
