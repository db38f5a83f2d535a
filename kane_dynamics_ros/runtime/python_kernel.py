"""The generated functions in pure Python, behind the same methods as the compiled kernel."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import (
    NonFiniteError,
    batch_error,
    non_finite,
    shape_error,
    singular_mass_matrix,
)

SINGULAR = 1e-12  # least pivot over diagonal entry of the mass matrix, as in the C code
TRIGONOMETRY = {"sin": np.sin, "cos": np.cos, "tanh": np.tanh}


def checked_array(name: str, value: ArrayLike) -> Array:
    """The argument as a float64 array in C order, of whatever shape; compiled models call it, too.

    Raises:
        TypeError: no real numbers, naming the argument. NonFiniteError: masked entries.
    """
    if np.ma.is_masked(value):
        message = f"{name}: found masked entries; fill them, or leave their states out"
        raise NonFiniteError(message, "masked", name=name)
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise TypeError(f"{name}: its rows differ in length; an array of real numbers is needed") from None
    if not np.can_cast(array.dtype, np.float64, "safe"):
        raise TypeError(f"{name}: cannot take dtype {array.dtype} as float64")
    return np.ascontiguousarray(array, np.float64) if array.ndim else array.astype(np.float64)


def checked_arrays(n: int, tips: int = 1, /, **arrays: ArrayLike) -> list[Array]:
    """The arguments as float64 arrays, all (n,) or all (N, n), a wrench of six numbers a tip; all finite.

    Raises:
        ShapeError, NonFiniteError: naming the argument. TypeError: no real numbers.
    """
    checked: list[Array] = []
    for name, value in arrays.items():
        array = checked_array(name, value)
        width = 6 * tips if name == "wrench" else n
        if array.ndim not in (1, 2) or array.shape[-1] != width:
            raise shape_error(name, array.shape, width)
        if checked and array.shape[:-1] != checked[0].shape[:-1]:
            raise batch_error(name, array.shape, (*checked[0].shape[:-1], width))
        if not np.isfinite(array).all():
            raise non_finite(name)
        checked.append(array)
    return checked


class PythonKernel:
    """Evaluates a generated module's functions on floats, or on NumPy columns for a batch.

    Every function of the module becomes a method: ``kernel.mass_matrix(q)``.
    """

    def __init__(self, module: ModuleType, parameters: Sequence[float]) -> None:
        model = module.MODEL
        self._n, self._tips = len(model["joint_names"]), len(model["tips"])
        self._names: tuple[str, ...] = tuple(model["joint_names"])
        with np.errstate(all="ignore"):  # one over a mass of 0 is infinite, as in C, and no error
            prepared = [float(value) for value in module.prepare(np.array(parameters))]
        plain = tuple(parameters) == model["defaults"]
        for name, facts in model["functions"].items():
            with_parameters = f"{name}_with" if f"{name}_with" in model["functions"] else name
            if plain and hasattr(module, name) and "prepared" not in facts["arguments"]:
                method = self._method(getattr(module, name), facts, [])
            elif hasattr(module, with_parameters):
                method = self._method(getattr(module, with_parameters), facts, [prepared])
            else:
                method = getattr(self, f"_{name.removesuffix('_with')}")
            setattr(self, name, method)

    def __getattr__(self, name: str) -> Callable[..., Array]:
        raise AttributeError(name)  # not in this module

    def _method(
        self, function: Callable[..., list[Any]], facts: Mapping[str, Any], leading: list[list[float]]
    ) -> Callable[..., Array]:
        inputs = [name for name in facts["arguments"] if name != "prepared"]
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        calls = {name: TRIGONOMETRY[name] for name in TRIGONOMETRY if name in names}
        shape, singular = tuple(facts["shape"]), facts["singular"]

        def method(*arguments: Any) -> Array:
            if len(arguments) > len(inputs) and arguments[-1] is None:
                arguments = arguments[:-1]
            arrays = checked_arrays(self._n, self._tips, **dict(zip(inputs, arguments, strict=False)))
            if len(arguments) not in (len(inputs), len(inputs) + 1):
                raise TypeError(f"{len(inputs)} arrays are needed; {len(arguments)} given")
            with np.errstate(all="ignore"):  # a singular M is found by its pivots
                try:
                    if arrays[0].ndim == 1:
                        flat = np.array(function(*leading, *(a.tolist() for a in arrays)))
                    else:
                        values = function(*leading, *(a.T for a in arrays), **calls)
                        flat = np.stack(np.broadcast_arrays(*values, arrays[0][:, 0])[:-1], axis=-1)
                except ZeroDivisionError:
                    raise singular_mass_matrix(self._singular_joints(arrays[0])) from None
            if singular:
                flat = self._regular(flat)
            flat = _finite(flat)
            result = flat.reshape(arrays[0].shape[:-1] + shape)
            return result if len(arguments) == len(inputs) else copied_into(arguments[-1], result, arrays)

        return method

    def _inverse_mass_matrix(self, q: Any, out: Array | None = None) -> Array:
        """M^-1; a singular M is found as in the C code, by the pivots of forward dynamics."""
        (q,) = checked_arrays(self._n, q=q)
        rest = np.zeros_like(q)
        self.forward_dynamics(q, rest, rest)
        result: Array = np.linalg.inv(self.mass_matrix(q)).astype(np.float64, copy=False)
        return _finite(result) if out is None else copied_into(out, _finite(result), [q])

    def _coriolis(self, q: Any, qd: Any, out: Array | None = None) -> Array:
        """Half of d V / d qd, which the slopes of efforts have."""
        q, qd = checked_arrays(self._n, q=q, qd=qd)
        slopes = self.inverse_dynamics_derivatives(q, qd, np.zeros_like(qd))
        result: Array = 0.5 * slopes[..., 1, :, :]
        return result if out is None else copied_into(out, result, [q, qd])

    def _forward_dynamics_derivatives(self, q: Any, qd: Any, tau: Any, out: Array | None = None) -> Array:
        """d qdd / d q, d qdd / d qd and M^-1: tau(q, qd, qdd) stays, hence d qdd = -M^-1 d tau."""
        q, qd, tau = checked_arrays(self._n, q=q, qd=qd, tau=tau)
        qdd = self.forward_dynamics(q, qd, tau)
        inverse = self._inverse_mass_matrix(q)[..., None, :, :]
        result = np.concatenate([-inverse @ self.inverse_dynamics_derivatives(q, qd, qdd), inverse], axis=-3)
        return _finite(result) if out is None else copied_into(out, _finite(result), [q, qd, tau])

    def _regular(self, flat: Array) -> Array:
        """The accelerations alone, once the pivots behind them are found to be positive."""
        n = self._n
        qdd, pivots, diagonal = flat[..., :n], flat[..., n : 2 * n], flat[..., 2 * n :]
        bad = ~(pivots > SINGULAR * diagonal)
        if bad.any():
            outermost = np.flatnonzero(bad.reshape(-1, n).any(axis=0))[-1]  # it spoils those further in
            raise singular_mass_matrix([self._names[outermost]])
        return qdd

    def _singular_joints(self, q: Array) -> list[str]:
        """The joints whose own inertia is zero; where every one has some, all of them."""
        M = self.mass_matrix(q.reshape(-1, self._n)[0])
        names = [name for name, entry in zip(self._names, np.diag(M), strict=True) if not entry > 0.0]
        return names or list(self._names)


def _finite(result: Array) -> Array:
    """The result. Raises ``NonFiniteError`` where it is not finite."""
    if not np.isfinite(result).all():
        raise non_finite("result")
    return result


def copied_into(out: Any, result: Array, inputs: Sequence[Array]) -> Array:
    """Copy the result into the caller's array, with the same demands on it as in the C code."""
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.carray):
        raise TypeError("out: a writable float64 array in C order is needed")
    if out.shape != result.shape:
        raise ValueError("out: its shape is not the result's")
    if any(np.may_share_memory(out, array) for array in inputs):
        raise ValueError("out: it overlaps an input")
    out[...] = result
    return out
