"""Print NAME.h and NAME.c: every function of a robot in plain C99, for one state and for many.

``print_single`` prints the same functions for ``float`` with what is here: a ``Precision`` says what differs.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from types import MappingProxyType

import numpy as np

from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.graph import CALL, CONSTANT
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.parts import LARGE, cut_in_parts
from kane_dynamics_ros.codegen.passes import Listing, TrigonometricPass, cut_at_angles
from kane_dynamics_ros.codegen.sincos import INCLUDES, sincos_kernel

LANES = 32  # states a block: few enough that loads from memory overlap with the arithmetic
PER_STATE = frozenset(("q", "qd", "qdd", "tau", "wrench", "s", "c"))  # arrays that each state has of its own

# What a text for double and one for float differ in.


@dataclass(frozen=True)
class Precision:
    """A floating-point type of C, and what goes with it.

    ``suffix``: of its numbers. ``tanh``: the function that friction takes it from. ``batches``: whether
    functions have a second form, for many states.
    """

    real: str
    suffix: str
    tanh: str
    batches: bool

    def number(self, value: float) -> str:
        """A number of this type; what a division by a mass of 0 leaves is one too."""
        if not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"{float(value)!r}{self.suffix}"

    def text(self, template: str) -> str:
        """C text with the type for ``$real`` and the suffix of numbers for ``${f}``."""
        return Template(template).substitute(real=self.real, f=self.suffix)


DOUBLE = Precision("double", "", "tanh", batches=True)

# Listings as C99 statements on local constants.


class _Text:
    """The texts of a listing's values: ``t0``, ``t1`` and so on in order, inputs as ``at`` says.

    ``at``: the subscript of element i of an input array.
    """

    def __init__(
        self, listing: Listing, precision: Precision = DOUBLE, at: Callable[[int], str] = str
    ) -> None:
        self.listing, self.precision = listing, precision
        self.names = {
            index: name + precision.suffix if listing.node(index).kind == CONSTANT else _placed(name, at)
            for index, name in listing.names.items()
        }
        self.names.update((index, f"t{k}") for k, index in enumerate(listing.statements))

    def right(self, index: int) -> str:
        """The right side of the statement that computes a value."""
        node = self.listing.node(index)
        a = self.names[node.a]
        if node.kind == CALL:
            return f"{self.precision.tanh if node.label == 'tanh' else node.label}({a})"
        return f"{a} {node.kind} {self.names[node.b]}"

    def statements(self, indices: Iterable[int], indent: str = "    ") -> list[str]:
        return [f"{indent}{self.precision.real} {self.names[i]} = {self.right(i)};" for i in indices]

    def outputs(self, targets: Iterable[str]) -> list[str]:
        """Assignments of the listing's outputs."""
        return [
            f"    {target} = {'-' if output.negative else ''}{self.names[output.index]};"
            for target, output in zip(targets, self.listing.outputs, strict=True)
        ]


def _placed(name: str, at: Callable[[int], str]) -> str:
    array, _, rest = name.partition("[")
    return f"{array}[{at(int(rest[:-1]))}]" if array in PER_STATE else name


# The sines and cosines that functions need: one pass for all that need the same.


@dataclass(frozen=True)
class Sines:
    """The pass of one set of angles, number ``k`` in the file; it fills ``slots`` sines and cosines."""

    k: int
    cut: TrigonometricPass
    precision: Precision = DOUBLE

    @property
    def slots(self) -> int:
        return self.cut.window[1] if self.cut.window else len(self.cut.angles)

    @property
    def padded(self) -> int:
        """Room for a last slot that repeats another: four angles cost what three do."""
        return self.slots + (not self.cut.window and self.slots % 4 == 3)

    def scalar(self) -> list[str]:
        """The pass for one state; angles that are joint positions are read where they are."""
        real = self.precision.real
        head = [f"static inline void kd_sines_{self.k}(const {real} *q, {real} *s, {real} *c)", "{"]
        if self.cut.window:
            return [*head, f"    kd_sincos(&q[{self.cut.window[0]}], s, c, {self.slots});", "}", ""]
        text = _Text(self.cut.before, self.precision)
        values = [text.names[i] for i in self.cut.angles]
        values += values[-1:] * (self.padded - self.slots)
        lines = [*text.statements(self.cut.before.statements), f"    {real} x[{self.padded}];"]
        whole = len(values) // 4 * 4
        lines += [f"    kd_four(x + {i}, {', '.join(values[i : i + 4])});" for i in range(0, whole, 4)]
        lines += [f"    x[{i}] = {values[i]};" for i in range(whole, len(values))]
        return [*head, *lines, f"    kd_sincos(x, s, c, {self.padded});", "}", ""]

    def laned(self) -> list[str]:
        """The pass for KD_LANES states."""
        text = _Text(self.cut.before, at=lambda i: f"{i} * KD_LANES + k")
        values = [text.names[i] for i in self.cut.angles]
        pairs = zip(self.cut.place, values, strict=True)
        return [
            f"static inline void kd_sines_{self.k}_lanes(const double *q, double *s, double *c)",
            "{",
            f"    double x[{self.slots} * KD_LANES] = {{0.0}};",
            "    for (int k = 0; k < KD_LANES; k++) {",
            *text.statements(self.cut.before.statements, "        "),
            *(f"        x[{place} * KD_LANES + k] = {value};" for place, value in pairs),
            "    }",
            f"    for (int j = 0; j < {self.slots}; j++)",
            "        kd_sincos_block(x + j * KD_LANES, s + j * KD_LANES, c + j * KD_LANES);",
            "}",
            "",
        ]


# One function: straight-line code, no allocation, no globals; its body serves states and lanes.


def declaration(prefix: str, function: Function, real: str = DOUBLE.real) -> str:
    """The C head of a function on arrays of a type, without brace or semicolon."""
    returned = "int" if function.pivots else "void"
    arguments = ", ".join(f"const {real} *{name}" for name in function.arguments)
    return f"{returned} {prefix}_{function.name}({arguments}, {real} *out)"


def batch_declaration(prefix: str, function: Function) -> str:
    """The C head of the batch form, without brace or semicolon."""
    returned = "int" if function.pivots else "void"
    arguments = ", ".join(f"const double *{name}" for name in function.arguments)
    return f"{returned} {prefix}_{function.name}_batch({arguments}, double *out, size_t count)"


@dataclass(frozen=True)
class _Body:
    """A function's statements after its sines, and what they are called with."""

    function: Function
    listing: Listing
    sines: Sines | None
    precision: Precision

    @property
    def laned(self) -> bool:
        """Whether batches are worth a vectorised form: it takes the compiler as long again."""
        wanted = self.function.nominal or self.function.name == "inverse_dynamics_with"
        return self.precision.batches and wanted and len(self.listing.statements) < LARGE

    @property
    def arrays(self) -> list[str]:
        """The pointers that the body takes, in order."""
        extra = (["s", "c"] if self.sines else []) + ["out"] + (["checks"] if self.function.pivots else [])
        return [*self.function.arguments, *extra]

    def lines(self) -> list[str]:
        """The body as an inline function; in parts, which share values in an array, where it is large."""
        writable, real = ("out", "checks"), self.precision.real
        parameters = [f"{'' if a in writable else 'const '}{real} *restrict {a}" for a in self.arrays]
        if self.laned:
            parameters.append("const int lane")
        listing = self.listing
        head = f"static inline KD_ALWAYS void kd_{self.function.name}({', '.join(parameters)})"
        if len(listing.statements) >= LARGE:
            return self._in_parts(head, parameters)
        met = {i for index in listing.statements for i in listing.graph.nodes[index][1:3]}
        met |= {output.index for output in listing.outputs}
        used = {name.partition("[")[0] for i, name in listing.names.items() if i in met} | {"out", "checks"}
        unused = [f"    (void){a};" for a in self.arrays if a not in used]
        text = _Text(listing, self.precision, self._at)
        return [
            head,
            "{",
            *unused,
            *text.statements(listing.statements),
            *text.outputs(self._target(k) for k in range(len(listing.outputs))),
            "}",
            "",
        ]

    def _in_parts(self, head: str, parameters: Sequence[str]) -> list[str]:
        """The body as a call of each part, which the compiler takes apart; they share values in ``m``."""
        parts, room = cut_in_parts(self.listing)
        name, real = f"kd_{self.function.name}", self.precision.real
        lines = []
        for k, part in enumerate(parts):
            text = _Text(part.listing, self.precision)
            lines += [
                f"static void KD_APART {name}_{k}({', '.join([*parameters, f'{real} *restrict m'])})",
                "{",
                "   " + "".join(f" (void){a};" for a in [*self.arrays, "m"]),
                *text.statements(part.listing.statements),
                *(f"    m[{place}] = {text.names[index]};" for index, place in part.given.items()),
                *text.outputs([self._target(i) for i in part.outputs]),
                "}",
                "",
            ]
        given = ", ".join([*self.arrays, "m"])
        calls = [f"    {name}_{k}({given});" for k in range(len(parts))]
        return [*lines, head, "{", f"    {real} m[{max(room, 1)}];", *calls, "}", ""]

    def _at(self, i: int) -> str:
        """The subscript of element i of an array."""
        return f"{i} * lane" if self.laned else str(i)

    def _target(self, k: int) -> str:
        """Where output k belongs: results first, then what singularity is told by."""
        return f"out[{self._at(k)}]" if k < self.size else f"checks[{self._at(k - self.size)}]"

    @property
    def size(self) -> int:
        """Elements of the result."""
        return len(self.listing.outputs) - 2 * self.function.pivots

    def scalar(self, prefix: str) -> list[str]:
        """The public function for one state."""
        lines, real = [], self.precision.real
        if self.sines:
            lines += [
                f"    {real} s[{self.sines.padded}], c[{self.sines.padded}];",
                f"    kd_sines_{self.sines.k}(q, s, c);",
            ]
        if self.function.pivots:
            lines.append(f"    {real} checks[{2 * self.function.pivots}];")
        call = ", ".join([*self.arrays, *(["1"] if self.laned else [])])
        lines.append(f"    kd_{self.function.name}({call});")
        if self.function.pivots:
            lines.append(f"    return kd_singular(checks, {self.function.pivots}, 1);")
        return [declaration(prefix, self.function, real), "{", *lines, "}", ""]

    def batch(self, prefix: str, n: int) -> list[str]:
        """The public function for many states: in lanes, or where it is large one after the other."""
        function, arguments = self.function, self.function.arguments
        inputs = [a for a in arguments if a != "prepared"]
        at_first = [a if a == "prepared" else f"{a} + first * {_width(a, n)}" for a in arguments]
        if not self.laned:
            return _one_after_the_other(prefix, function, n, self.size)
        rows = ", ".join([*(f"const double *{a}" for a in arguments), "double *out", "const int used"])
        arrays = [f"{a.upper()}[{_width(a, n)} * KD_LANES]" for a in inputs] + [
            f"OUT[{self.size} * KD_LANES]"
        ]
        lanes = [a if a == "prepared" else f"{a.upper()} + k" for a in arguments]
        sines = []
        if self.sines:
            arrays += [f"S[{self.sines.slots} * KD_LANES]", f"C[{self.sines.slots} * KD_LANES]"]
            sines = [f"    kd_sines_{self.sines.k}_lanes(Q, S, C);"]
            lanes += ["S + k", "C + k"]
        lanes.append("OUT + k")
        if function.pivots:
            arrays.append(f"CHECKS[{2 * function.pivots} * KD_LANES]")
            lanes.append("CHECKS + k")
        block = f"kd_{function.name}_block({', '.join([*at_first, f'out + first * {self.size}'])}, some)"
        checked = [
            f"        const int joint = {block};",
            "        if (joint)",
            "            return joint;",
        ]
        return [
            f"static {'inline int' if function.pivots else 'void'} kd_{function.name}_block({rows})",
            "{",
            f"    double {', '.join(arrays)};",
            *(f"    kd_to_lanes({a}, {_width(a, n)}, used, {a.upper()});" for a in inputs),
            *sines,
            "    for (int k = 0; k < KD_LANES; k++)",
            f"        kd_{function.name}({', '.join(lanes)}, KD_LANES);",
            f"    kd_to_rows(OUT, {self.size}, used, out);",
            *([f"    return kd_singular_lane(CHECKS, {function.pivots}, used);"] if function.pivots else []),
            "}",
            "",
            batch_declaration(prefix, function),
            "{",
            "    for (size_t first = 0; first < count; first += KD_LANES) {",
            "        const int some = count - first < KD_LANES ? (int)(count - first) : KD_LANES;",
            *(checked if function.pivots else [f"        {block};"]),
            "    }",
            *(["    return 0;"] if function.pivots else []),
            "}",
            "",
        ]


def _width(argument: str, n: int) -> int:
    return 6 if argument == "wrench" else n


def _one_after_the_other(prefix: str, function: Function, n: int, size: int) -> list[str]:
    """The batch form as a loop over the function for one state."""
    given = [a if a == "prepared" else f"{a} + k * {_width(a, n)}" for a in function.arguments]
    call = f"{prefix}_{function.name}({', '.join(given)}, out + k * {size})"
    tail = ["    return joint;"] if function.pivots else []
    return [
        batch_declaration(prefix, function),
        "{",
        *(["    int joint = 0;"] if function.pivots else []),
        f"    for (size_t k = 0; k < count{' && !joint' if function.pivots else ''}; k++)",
        f"        {'joint = ' if function.pivots else ''}{call};",
        *tail,
        "}",
        "",
    ]


# Functions that are composed of others.


def composed_function(prefix: str, function: Function, n: int, precision: Precision = DOUBLE) -> list[str]:
    """Text of a function without statements of its own."""
    real, zero = precision.real, precision.number(0.0)
    call = f"{prefix}_{{}}"
    if function.composed == "defaults":
        given = ", ".join(["kd_defaults", *function.inputs, "out"])
        result = "return " if function.pivots else ""
        body = [f"    {result}{call.format(function.name + '_with')}({given});"]
    elif function.name == "inverse_mass_matrix_with":
        body = [
            f"    {call.format('mass_matrix_with')}(prepared, q, out);",
            "    return kd_invert(out);",
        ]
    else:
        body = [
            f"    {real} spare[{n}], qdd[{n}], slopes[{2 * n * n}];",
            f"    {real} *inverse = out + {2 * n * n};",
            f"    const int joint = {call.format('inverse_mass_matrix_with')}(prepared, q, inverse);",
            "    if (joint)",
            "        return joint;",
            f"    {call.format('bias_with')}(prepared, q, qd, spare);",
            f"    for (int i = 0; i < {n}; i++)",
            "        spare[i] = tau[i] - spare[i];",
            f"    for (int i = 0; i < {n}; i++) {{",
            f"        qdd[i] = {zero};",
            f"        for (int k = 0; k < {n}; k++)",
            f"            qdd[i] += inverse[i * {n} + k] * spare[k];",
            "    }",
            f"    {call.format('inverse_dynamics_derivatives_with')}(prepared, q, qd, qdd, slopes);",
            f"    for (int i = 0; i < {2 * n * n}; i++)",
            f"        out[i] = {zero};",
            "    for (int table = 0; table < 2; table++)",
            f"        for (int i = 0; i < {n}; i++)",
            f"            for (int k = 0; k < {n}; k++)",
            f"                for (int j = 0; j < {n}; j++)",
            f"                    out[(table * {n} + i) * {n} + j] -=",
            f"                        inverse[i * {n} + k] * slopes[(table * {n} + k) * {n} + j];",
            "    return 0;",
        ]
    size = math.prod(function.shape)
    one = [declaration(prefix, function, real), "{", *body, "}", ""]
    return [*one, *(_one_after_the_other(prefix, function, n, size) if precision.batches else [])]


_LINEAR_ALGEBRA = """\
/* Inverts a symmetric matrix in place by M = L^T D L, from the last row upwards; 0, or the one-based number
   of the outermost joint whose pivot is not clearly positive. */
static inline int kd_invert($real *M)
{
    enum { n = JOINTS };
    $real diagonal[n], row[n];
    int joint = 0;
    for (int i = 0; i < n; i++)
        diagonal[i] = M[i * n + i];
    for (int j = n - 1; j >= 0; j--) {
        const $real pivot = M[j * n + j];
        if (!joint && !(pivot > KD_SINGULAR * diagonal[j]))
            joint = j + 1;
        for (int i = j - 1; i >= 0; i--) {
            const $real factor = M[j * n + i] / pivot;
            for (int k = i; k >= 0; k--)
                M[i * n + k] -= factor * M[j * n + k];
            M[j * n + i] = factor;
        }
    }
    for (int j = 0; j < n; j++) {
        memcpy(row, M + j * n, sizeof row);
        for (int i = 0; i <= j; i++) {
            $real sum = i == j ? 1.0${f} / row[j] : 0.0${f};
            for (int k = 0; k < j; k++)
                sum -= row[k] * M[k * n + i];
            M[j * n + i] = sum;
            M[i * n + j] = sum;
        }
    }
    return joint;
}
"""

_SUPPORT = """\
#if defined(__GNUC__)
#define KD_ALWAYS __attribute__((always_inline))
#define KD_APART __attribute__((noinline))
#else
#define KD_ALWAYS
#define KD_APART
#endif

/* Four values to an array, in one store where vectors are known: a vector load can follow it at once. */
static inline KD_ALWAYS void kd_four($real *to, $real a, $real b, $real c, $real d)
{
#if defined(__GNUC__)
    typedef $real four __attribute__((vector_size(4 * sizeof($real))));
    const four packed = {a, b, c, d};
    memcpy(to, &packed, sizeof packed);
#else
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
#endif
}

/* 0, or the one-based number of the outermost joint whose pivot is not clearly positive, beside its diagonal
   entry: elimination runs from the tip, and the pivots further in are spoilt by it. */
static inline int kd_singular(const $real *checks, const int n, const int lane)
{
    for (int i = n - 1; i >= 0; i--)
        if (!(checks[i * lane] > KD_SINGULAR * checks[(n + i) * lane]))
            return i + 1;
    return 0;
}

"""

_LANES = """\
static inline int kd_singular_lane(const double *checks, const int n, const int used)
{
    int joint = 0;
    for (int k = 0; k < used && !joint; k++)
        joint = kd_singular(checks + k, n, KD_LANES);
    return joint;
}

/* Rows of some states to lanes, element by element; lanes beyond the last state repeat it. */
static inline void kd_to_lanes(const double *rows, const int n, const int used, double *lanes)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < used; k++)
            lanes[i * KD_LANES + k] = rows[k * n + i];
        for (int k = used; k < KD_LANES; k++)
            lanes[i * KD_LANES + k] = rows[(used - 1) * n + i];
    }
}

static inline void kd_to_rows(const double *lanes, const int n, const int used, double *rows)
{
    for (int k = 0; k < used; k++)
        for (int i = 0; i < n; i++)
            rows[k * n + i] = lanes[i * KD_LANES + k];
}
"""


def support(n: int, precision: Precision = DOUBLE) -> list[str]:
    """What the functions of a robot with n coordinates call, after KD_SINGULAR."""
    return [
        precision.text(_SUPPORT),
        *([_LANES] if precision.batches else []),
        precision.text(_LINEAR_ALGEBRA).replace("JOINTS", str(n)),
    ]


# NAME.h: what a C or C++ program includes.

_CONVENTIONS = """\
   q, qd, qdd, tau: position, velocity, acceleration, effort of each joint, root to tip; rad, m and
   seconds; N m or N, positive along the joint's axis, as the actuator must supply it. Matrices are
   stored row after row. wrench: force, then torque about the tip's origin, that the environment exerts on
   the arm, in tip axes unless the function says root axes. Functions without "prepared" have the default
   parameters built in; the others take what NAME_prepare makes of a parameters array, once per change of
   parameters. Friction is not part of any function but NAME_friction: add it. No function allocates,
   keeps state or fails, but those that return int: 0, or the one-based number of a joint at which the
   mass matrix is singular.BATCHES
   Arrays must not overlap. Any number of threads may call at once."""
_BATCHES = " Each function has a form for count states, row after row: NAME_..._batch."


def banner(name: str, derived: Derived, version: str) -> str:
    """The comment at the head of both C files. Nothing from the URDF's texts enters it."""
    count = derived.operations()["inverse_dynamics"]
    return "\n".join(
        [
            f"/* {name}: generated by kane_dynamics_ros {version} from a URDF; do not edit.",
            f"   Physics of the URDF, SHA-256: {derived.urdf_hash}",
            f"   Inverse dynamics: {count.additions} + -, {count.multiplications} *, {count.divisions} /, "
            f"{count.calls} sines and cosines. */",
        ]
    )


def c_header(
    name: str,
    derived: Derived,
    version: str,
    precision: Precision = DOUBLE,
    costs: Mapping[str, str] = MappingProxyType({}),
    legend: str = "",
) -> str:
    """The text of NAME.h.

    ``costs``: what is to be stated of a function, by its name, beside the number of its operations;
    ``legend``: what that means.
    """
    equations = derived.equations
    upper = name.upper()
    sizes = {
        "JOINTS": equations.n,
        "BODIES": equations.layout.bodies,
        "PARAMETERS": equations.layout.size,
        "PREPARED": len(derived.prepare.outputs),
    }
    conventions = _CONVENTIONS.replace("BATCHES", _BATCHES if precision.batches else "")
    lines = [
        banner(name, derived, version),
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stddef.h>",
        "",
        "/* Conventions:",
        "\n".join(filter(None, (conventions.replace("NAME", name), legend))) + " */",
        "",
        *(f"#define {upper}_{key} {value}" for key, value in sizes.items()),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_parameter_declarations(name, derived, precision.real),
    ]
    counts = derived.operations()
    for function in equations.functions:
        cost = f"{counts[function.name].total} operations{costs.get(function.name, '')}"
        lines += _declared(name, function, cost, precision)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", *_table(upper, equations.functions), "", "#endif", ""]
    return "\n".join(lines)


def _parameter_declarations(name: str, derived: Derived, real: str) -> list[str]:
    slices = derived.equations.layout.slices()
    places = [f"   [{s.start} .. {s.stop - 1}] {key}" for key, s in slices.items() if s.stop > s.start]
    return [
        "/* The parameters array, SI units:",
        *places,
        "   payload in the tip frame, inertia xx xy xz yy yz zz about its centre of mass. */",
        f"void {name}_default_parameters({real} *out);",
        f"void {name}_prepare(const {real} *parameters, {real} *out);",
        "",
    ]


def _declared(name: str, function: Function, cost: str, precision: Precision) -> list[str]:
    shape = " x ".join(map(str, function.shape))
    summary = function.summary.replace("tanh(", f"{precision.tanh}(")
    return [
        f"/* {summary}; out: {shape}; {cost}. */",
        f"{declaration(name, function, precision.real)};",
        *([f"{batch_declaration(name, function)};"] if precision.batches else []),
        "",
    ]


def _table(upper: str, functions: Sequence[Function]) -> list[str]:
    """A list for bindings: of each function what its arguments and result are."""
    rows = []
    names = {f.name for f in functions}
    for f in functions:
        rank, (d0, d1, d2) = len(f.shape), (*f.shape, 1, 1)[:3]
        prepared = "yes" if not f.nominal else "defaults" if f"{f.name}_with" in names else "no"
        flags = f"{prepared}, {int(f.pivots > 0)}"
        rows.append(f"    X({f.name}, {'_'.join(f.inputs)}, {flags}, {rank}, {d0}, {d1}, {d2})")
    return [
        "/* For bindings: X(function, inputs, takes prepared (yes, no, or defaults: the parameters are built",
        "   in, function_with takes others), may be singular, rank and extents of out). */",
        f"#define {upper}_FUNCTIONS(X) \\",
        " \\\n".join(rows),
    ]


# NAME.c: every function of a robot in plain C99.


def c_source(name: str, derived: Derived, version: str) -> str:
    """The text of NAME.c."""
    equations = derived.equations
    lines = [
        banner(name, derived, version),
        f'#include "{name}.h"',
        "",
        *(f"#include <{header}>" for header in INCLUDES),
        "",
        sincos_kernel(LANES),
        "#define KD_LANES KD_SINCOS_BLOCK /* states that are computed side by side */",
        "#define KD_SINGULAR 1e-12 /* least pivot over diagonal entry of the mass matrix */",
        *support(equations.n),
        *parameter_functions(name, derived),
    ]
    passes: dict[tuple[int, ...], Sines] = {}
    for function in equations.functions:
        if function.composed:
            lines += composed_function(name, function, equations.n)
        else:
            lines += c_function(name, equations.n, function, derived.listings[function.name], passes)
    return "\n".join(lines)


def c_function(
    prefix: str,
    n: int,
    function: Function,
    listing: Listing,
    passes: dict[tuple[int, ...], Sines],
    precision: Precision = DOUBLE,
) -> list[str]:
    """All of one function: its sines where no function before had the same, its body and its two forms.

    Args:
        prefix: the module's name.
        n: length of each input.
        function, listing: what to print.
        passes: the sines printed so far, by angles; gains the function's.
        precision: the type of the numbers, and whether there is a form for many states.
    """
    cut = cut_at_angles(listing)
    lines: list[str] = []
    if cut.angles and cut.key not in passes:
        passes[cut.key] = Sines(len(passes), cut, precision)
        lines += [*passes[cut.key].scalar(), *(passes[cut.key].laned() if precision.batches else [])]
    body = _Body(function, cut.after, passes[cut.key] if cut.angles else None, precision)
    batch = body.batch(prefix, n) if precision.batches else []
    return [*lines, *body.lines(), *body.scalar(prefix), *batch]


def parameter_functions(name: str, derived: Derived, precision: Precision = DOUBLE) -> list[str]:
    """The functions that give and prepare parameters."""
    real, number = precision.real, precision.number
    defaults = default_parameters(derived.equations.layout, derived.chain)
    text, count = _Text(derived.prepare, precision), len(derived.prepare.outputs)
    constants = []
    if any(function.composed == "defaults" for function in derived.equations.functions):
        prepared = derived.prepare.evaluated({"parameters": np.array(defaults)})
        values = ", ".join(map(number, prepared))
        constants = [f"static const {real} kd_defaults[{count}] = {{{values}}};", ""]
    return [
        *constants,
        f"void {name}_default_parameters({real} *out)",
        "{",
        *(f"    out[{k}] = {number(value)};" for k, value in enumerate(defaults)),
        "}",
        "",
        f"void {name}_prepare(const {real} *parameters, {real} *out)",
        "{",
        *text.statements(derived.prepare.statements),
        *text.outputs(f"out[{k}]" for k in range(count)),
        "}",
        "",
    ]
