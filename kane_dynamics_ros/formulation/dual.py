"""Exact differentiation by dual numbers, over floats and SymPy expressions alike.

A dual number is ``value + slope * e`` with ``e * e = 0``: arithmetic on it carries the first derivative
exactly. Duals nest, which gives mixed and second derivatives. Components are scalars or matrices; a
slope may have a leading axis, one lane for each direction of differentiation. This is arithmetic only:
no dynamics is shared here.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Scalar

REAL = (float, int, np.floating, np.integer)


class Dual:
    """``value + slope * e`` with ``e * e = 0``; either part may itself be a Dual."""

    __slots__ = ("slope", "value")
    __array_ufunc__ = None  # an ndarray on the left leaves the operation to us

    def __init__(self, value: Any, slope: Any) -> None:
        self.value, self.slope = value, slope

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __add__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Dual":
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> "Dual":
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> "Dual":
        return _product(self, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> "Dual":
        return Dual(other * self.value, other * self.slope)

    def __matmul__(self, other: Any) -> "Dual":
        return _product(self, other, lambda a, b: a @ b)

    def __rmatmul__(self, other: Any) -> "Dual":
        return Dual(other @ self.value, other @ self.slope)

    def __truediv__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            quotient = self.value / other.value
            return Dual(quotient, (self.slope - quotient * other.slope) / other.value)
        return Dual(self.value / other, self.slope / other)

    def __rtruediv__(self, other: Any) -> "Dual":
        quotient = other / self.value
        return Dual(quotient, -(quotient * self.slope) / self.value)


Matrix: TypeAlias = NDArray[Any] | Dual  # of floats, SymPy expressions or duals


def _product(a: Dual, b: Any, times: Callable[[Any, Any], Any]) -> Dual:
    """Leibniz: (a b)' = a' b + a b', for any bilinear product."""
    if isinstance(b, Dual):
        return Dual(times(a.value, b.value), times(a.slope, b.value) + times(a.value, b.slope))
    return Dual(times(a.value, b), times(a.slope, b))


def sin(x: Scalar) -> Scalar:
    """Sine of a float, a SymPy expression or a Dual."""
    if isinstance(x, Dual):
        return Dual(sin(x.value), cos(x.value) * x.slope)
    if isinstance(x, REAL):
        return math.sin(x)
    import sympy  # for symbols only: its import costs more than all of ours

    sine: Scalar = sympy.sin(x)
    return sine


def cos(x: Scalar) -> Scalar:
    """Cosine of a float, a SymPy expression or a Dual."""
    if isinstance(x, Dual):
        return Dual(cos(x.value), -(sin(x.value) * x.slope))
    if isinstance(x, REAL):
        return math.cos(x)
    import sympy  # for symbols only: its import costs more than all of ours

    cosine: Scalar = sympy.cos(x)
    return cosine


def sine_cosine(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Both of an angle that is a float, a SymPy expression or a Dual."""
    return sin(angle), cos(angle)


def transpose(a: Matrix) -> Matrix:
    """Transposed matrix; lanes stay in front."""
    return Dual(transpose(a.value), transpose(a.slope)) if isinstance(a, Dual) else np.swapaxes(a, -1, -2)


def column(vector: Any) -> NDArray[Any]:
    """A 3-vector as a (3, 1) array."""
    return np.array(vector).reshape(3, 1)


def skew(a: Matrix) -> Matrix:
    """The matrix of the cross product of a (3, 1) column: ``skew(a) @ b = a x b``."""
    if isinstance(a, Dual):
        return Dual(skew(a.value), skew(a.slope))
    x, y, z = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    o = 0 * x
    rows = ((o, -z, y), (z, o, -x), (-y, x, o))
    return np.stack([np.concatenate(row, axis=-1) for row in rows], axis=-2)


def lanes(values: Any, first: int = 0, count: int | None = None) -> list[Dual]:
    """``values`` as duals, the i-th differentiated along lane ``first + i`` of ``count`` lanes."""
    seeds = np.eye(len(values) if count is None else count, dtype=int)
    return [Dual(value, seeds[first + i].reshape(-1, 1, 1)) for i, value in enumerate(values)]
