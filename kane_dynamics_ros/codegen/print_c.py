"""Print NAME.h and NAME.c: every function of a robot in plain C99, for one state and for many.

The text is written as C in templates, which ``c_text`` fills. ``print_single`` prints the same functions for
``float`` with what is here: a ``Precision`` says what differs.
"""

import dataclasses
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


def c_text(template: str, *kept: str, **values: object) -> str:
    """A template with its values for ``$name``.

    A line that ends in ``//? word`` stays only where the word is among ``kept``, one in ``//! word`` only
    where it is not. A line whose value is empty goes.

    >>> c_text("f($x); //! checked\\nreturn f($x); //? checked", "checked", x=1)
    'return f(1);'
    """
    lines = []
    for line in template.split("\n"):
        text, mark, word = line.partition(" //?") if " //?" in line else line.partition(" //!")
        if mark and (word.strip() in kept) != mark.endswith("?"):
            continue
        filled = Template(text).substitute(values)
        if filled.strip() or not text:
            lines.append(filled)
    return "\n".join(lines)


# What a text for double and one for float differ in


@dataclass(frozen=True)
class Precision:
    """A floating-point type of C, and what goes with it.

    ``suffix``: of its numbers. ``tanh``: the function that friction takes it from. ``together``: how many
    sines are computed at once. ``batches``: whether functions have a second form, for many states.
    """

    real: str
    suffix: str
    tanh: str
    together: int
    batches: bool

    def number(self, value: float) -> str:
        """A number of this type; what a division by a mass of 0 leaves is one too."""
        if not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"{float(value)!r}{self.suffix}"


DOUBLE = Precision("double", "", "tanh", together=4, batches=True)


# Listings as C99 statements on local constants


class _Text:
    """The texts of a listing's values: ``t0``, ``t1`` and so on in order, inputs as ``at`` says.

    ``at``: the subscript of element i of an input array.
    """

    def __init__(self, listing: Listing, precision: Precision, at: Callable[[int], str] = str) -> None:
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

    def statements(self, indent: str = "    ") -> str:
        real = self.precision.real
        return "\n".join(
            f"{indent}{real} {self.names[i]} = {self.right(i)};" for i in self.listing.statements
        )

    def outputs(self, targets: Iterable[str]) -> str:
        """Assignments of the listing's outputs."""
        return "\n".join(
            f"    {target} = {'-' if output.negative else ''}{self.names[output.index]};"
            for target, output in zip(targets, self.listing.outputs, strict=True)
        )


def _placed(name: str, at: Callable[[int], str]) -> str:
    array, _, rest = name.partition("[")
    return f"{array}[{at(int(rest[:-1]))}]" if array in PER_STATE else name


# The sines and cosines that functions need: one pass for all that need the same

_SINES = """\
static inline void kd_sines_$k(const $real *q, $real *s, $real *c)
{
    kd_sincos(&q[$first], s, c, $slots); //? window
$statements //! window
    $real x[$padded]; //! window
$stores //! window
    kd_sincos(x, s, c, $padded); //! window
}
"""
_SINES_OF_LANES = """\
static inline void kd_sines_${k}_lanes(const double *q, double *s, double *c)
{
    double x[$slots * KD_LANES] = {0.0};
    for (int k = 0; k < KD_LANES; k++) {
$statements
$stores
    }
    for (int j = 0; j < $slots; j++)
        kd_sincos_block(x + j * KD_LANES, s + j * KD_LANES, c + j * KD_LANES);
}
"""


@dataclass(frozen=True)
class Sines:
    """The pass of one set of angles, number ``k`` in the file; it fills ``slots`` sines and cosines."""

    k: int
    cut: TrigonometricPass
    precision: Precision

    @property
    def slots(self) -> int:
        return self.cut.window[1] if self.cut.window else len(self.cut.angles)

    @property
    def padded(self) -> int:
        """Room for whole vectors of angles, the last one repeated; a single one needs none."""
        together = self.precision.together
        return self.slots if self.slots == 1 else -(-self.slots // together) * together

    def texts(self) -> list[str]:
        """The pass for one state, and for KD_LANES states; joint positions are read where they are."""
        text = _Text(self.cut.before, self.precision)
        values = [text.names[i] for i in self.cut.angles]
        values += values[-1:] * (self.padded - self.slots)
        whole = len(values) // 4 * 4
        stores = [f"    kd_four(x + {i}, {', '.join(values[i : i + 4])});" for i in range(0, whole, 4)]
        stores += [f"    x[{i}] = {values[i]};" for i in range(whole, len(values))]
        one = c_text(
            _SINES,
            *(["window"] if self.cut.window else []),
            k=self.k,
            real=self.precision.real,
            first=self.cut.window[0] if self.cut.window else 0,
            slots=self.slots,
            padded=self.padded,
            statements=text.statements(),
            stores="\n".join(stores),
        )
        return [one, self._of_lanes()] if self.precision.batches else [one]

    def _of_lanes(self) -> str:
        text = _Text(self.cut.before, self.precision, at=lambda i: f"{i} * KD_LANES + k")
        pairs = zip(self.cut.place, self.cut.angles, strict=True)
        return c_text(
            _SINES_OF_LANES,
            k=self.k,
            slots=self.slots,
            statements=text.statements("        "),
            stores="\n".join(f"        x[{at} * KD_LANES + k] = {text.names[i]};" for at, i in pairs),
        )


# One function: straight-line code, no allocation, no globals; its body serves states and lanes

_BODY = """\
static inline KD_ALWAYS void kd_$name($parameters)
{
$unused
$statements
$outputs
}
"""
_PART = """\
static void KD_APART kd_${name}_$part($parameters, $real *restrict m)
{
$unused
$statements
$given
$outputs
}
"""
_PARTS_TOGETHER = """\
static inline KD_ALWAYS void kd_$name($parameters)
{
    $real m[$room];
$calls
}
"""
_ONE_STATE = """\
$head
{
    $real s[$padded], c[$padded]; //? sines
    kd_sines_$k(q, s, c); //? sines
    $real checks[$checks]; //? singular
    kd_$name($given);
    return kd_singular(checks, $pivots, 1); //? singular
}
"""
_STATES_IN_LANES = """\
static void kd_${name}_block($rows, double *out, const int used) //! singular
static inline int kd_${name}_block($rows, double *out, const int used) //? singular
{
    double $arrays;
$loads
    kd_sines_${k}_lanes(Q, S, C); //? sines
    for (int k = 0; k < KD_LANES; k++)
        kd_$name($lanes, KD_LANES);
    kd_to_rows(OUT, $size, used, out);
    return kd_singular_lane(CHECKS, $pivots, used); //? singular
}

$batch_head
{
    for (size_t first = 0; first < count; first += KD_LANES) {
        const int some = count - first < KD_LANES ? (int)(count - first) : KD_LANES;
        kd_${name}_block($at_first, out + first * $size, some); //! singular
        const int joint = kd_${name}_block($at_first, out + first * $size, some); //? singular
        if (joint) //? singular
            return joint; //? singular
    }
    return 0; //? singular
}
"""
_STATES_ONE_BY_ONE = """\
$batch_head
{
    for (size_t k = 0; k < count; k++) //! singular
        ${prefix}_$name($at_state, out + k * $size); //! singular
    int joint = 0; //? singular
    for (size_t k = 0; k < count && !joint; k++) //? singular
        joint = ${prefix}_$name($at_state, out + k * $size); //? singular
    return joint; //? singular
}
"""
_OF_DEFAULTS = """\
$head
{
    ${prefix}_${name}_with($given); //! singular
    return ${prefix}_${name}_with($given); //? singular
}
"""
_INVERSE_MASS_MATRIX = """\
$head
{
    ${prefix}_mass_matrix_with(prepared, q, out);
    return kd_invert(out);
}
"""
_FORWARD_DYNAMICS_DERIVATIVES = """\
$head
{
    enum { n = $n, square = n * n };
    $real spare[n], qdd[n], slopes[2 * square];
    $real *inverse = out + 2 * square;
    const int joint = ${prefix}_inverse_mass_matrix_with(prepared, q, inverse);
    if (joint)
        return joint;
    ${prefix}_bias_with(prepared, q, qd, spare);
    for (int i = 0; i < n; i++)
        spare[i] = tau[i] - spare[i];
    for (int i = 0; i < n; i++) {
        qdd[i] = $zero;
        for (int k = 0; k < n; k++)
            qdd[i] += inverse[i * n + k] * spare[k];
    }
    ${prefix}_inverse_dynamics_derivatives_with(prepared, q, qd, qdd, slopes);
    for (int i = 0; i < 2 * square; i++)
        out[i] = $zero;
    for (int table = 0; table < 2; table++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++)
                    out[(table * n + i) * n + j] -= inverse[i * n + k] * slopes[(table * n + k) * n + j];
    return 0;
}
"""
_COMPOSED = {
    "inverse_mass_matrix_with": _INVERSE_MASS_MATRIX,
    "forward_dynamics_derivatives_with": _FORWARD_DYNAMICS_DERIVATIVES,
}


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
class _Printer:
    """All of one function in C.

    ``listing``: its statements after its sines; None where it is composed of other functions.
    """

    prefix: str
    n: int  # joints
    function: Function
    listing: Listing | None
    sines: Sines | None
    precision: Precision

    def texts(self) -> list[str]:
        """The body, the public form for one state and that for many."""
        size, batches = math.prod(self.function.shape), self.precision.batches
        if self.listing is None:
            own = _OF_DEFAULTS if self.function.composed == "defaults" else _COMPOSED[self.function.name]
            zero = self.precision.number(0.0)
            given = ", ".join(["kd_defaults", *self.function.inputs, "out"])
            texts = [self.filled(own, n=self.n, zero=zero, given=given)]
        else:
            texts = [*self._body(self.listing), self._one_state()]
        if batches:
            at_state = ", ".join(self._shifted("k"))
            in_lanes = self._in_lanes(size) if self.laned else None
            texts.append(in_lanes or self.filled(_STATES_ONE_BY_ONE, at_state=at_state, size=size))
        return texts

    def filled(self, template: str, **values: object) -> str:
        """A template with what every one of a function may ask for."""
        function, kept = self.function, []
        if self.sines:
            kept.append("sines")
            values |= {"k": self.sines.k, "padded": self.sines.padded}
        if function.pivots:
            kept.append("singular")
        return c_text(
            template,
            *kept,
            prefix=self.prefix,
            name=function.name,
            real=self.precision.real,
            pivots=function.pivots,
            checks=2 * function.pivots,
            head=declaration(self.prefix, function, self.precision.real),
            batch_head=batch_declaration(self.prefix, function),
            **values,
        )

    @property
    def laned(self) -> bool:
        """Whether batches are worth a vectorised form: it takes the compiler as long again."""
        wanted = self.function.nominal or self.function.name == "inverse_dynamics_with"
        short = self.listing is not None and len(self.listing.statements) < LARGE
        return self.precision.batches and wanted and short

    @property
    def arrays(self) -> list[str]:
        """The pointers that the body takes, in order."""
        extra = (["s", "c"] if self.sines else []) + ["out"] + (["checks"] if self.function.pivots else [])
        return [*self.function.arguments, *extra]

    def _body(self, listing: Listing) -> list[str]:
        """The body as an inline function; in parts, which share values in an array, where it is large."""
        writable, real = ("out", "checks"), self.precision.real
        parameters = ", ".join(
            [f"{'' if a in writable else 'const '}{real} *restrict {a}" for a in self.arrays]
            + (["const int lane"] if self.laned else [])
        )
        if len(listing.statements) >= LARGE:
            return self._parts(listing, parameters)
        met = {i for index in listing.statements for i in listing.graph.nodes[index][1:3]}
        met |= {output.index for output in listing.outputs}
        used = {name.partition("[")[0] for i, name in listing.names.items() if i in met} | set(writable)
        text = _Text(listing, self.precision, self._at)
        return [
            self.filled(
                _BODY,
                parameters=parameters,
                unused="\n".join(f"    (void){a};" for a in self.arrays if a not in used),
                statements=text.statements(),
                outputs=text.outputs(self._target(k) for k in range(len(listing.outputs))),
            )
        ]

    def _parts(self, listing: Listing, parameters: str) -> list[str]:
        """The body as a call of each part, which the compiler takes apart; they share values in ``m``."""
        parts, room = cut_in_parts(listing)
        unused = "   " + "".join(f" (void){a};" for a in [*self.arrays, "m"])
        texts = []
        for k, part in enumerate(parts):
            text = _Text(part.listing, self.precision)
            given = "\n".join(f"    m[{place}] = {text.names[index]};" for index, place in part.given.items())
            statements, outputs = text.statements(), text.outputs([self._target(i) for i in part.outputs])
            shared = {"parameters": parameters, "unused": unused, "statements": statements}
            texts.append(self.filled(_PART, part=k, given=given, outputs=outputs, **shared))
        arrays = ", ".join([*self.arrays, "m"])
        calls = "\n".join(f"    kd_{self.function.name}_{k}({arrays});" for k in range(len(parts)))
        together = self.filled(_PARTS_TOGETHER, parameters=parameters, room=max(room, 1), calls=calls)
        return [*texts, together]

    def _one_state(self) -> str:
        return self.filled(_ONE_STATE, given=", ".join([*self.arrays, *(["1"] if self.laned else [])]))

    def _in_lanes(self, size: int) -> str:
        """The form for many states, KD_LANES at a time."""
        inputs = [a for a in self.function.arguments if a != "prepared"]
        widths = {a: _width(a, self.n) for a in inputs} | {"out": size}
        lanes = [a if a == "prepared" else f"{a.upper()} + k" for a in self.arrays]
        if self.sines:
            widths |= {"s": self.sines.slots, "c": self.sines.slots}
        if self.function.pivots:
            widths["checks"] = 2 * self.function.pivots
        return self.filled(
            _STATES_IN_LANES,
            rows=", ".join(f"const double *{a}" for a in self.function.arguments),
            arrays=", ".join(f"{a.upper()}[{width} * KD_LANES]" for a, width in widths.items()),
            loads="\n".join(f"    kd_to_lanes({a}, {widths[a]}, used, {a.upper()});" for a in inputs),
            lanes=", ".join(lanes),
            size=size,
            at_first=", ".join(self._shifted("first")),
        )

    def _shifted(self, index: str) -> list[str]:
        """The arguments of the state number ``index``."""
        arguments = self.function.arguments
        return [a if a == "prepared" else f"{a} + {index} * {_width(a, self.n)}" for a in arguments]

    def _at(self, i: int) -> str:
        """The subscript of element i of an array."""
        return f"{i} * lane" if self.laned else str(i)

    def _target(self, k: int) -> str:
        """Where output k belongs: results first, then what singularity is told by."""
        size = math.prod(self.function.shape)
        return f"out[{self._at(k)}]" if k < size else f"checks[{self._at(k - size)}]"


def _width(argument: str, n: int) -> int:
    return 6 if argument == "wrench" else n


def c_functions(name: str, derived: Derived, precision: Precision) -> list[str]:
    """The text of every function, after the passes of sines that they share.

    With ``-DKD_WITHOUT_inverse_dynamics`` a compiler leaves that function out, likewise for the others and
    ``parameters``: so the file can be compiled in several units.
    """
    passes: dict[tuple[int, ...], Sines] = {}
    texts = []
    for function in derived.equations.functions:
        listing, sines = None, None
        if not function.composed:
            cut = cut_at_angles(derived.listings[function.name])
            listing = cut.after
            if cut.angles:
                sines = passes.setdefault(cut.key, Sines(len(passes), cut, precision))
        printer = _Printer(name, derived.equations.n, function, listing, sines, precision)
        texts += [f"#ifndef KD_WITHOUT_{function.name}", "\n".join(printer.texts()) + "#endif\n"]
    return [text for each in passes.values() for text in each.texts()] + texts


_LINEAR_ALGEBRA = """\
/* Inverts a symmetric matrix in place by M = L^T D L, from the last row upwards; 0, or the one-based number
   of the outermost joint whose pivot is not clearly positive. */
static inline int kd_invert($real *M)
{
    enum { n = $n };
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
            $real sum = i == j ? $one / row[j] : $zero;
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
        c_text(_SUPPORT, real=precision.real),
        *([_LANES] if precision.batches else []),
        c_text(
            _LINEAR_ALGEBRA, real=precision.real, zero=precision.number(0.0), one=precision.number(1.0), n=n
        ),
    ]


# NAME.h: what a C or C++ program includes

_BANNER = """\
/* $name: generated by kane_dynamics_ros $version from a URDF; do not edit.
   Physics of the URDF, SHA-256: $urdf_hash
   Inverse dynamics: $additions + -, $multiplications *, $divisions /, $calls sines and cosines. */"""
_HEADER = """\
$banner
#ifndef ${upper}_H
#define ${upper}_H

#include <stddef.h>

/* Conventions:
   q, qd, qdd, tau: position, velocity, acceleration, effort of each joint, root to tip; rad, m and
   seconds; N m or N, positive along the joint's axis, as the actuator must supply it. Matrices are
   stored row after row. wrench: force, then torque about the tip's origin, that the environment exerts on
   the arm, in tip axes unless the function says root axes. Functions without "prepared" have the default
   parameters built in; the others take what ${name}_prepare makes of a parameters array, once per change of
   parameters. Friction is not part of any function but ${name}_friction: add it. No function allocates,
   keeps state or fails, but those that return int: 0, or the one-based number of a joint at which the
   mass matrix is singular. Arrays must not overlap. Any number of threads may call at once.
   Each function has a form for count states, row after row: ${name}_..._batch. //? batches
$legend
*/

#define ${upper}_JOINTS $joints
#define ${upper}_BODIES $bodies
#define ${upper}_PARAMETERS $size
#define ${upper}_PREPARED $prepared

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters array, SI units:
$places
   payload in the tip frame, inertia xx xy xz yy yz zz about its centre of mass. */
void ${name}_default_parameters($real *out);
void ${name}_prepare(const $real *parameters, $real *out);

$declarations
#ifdef __cplusplus
}
#endif

/* For bindings: X(function, inputs, takes prepared (yes, no, or defaults: the parameters are built
   in, function_with takes others), may be singular, rank and extents of out). */
#define ${upper}_FUNCTIONS(X) \\
$table

#endif
"""
_DECLARATION = """\
/* $summary; out: $shape; $cost. */
$head;
$batch_head; //? batches
"""


def banner(name: str, derived: Derived, version: str) -> str:
    """The comment at the head of both C files. Nothing from the URDF's texts enters it."""
    count = derived.operations()["inverse_dynamics"]
    values = {"name": name, "version": version, "urdf_hash": derived.urdf_hash}
    return c_text(_BANNER, **values, **dataclasses.asdict(count))


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
    equations, counts = derived.equations, derived.operations()
    kept = ["batches"] if precision.batches else []
    slices = equations.layout.slices()
    declarations = [
        c_text(
            _DECLARATION,
            *kept,
            summary=function.summary.replace("tanh(", f"{precision.tanh}("),
            shape=" x ".join(map(str, function.shape)),
            cost=f"{counts[function.name].total} operations{costs.get(function.name, '')}",
            head=declaration(name, function, precision.real),
            batch_head=batch_declaration(name, function),
        )
        for function in equations.functions
    ]
    return c_text(
        _HEADER,
        *kept,
        banner=banner(name, derived, version),
        name=name,
        upper=name.upper(),
        real=precision.real,
        legend=legend,
        joints=equations.n,
        bodies=equations.layout.bodies,
        size=equations.layout.size,
        prepared=len(derived.prepare.outputs),
        places="\n".join(
            f"   [{s.start} .. {s.stop - 1}] {key}" for key, s in slices.items() if s.stop > s.start
        ),
        declarations="\n".join(declarations),
        table=_table(equations.functions),
    )


def _table(functions: Sequence[Function]) -> str:
    """A list for bindings: of each function what its arguments and result are."""
    rows = []
    names = {f.name for f in functions}
    for f in functions:
        rank, (d0, d1, d2) = len(f.shape), (*f.shape, 1, 1)[:3]
        prepared = "yes" if not f.nominal else "defaults" if f"{f.name}_with" in names else "no"
        flags = f"{prepared}, {int(f.pivots > 0)}"
        rows.append(f"    X({f.name}, {'_'.join(f.inputs)}, {flags}, {rank}, {d0}, {d1}, {d2})")
    return " \\\n".join(rows)


# NAME.c: every function of a robot in plain C99

_SOURCE = """\
$banner
#include "$name.h"

$includes

$kernel
#define KD_LANES KD_SINCOS_BLOCK /* states that are computed side by side */ //? batches
#define KD_SINGULAR $singular /* least pivot over diagonal entry of the mass matrix */
$support
static const $real kd_defaults[$count] = {$prepared}; //? composed

#ifndef KD_WITHOUT_parameters
void ${name}_default_parameters($real *out)
{
$defaults
}

void ${name}_prepare(const $real *parameters, $real *out)
{
$statements
$outputs
}
#endif

$functions"""


def c_source(name: str, derived: Derived, version: str) -> str:
    """The text of NAME.c."""
    return source_text(name, derived, banner(name, derived, version), INCLUDES, sincos_kernel(LANES), "1e-12")


def source_text(
    name: str,
    derived: Derived,
    head: str,
    includes: Sequence[str],
    kernel: str,
    singular: str,
    precision: Precision = DOUBLE,
) -> str:
    """A C file of all functions.

    Args:
        name, derived: what the functions are called, and what they compute.
        head: the comment at its head.
        includes: of the C library.
        kernel: text with ``kd_sincos``, and all else that the functions call.
        singular: the least pivot over the diagonal entry of a mass matrix that is not singular.
        precision: of the numbers.
    """
    number = precision.number
    defaults = default_parameters(derived.equations.layout, derived.chain)
    prepared = derived.prepare.evaluated({"parameters": np.array(defaults)})
    text, count = _Text(derived.prepare, precision), len(prepared)
    composed = any(function.composed == "defaults" for function in derived.equations.functions)
    return c_text(
        _SOURCE,
        *(["batches"] if precision.batches else []),
        *(["composed"] if composed else []),
        banner=head,
        name=name,
        includes="\n".join(f"#include <{header}>" for header in includes),
        kernel=kernel,
        singular=singular,
        support="\n".join(support(derived.equations.n, precision)),
        real=precision.real,
        count=count,
        prepared=", ".join(map(number, prepared)),
        defaults="\n".join(f"    out[{k}] = {number(value)};" for k, value in enumerate(defaults)),
        statements=text.statements(),
        outputs=text.outputs(f"out[{k}]" for k in range(count)),
        functions="\n".join(c_functions(name, derived, precision)),
    )
