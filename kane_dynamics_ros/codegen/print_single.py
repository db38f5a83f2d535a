"""Print NAME_single.h and NAME_single.c: the same functions for ``float``, for small computers.

The text is that of the double one but for the type, the suffix of its numbers, and what it takes from the C
library: sinf and cosf, nothing else. There are no forms for many states. Each function states its operations,
the most values that are alive at once, and the largest error of its results beside double precision.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.passes import Listing
from kane_dynamics_ros.codegen.print_c import (
    LINEAR_ALGEBRA,
    SUPPORT,
    Sines,
    c_function,
    c_header,
    composed_function,
    declaration,
    parameter_functions,
)

STATES = 256  # random states at which the error is measured
BYTES = 4  # of a float
SUFFIX = "_single"


@dataclass(frozen=True)
class SingleCost:
    """What one function costs in single precision."""

    operations: int
    temporaries: int  # values alive at once, at most
    error: float  # of any element, relative to the largest of the state

    @property
    def stack(self) -> int:
        """Bytes of temporaries."""
        return BYTES * self.temporaries


def single_costs(derived: Derived) -> dict[str, SingleCost]:
    """The cost of every function that has statements of its own."""
    equations, counts = derived.equations, derived.operations()
    n = equations.n
    rng = np.random.default_rng(0)
    scale = {"q": np.pi, "qd": 2.0, "qdd": 5.0, "tau": 10.0, "wrench": 5.0}
    width = {"wrench": 6}
    state = {k: rng.uniform(-s, s, (width.get(k, n), STATES)).astype(np.float32) for k, s in scale.items()}
    parameters = np.array(default_parameters(equations.layout, derived.chain))
    for name in ("viscous", "coulomb"):  # without any, friction would have no error
        parameters[equations.layout.slices()[name]] = 1.0
    prepared = derived.prepare.evaluated({"parameters": list(parameters)})
    found = {}
    for function in equations.functions:
        if not function.composed:
            listing = derived.listings[function.name]
            error = _error(listing, function, state, prepared)
            found[function.name] = SingleCost(counts[function.name].total, alive(listing), error)
    return found


def _error(
    listing: Listing, function: Function, state: Mapping[str, np.ndarray], prepared: list[float]
) -> float:
    """Largest error of a result, relative to the largest element, beside double precision."""
    results = len(listing.outputs) - 2 * function.pivots
    single, double = (
        np.array(
            [
                np.broadcast_to(np.asarray(value, dtype=kind), STATES)
                for value in listing.evaluated(
                    {
                        **{name: list(values.astype(kind)) for name, values in state.items()},
                        "prepared": [kind(value) for value in prepared],
                    }
                )[:results]
            ],
            dtype=np.float64,
        )
        for kind in (np.float32, np.float64)
    )
    largest = np.abs(double).max(axis=0)
    largest[largest == 0.0] = 1.0
    return float((np.abs(single - double).max(axis=0) / largest).max())


def alive(listing: Listing) -> int:
    """The most values that are computed and still needed, at any statement."""
    nodes = listing.graph.nodes
    last = {i: k for k, index in enumerate(listing.statements) for i in nodes[index][1:3]}
    last |= {output.index: len(listing.statements) for output in listing.outputs}
    ends: dict[int, int] = {}
    now = most = 0
    for k, index in enumerate(listing.statements):
        now += 1
        most = max(most, now)
        end = last.get(index, k)
        ends[end] = ends.get(end, 0) + 1
        now -= ends.pop(k, 0)
    return most


def single_sources(name: str, derived: Derived, version: str) -> dict[str, str]:
    """File name to text of both files, for NAME.h's functions as NAME_single_... on float."""
    own = name + SUFFIX
    costs = single_costs(derived)
    header = re.sub(r"\n(?:int|void) \w+_batch\(.*\);", "", c_header(own, derived, version))
    header = re.sub(r" Each function has a form for count states, row after row: \S+_batch\.", "", header)
    for function in derived.equations.functions:
        cost = costs.get(function.name)
        if cost:
            stated = f"; {cost.operations} operations"
            head = declaration(own, function)
            more = f"{stated}, at most {cost.stack} bytes of temporaries, error {cost.error:.0e}. */\n{head}"
            header = header.replace(f"{stated}. */\n{head}", more)
    equations = derived.equations
    lines = [
        *c_header_banner(own, derived, version),
        f'#include "{own}.h"',
        "",
        "#include <math.h>",
        "#include <stdint.h>",
        "#include <string.h>",
        "",
        _KERNEL,
        "#define KD_SINGULAR 1e-5 /* least pivot over diagonal entry of the mass matrix */",
        SUPPORT,
        LINEAR_ALGEBRA.replace("JOINTS", str(equations.n)),
        *parameter_functions(own, derived),
    ]
    passes: dict[tuple[int, ...], Sines] = {}
    for function in equations.functions:
        if function.composed:
            lines += composed_function(own, function, equations.n, batched=False)
        else:
            listing = derived.listings[function.name]
            lines += c_function(own, equations.n, function, listing, passes, batched=False)
    return {f"{own}.h": in_float(header), f"{own}.c": in_float("\n".join(lines))}


def c_header_banner(name: str, derived: Derived, version: str) -> list[str]:
    """The comment at the head of the C file."""
    return [
        f"/* {name}: generated by kane_dynamics_ros {version} from a URDF, single precision; do not edit.",
        f"   Physics of the URDF, SHA-256: {derived.urdf_hash}",
        f"   Parameters: {BYTES * derived.equations.layout.size} bytes, prepared: "
        f"{BYTES * len(derived.prepare.outputs)} bytes. From the C library: sinf, cosf. */",
    ]


def in_float(text: str) -> str:
    """C text with ``float`` for ``double``, its numbers too, and our tanh for the library's."""
    text = re.sub(r"\bdouble\b", "float", text).replace("tanh(", "kd_tanh(")
    number = r"(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)(?![\w.])"
    parts = re.split(r"(/\*.*?\*/)", text, flags=re.S)  # comments keep their numbers
    return "".join(part if part.startswith("/*") else re.sub(number, r"\1f", part) for part in parts)


_KERNEL = """\
static inline void kd_sincos(const double *x, double *s, double *c, const int n)
{
    for (int i = 0; i < n; i++) {
        s[i] = sinf(x[i]);
        c[i] = cosf(x[i]);
    }
}

/* e^x for 0 <= x <= 18: 2^k e^r, |r| <= ln 2 / 2, by the series of e^r. */
static inline double kd_exp(const double x)
{
    const int32_t k = (int32_t)(x * 1.44269504 + 0.5);
    const double r = (x - (double)k * 0.693359375) + (double)k * 2.12194440e-4;
    const uint32_t bits = (uint32_t)(k + 127) << 23;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power * (1.0 + r * (1.0 + r * (0.5 + r * (0.166666667 + r * (0.0416666667 + r * (0.00833333333
        + r * 0.00138888889))))));
}

static inline double tanh(const double x)
{
    const double size = x < 0.0 ? -x : x, square = x * x;
    if (size < 0.25)
        return x * (1.0 - square * (0.333333333 - square * (0.133333333 - square * (0.0539682540
            - square * 0.0218694885))));
    const double most = size > 9.0 ? 1.0 : 1.0 - 2.0 / (kd_exp(2.0 * size) + 1.0);
    return x < 0.0 ? -most : most;
}
"""
