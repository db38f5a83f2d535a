"""Print NAME_single.h and NAME_single.c: the same functions for ``float``, for small computers.

``print_c`` prints them, in another precision; from the C library they take sinf and cosf, nothing else. Each
function states its operations, the most values that are alive at once, and the error of its results beside
double precision: the largest of any element at ``STATES`` random states, over the largest element at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.passes import Listing
from kane_dynamics_ros.codegen.print_c import Precision, c_header, c_text, source_text

STATES = 4096  # random states at which the error is measured
LARGEST = {"q": np.pi, "qd": 2.0, "qdd": 5.0, "tau": 10.0, "wrench": 5.0}  # of the states, rad and SI units
ERROR = f"""\
   error: of a result beside double precision, the largest of {STATES} random states, relative to the largest
   result at any of them (within |q| {LARGEST["q"]:.2f}, |qd| {LARGEST["qd"]:g}, |qdd| {LARGEST["qdd"]:g}, \
|tau| {LARGEST["tau"]:g}, |wrench| {LARGEST["wrench"]:g}). A result that is small beside
   that, as an effort that gravity hardly needs, has larger errors relative to itself."""
BYTES = 4  # of a float
SUFFIX = "_single"
SINGLE = Precision("float", "f", "kd_tanh", together=1, batches=False)


@dataclass(frozen=True)
class SingleCost:
    """What one function costs in single precision."""

    operations: int
    temporaries: int  # values alive at once, at most
    error: float  # beside double precision, relative to the largest result

    @property
    def stack(self) -> int:
        """Bytes of temporaries."""
        return BYTES * self.temporaries


def single_costs(derived: Derived) -> dict[str, SingleCost]:
    """The cost of every function that has statements of its own."""
    equations, counts = derived.equations, derived.operations()
    n = equations.n
    rng = np.random.default_rng(0)
    width = {"wrench": 6}
    state = {
        name: rng.uniform(-largest, largest, (width.get(name, n), STATES)).astype(np.float32)
        for name, largest in LARGEST.items()
    }
    parameters = np.array(default_parameters(equations.layout, derived.chain))
    for name in ("viscous", "coulomb"):  # without any, friction would have no error
        parameters[equations.layout.slices()[name]] = 1.0
    prepared = derived.prepare.evaluated({"parameters": parameters})
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
    """The largest error beside double precision over the largest result; NaN where M is singular."""
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
    with np.errstate(invalid="ignore"):  # infinite less infinite, where M is singular
        error = float(np.abs(single - double).max())
    largest = float(np.abs(double).max())
    return error / largest if largest > 0.0 else error


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
    own, equations = name + SUFFIX, derived.equations
    costs = {
        function: f", at most {cost.stack} bytes of temporaries, error {cost.error:.0e}"
        for function, cost in single_costs(derived).items()
    }
    head = c_text(
        _BANNER,
        name=own,
        version=version,
        urdf_hash=derived.urdf_hash,
        parameters=BYTES * equations.layout.size,
        prepared=BYTES * len(derived.prepare.outputs),
    )
    includes = ("math.h", "stdint.h", "string.h")
    source = source_text(own, derived, head, includes, _KERNEL, "1e-5f", SINGLE)
    return {f"{own}.h": c_header(own, derived, version, SINGLE, costs, ERROR), f"{own}.c": source}


_BANNER = """\
/* $name: generated by kane_dynamics_ros $version from a URDF, single precision; do not edit.
   Physics of the URDF, SHA-256: $urdf_hash
   Parameters: $parameters bytes, prepared: $prepared bytes. From the C library: sinf, cosf. */"""
_KERNEL = """\
static inline void kd_sincos(const float *x, float *s, float *c, const int n)
{
    for (int i = 0; i < n; i++) {
        s[i] = sinf(x[i]);
        c[i] = cosf(x[i]);
    }
}

/* e^x for 0 <= x <= 18: 2^k e^r, |r| <= ln 2 / 2, by the series of e^r. */
static inline float kd_exp(const float x)
{
    const int32_t k = (int32_t)(x * 1.44269504f + 0.5f);
    const float r = (x - (float)k * 0.693359375f) + (float)k * 2.12194440e-4f;
    const uint32_t bits = (uint32_t)(k + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power * (1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (\
0.00833333333f
        + r * 0.00138888889f))))));
}

static inline float kd_tanh(const float x)
{
    const float size = x < 0.0f ? -x : x, square = x * x;
    if (size < 0.25f)
        return x * (1.0f - square * (0.333333333f - square * (0.133333333f - square * (0.0539682540f
            - square * 0.0218694885f))));
    const float most = size > 9.0f ? 1.0f : 1.0f - 2.0f / (kd_exp(2.0f * size) + 1.0f);
    return x < 0.0f ? -most : most;
}
"""
