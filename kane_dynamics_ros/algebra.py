"""Arrays, and vectors and matrices as tuples of scalars of any kind: floats, SymPy, code expressions.

On floats the same bits come out on every machine, whatever NumPy is installed.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def finite(values: Array) -> bool:
    """Whether a few values (n,) and their sum are finite: a quarter of the time of NumPy's own reductions."""
    return math.isfinite(sum(values.tolist()))


class Scalar(Protocol):
    """Anything that adds, multiplies and divides with its own kind and with numbers."""

    def __neg__(self: "S") -> "S": ...
    def __add__(self: "S", other: Any, /) -> "S": ...
    def __radd__(self: "S", other: Any, /) -> "S": ...
    def __sub__(self: "S", other: Any, /) -> "S": ...
    def __rsub__(self: "S", other: Any, /) -> "S": ...
    def __mul__(self: "S", other: Any, /) -> "S": ...
    def __rmul__(self: "S", other: Any, /) -> "S": ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...


S = TypeVar("S", bound=Scalar)
VectorOf = tuple[S, S, S]
MatrixOf = tuple[tuple[S, S, S], tuple[S, S, S], tuple[S, S, S]]  # rows
Vector = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Vector, Vector, Vector]  # rows


def add(*vectors: VectorOf[S]) -> VectorOf[S]:
    """Sum of vectors, from the left."""
    x, y, z = vectors[0]
    for vector in vectors[1:]:
        x, y, z = x + vector[0], y + vector[1], z + vector[2]
    return x, y, z


def subtract(a: VectorOf[S], b: VectorOf[S]) -> VectorOf[S]:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(factor: S, v: VectorOf[S]) -> VectorOf[S]:
    return factor * v[0], factor * v[1], factor * v[2]


def dot(a: VectorOf[S], b: VectorOf[S]) -> S:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: VectorOf[S], b: VectorOf[S]) -> VectorOf[S]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def apply(matrix: MatrixOf[S], v: VectorOf[S]) -> VectorOf[S]:
    """matrix v."""
    return dot(matrix[0], v), dot(matrix[1], v), dot(matrix[2], v)


def transpose(matrix: MatrixOf[S]) -> MatrixOf[S]:
    a, b, c = matrix
    return (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])


def multiply(a: MatrixOf[S], b: MatrixOf[S]) -> MatrixOf[S]:
    """a b."""
    columns = transpose(b)
    x, y, z = ((dot(row, columns[0]), dot(row, columns[1]), dot(row, columns[2])) for row in a)
    return x, y, z


def symmetric(six: Sequence[S]) -> MatrixOf[S]:
    """The symmetric matrix of the entries (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = six
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def cross_columns(p: Vector, matrix: Matrix) -> Matrix:
    """[p]x matrix: the cross product of p with each column."""
    a, b, c = transpose(matrix)
    return transpose((cross(p, a), cross(p, b), cross(p, c)))


def turned(matrix: Matrix, turn: Callable[[Vector], Vector]) -> Matrix:
    """Return R matrix R^T, (3, 3), where ``turn`` multiplies a vector by R."""
    a, b, c = transpose((turn(matrix[0]), turn(matrix[1]), turn(matrix[2])))  # columns of matrix R^T
    return transpose((turn(a), turn(b), turn(c)))


def rotate_about(axis: Vector, sine: Scalar, cosine: Scalar, v: Vector) -> Vector:
    """Return R(axis, angle) v, (3,), for a unit axis; axes along a coordinate cost four products.

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


def rotation_about(axis: Vector, sine: Scalar, cosine: Scalar) -> Matrix:
    """R(axis, angle), (3, 3), for a unit axis."""
    x, y, z = (rotate_about(axis, sine, cosine, unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    return transpose((x, y, z))


def matrix_rotated_about(axis: Vector, sine: Scalar, cosine: Scalar, matrix: Matrix) -> Matrix:
    """R matrix R^T for R(axis, angle); about a coordinate axis, in fewer products than two turns cost.

    For axis e_k and (i, j, k) cyclic, with t = (A_ii - A_jj) cos - (A_ij + A_ji) sin: A_ii' = A_jj + t cos,
    A_jj' = A_ii - t cos, A_ij' = A_ij + t sin, A_ji' = A_ji + t sin; entries with one k turn as vectors.
    """
    k = next((k for k in range(3) if axis[(k + 1) % 3] == 0 and axis[(k + 2) % 3] == 0), None)
    if k is None:
        return turned(matrix, lambda v: rotate_about(axis, sine, cosine, v))
    i, j, s = (k + 1) % 3, (k + 2) % 3, sine * axis[k]
    A = matrix
    t = (A[i][i] - A[j][j]) * cosine - (A[i][j] + A[j][i]) * s
    B: list[list[Scalar]] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    B[i][i], B[j][j], B[k][k] = A[j][j] + t * cosine, A[i][i] - t * cosine, A[k][k]
    B[i][j], B[j][i] = A[i][j] + t * s, A[j][i] + t * s
    B[i][k], B[j][k] = cosine * A[i][k] - s * A[j][k], s * A[i][k] + cosine * A[j][k]
    B[k][i], B[k][j] = cosine * A[k][i] - s * A[k][j], s * A[k][i] + cosine * A[k][j]
    x, y, z = ((row[0], row[1], row[2]) for row in B)
    return x, y, z
