"""Vectors and matrices as tuples of scalars of any kind: floats, arrays, SymPy, code expressions."""

from collections.abc import Callable
from typing import Any

Scalar = Any  # anything with + - *: the formulations are generic over it
Vector = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Vector, Vector, Vector]  # rows


def add(*vectors: Vector) -> Vector:
    """Sum of vectors, from the left."""
    x, y, z = vectors[0]
    for vector in vectors[1:]:
        x, y, z = x + vector[0], y + vector[1], z + vector[2]
    return x, y, z


def scale(factor: Scalar, v: Vector) -> Vector:
    return factor * v[0], factor * v[1], factor * v[2]


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def apply(matrix: Matrix, v: Vector) -> Vector:
    """matrix v."""
    return dot(matrix[0], v), dot(matrix[1], v), dot(matrix[2], v)


def transpose(matrix: Matrix) -> Matrix:
    a, b, c = matrix
    return (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """a b."""
    columns = transpose(b)
    x, y, z = ((dot(row, columns[0]), dot(row, columns[1]), dot(row, columns[2])) for row in a)
    return x, y, z


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
