"""Print NAME_single.h and NAME_single.c: the same functions for ``float``, for small computers.

``print_c`` prints them, in another precision; from the C library they take sinf and cosf, nothing else. Each
function states its operations, the most values that are alive at once, and the error of its results beside
double precision: the largest of any element at ``STATES`` random states, over the largest element at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.codegen.c_text import c_text, sections
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.passes import Listing
from kane_dynamics_ros.codegen.print_c import Precision, c_header, source_text

STATES = 4096  # random states at which the error is measured
LARGEST = {"q": np.pi, "qd": 2.0, "qdd": 5.0, "tau": 10.0, "wrench": 5.0}  # of the states, rad and SI units
ERROR = f"""\
   error: of a result beside double precision, the largest of {STATES} random states, relative to the largest
   result at any of them (within |q| {LARGEST["q"]:.2f}, |qd| {LARGEST["qd"]:g}, |qdd| {LARGEST["qdd"]:g}, \
|tau| {LARGEST["tau"]:g}, |wrench| {LARGEST["wrench"]:g}). A result that is small beside
   that, as an effort that gravity hardly needs, has larger errors relative to itself."""
BYTES = 4  # of a float
SUFFIX = "_single"
INCLUDES = ("math.h", "stdint.h", "string.h")
SINGLE = Precision("float", "f", "kd_tanh", together=1, batches=False, includes=INCLUDES, singular="1e-5f")


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
    rng = np.random.default_rng(0)
    state = {
        name: rng.uniform(-largest, largest, (equations.width(name), STATES)).astype(np.float32)
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
    found = []
    for kind in (np.float32, np.float64):
        inputs = {name: list(values.astype(kind)) for name, values in state.items()}
        values = listing.evaluated({**inputs, "prepared": [kind(value) for value in prepared]})
        rows = [np.broadcast_to(np.asarray(value, dtype=kind), STATES) for value in values]
        results = np.array(rows[: len(rows) - 2 * function.pivots])
        if function.slopes:
            *slopes, inverse = results.reshape(*function.shape, STATES)
            results = np.array([-np.einsum("ikS,kjS->ijS", inverse, table) for table in slopes])
        found.append(results.astype(np.float64))
    single, double = found
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
    own, equations, text = name + SUFFIX, derived.equations, sections("single.c")
    costs = {
        function: f", at most {cost.stack} bytes of temporaries, error {cost.error:.0e}"
        for function, cost in single_costs(derived).items()
    }
    head = c_text(
        text["banner"],
        name=own,
        version=version,
        urdf_hash=derived.urdf_hash,
        parameters=BYTES * equations.layout.size,
        prepared=BYTES * len(derived.prepare.outputs),
    )
    return {
        f"{own}.h": c_header(own, derived, version, SINGLE, costs, ERROR),
        f"{own}.c": source_text(own, derived, head, text["kernel"], SINGLE),
    }
