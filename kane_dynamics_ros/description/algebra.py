"""Vectors and matrices as tuples of scalars of any kind: floats, arrays, SymPy, code expressions.

On floats the same bits come out on every machine, whatever NumPy is installed.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar


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
