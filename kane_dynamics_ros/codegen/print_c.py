"""Print NAME.h and NAME.c: every function of a robot in plain C99, for one state and for many.

The text is written as C, in the files of ``templates``. ``print_single`` prints the same functions for
``float`` with what is here: a ``Precision`` says what differs.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from kane_dynamics_ros.codegen.c_text import c_text, sections
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function, RobotFunctions
from kane_dynamics_ros.codegen.graph import CALL, CONSTANT
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.parts import cut_in_parts, is_large
from kane_dynamics_ros.codegen.passes import Listing, TrigonometricPass, cut_at_angles
from kane_dynamics_ros.codegen.sincos import INCLUDES, sincos_kernel

FUNCTIONS, MODULE, HEADER = sections("functions.c"), sections("module.c"), sections("module.h")
LANES = 32  # states a block, at most: few enough that loads from memory overlap with the arithmetic
FEWER_LANES = {200: 4, 50: 8, 32: 16}  # of functions with as many results or more: stores overlap with it
WIDE = 16  # results of a function that go past the caches where they are large, at least
WORTH_WAITING = 3  # statements an output, below which outputs are written at the end
PER_STATE = frozenset(("q", "qd", "qdd", "tau", "wrench", "s", "c"))  # arrays that each state has of its own


@dataclass(frozen=True)
class Precision:
    """A floating-point type of C, and what goes with it.

    ``suffix``: of its numbers. ``tanh``: the function that friction takes it from. ``together``: how many
    sines are computed at once. ``batches``: whether functions have a second form, for many states.
    ``includes``: of the C library. ``singular``: the least pivot over the diagonal entry of a mass matrix
    that is not singular.
    """

    real: str
    suffix: str
    tanh: str
    together: int
    batches: bool
    includes: tuple[str, ...]
    singular: str

    def number(self, value: float) -> str:
        """A number of this type; what a division by a mass of 0 leaves is one too."""
        if not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"{float(value)!r}{self.suffix}"

    def kept(self) -> list[str]:
        """What lines of templates are kept for it."""
        return ["batches"] if self.batches else []


DOUBLE = Precision("double", "", "tanh", together=4, batches=True, includes=INCLUDES, singular="1e-12")


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
        kind, a, b, label, _ = self.listing.graph.nodes[index]
        if kind == CALL:
            return f"{self.precision.tanh if label == 'tanh' else label}({self.names[a]})"
        return f"{self.names[a]} {kind} {self.names[b]}"

    def statements(self, targets: Sequence[str] = (), indent: str = "    ") -> str:
        """The statements; each output goes to its target at once, and its register is free.

        Many outputs follow at the end: memory is slow to take rows that are not written from end to end.
        """
        real, names, own = self.precision.real, self.names, self.listing.statements
        lines = {i: [f"{indent}{real} {names[i]} = {self.right(i)};"] for i in own}
        soon, last = WORTH_WAITING * len(targets) < len(lines), list[str]()
        for target, output in zip(targets, self.listing.outputs, strict=bool(targets)):
            sign = "-" if output.negative else ""
            at = lines.get(output.index, last) if soon else last
            at.append(f"{indent}{target} = {sign}{names[output.index]};")
        return "\n".join([*itertools.chain(*lines.values()), *last])


def _placed(name: str, at: Callable[[int], str]) -> str:
    array, _, rest = name.partition("[")
    return f"{array}[{at(int(rest[:-1]))}]" if array in PER_STATE else name


# The sines and cosines that functions need: one pass for all that need the same


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
        """Room for whole vectors of angles, filled up with the first ones; a single one needs none."""
        together = self.precision.together
        return self.slots if self.slots == 1 else -(-self.slots // together) * together

    def texts(self, *, in_lanes: bool) -> list[str]:
        """The pass for one state, and that for several; joint positions are read where they are."""
        text = _Text(self.cut.before, self.precision)
        values = [text.names[i] for i in self.cut.angles]
        values = (values * self.precision.together)[: self.padded]
        whole = len(values) // 4 * 4
        stores = [f"    kd_four(x + {i}, {', '.join(values[i : i + 4])});" for i in range(0, whole, 4)]
        stores += [f"    x[{i}] = {values[i]};" for i in range(whole, len(values))]
        one = c_text(
            FUNCTIONS["sines"],
            *(["window"] if self.cut.window else []),
            k=self.k,
            real=self.precision.real,
            first=self.cut.window[0] if self.cut.window else 0,
            slots=self.slots,
            padded=self.padded,
            statements=text.statements(),
            stores="\n".join(stores),
        )
        if not in_lanes:
            return [one]
        text = _Text(self.cut.before, self.precision, at=lambda i: f"{i} * lanes + k")
        pairs = zip(self.cut.place, self.cut.angles, strict=True)
        of_lanes = c_text(
            FUNCTIONS["sines_of_lanes"],
            *(["gaps"] if self.slots > len(self.cut.angles) else []),
            k=self.k,
            slots=self.slots,
            statements=text.statements(indent="        "),
            stores="\n".join(f"        x[{at} * lanes + k] = {text.names[i]};" for at, i in pairs),
        )
        return [one, of_lanes]


# One function: straight-line code, no allocation, no globals; its body serves states and lanes


def declaration(prefix: str, function: Function, real: str = "double", *, batch: bool = False) -> str:
    """The C head of a function on arrays of a type, or of its batch form, without brace or semicolon."""
    returned = "int" if function.pivots else "void"
    arguments = "".join(f"const {real} *{name}, " for name in function.arguments)
    name, count = (f"{function.name}_batch", ", size_t count") if batch else (function.name, "")
    return f"{returned} {prefix}_{name}({arguments}{real} *out{count})"


@dataclass(frozen=True)
class _Printer:
    """All of one function in C.

    ``listing``: its statements after its sines; None where it is composed of other functions.
    ``laned``: whether some of many states are computed side by side.
    """

    prefix: str
    equations: RobotFunctions
    function: Function
    listing: Listing | None
    sines: Sines | None
    precision: Precision
    laned: bool

    def texts(self) -> list[str]:
        """The body, the public form for one state and that for many."""
        function, size = self.function, math.prod(self.function.shape)
        if self.listing is None:
            own = "defaults" if function.composed == "defaults" else function.name
            given = ", ".join(["kd_defaults", *function.inputs, "out"])
            numbers = {name: self.precision.number(value) for name, value in (("zero", 0.0), ("half", 0.5))}
            texts = [self.filled(own, n=self.equations.n, given=given, **numbers)]
        else:
            given = ", ".join([*self.arrays, *(["1"] if self.laned else [])])
            one = self.filled("one_state", given=given)
            one = f"#ifndef KD_WITHOUT_STATES\n{one}#endif\n" if self.laned else one
            texts = [*self._body(self.listing), one]
        if self.precision.batches:
            batch = f"#ifndef KD_WITHOUT_BATCHES\n{self._in_lanes(size)}#endif\n" if self.laned else ""
            texts.append(batch or self.filled("states_one_by_one", at_state=self._shifted("k"), size=size))
        return texts

    def filled(self, template: str, **values: object) -> str:
        """A template with what every one of a function may ask for."""
        function = self.function
        if self.sines:
            values |= {"k": self.sines.k, "padded": self.sines.padded}
        wide = math.prod(function.shape) >= WIDE
        marks = {"sines": self.sines, "singular": function.pivots, "slopes": function.slopes, "wide": wide}
        return c_text(
            FUNCTIONS[template],
            *(mark for mark, holds in marks.items() if holds),
            prefix=self.prefix,
            name=function.name,
            real=self.precision.real,
            pivots=function.pivots,
            checks=2 * function.pivots,
            head=declaration(self.prefix, function, self.precision.real),
            batch_head=declaration(self.prefix, function, batch=True),
            **values,
        )

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
        if is_large(listing) and not self.laned:
            return self._parts(listing, parameters)
        met = {i for index in listing.statements for i in listing.graph.nodes[index][1:3]}
        met |= {output.index for output in listing.outputs}
        used = {name.partition("[")[0] for i, name in listing.names.items() if i in met} | set(writable)
        text = _Text(listing, self.precision, self._at)
        body = self.filled(
            "body",
            parameters=parameters,
            unused="\n".join(f"    (void){a};" for a in self.arrays if a not in used),
            statements=text.statements([self._target(k) for k in range(len(listing.outputs))]),
        )
        return [body]

    def _parts(self, listing: Listing, parameters: str) -> list[str]:
        """The body as a call of each part, which the compiler takes apart; they share values in ``m``."""
        parts, room = cut_in_parts(listing)
        arrays = [*self.arrays, "m"]
        texts = []
        for k, part in enumerate(parts):
            text = _Text(part.listing, self.precision)
            values = {
                "unused": "   " + "".join(f" (void){a};" for a in arrays),
                "statements": text.statements([self._target(i) for i in part.outputs]),
                "given": "\n".join(f"    m[{at}] = {text.names[i]};" for i, at in part.given.items()),
            }
            texts.append(self.filled("part", part=k, parameters=parameters, **values))
        calls = "\n".join(f"    kd_{self.function.name}_{k}({', '.join(arrays)});" for k in range(len(parts)))
        return [*texts, self.filled("together", parameters=parameters, room=max(room, 1), calls=calls)]

    def _in_lanes(self, size: int) -> str:
        """The form for many states, some side by side."""
        inputs = self.function.inputs
        widths = {a: self.equations.width(a) for a in inputs} | {"out": size}
        if self.sines:
            widths |= {"s": self.sines.slots, "c": self.sines.slots}
        if self.function.pivots:
            widths["checks"] = 2 * self.function.pivots
        return self.filled(
            "states_in_lanes",
            rows=", ".join(f"const double *{a}" for a in self.function.arguments),
            arrays=", ".join(f"{a.upper()}[{width} * lanes]" for a, width in widths.items()),
            loads="\n".join(f"    kd_to_lanes({a}, {widths[a]}, used, lanes, {a.upper()});" for a in inputs),
            lanes=", ".join(a if a == "prepared" else f"{a.upper()} + k" for a in self.arrays),
            size=size,
            side_by_side=next((lanes for least, lanes in FEWER_LANES.items() if size >= least), LANES),
            at_first=self._shifted("first"),
        )

    def _shifted(self, index: str) -> str:
        """The arguments of the state number ``index``."""
        width = self.equations.width
        return ", ".join(
            a if a == "prepared" else f"{a} + {index} * {width(a)}" for a in self.function.arguments
        )

    def _at(self, i: int) -> str:
        """The subscript of element i of an array."""
        return f"{i} * lane" if self.laned else str(i)

    def _target(self, k: int) -> str:
        """Where output k belongs: results first, then what singularity is told by."""
        size = math.prod(self.function.shape)
        return f"out[{self._at(k)}]" if k < size else f"checks[{self._at(k - size)}]"


def c_functions(name: str, derived: Derived, precision: Precision) -> list[str]:
    """The text of every function, after the passes of sines that they share.

    With ``-DKD_WITHOUT_inverse_dynamics`` a compiler leaves that function out, likewise for the others and
    ``parameters``. Of functions that compute states side by side, ``-DKD_WITHOUT_BATCHES`` leaves out the
    form for many states, ``-DKD_WITHOUT_STATES`` that for one: so the file can be compiled in several units.
    """
    passes: dict[tuple[object, ...], Sines] = {}
    in_lanes = set()  # the passes of functions that compute states side by side
    texts = []
    for function in derived.equations.functions:
        listing, sines = None, None
        if not function.composed:
            cut = cut_at_angles(derived.listings[function.name])
            listing = cut.after
            if cut.angles:
                text = _Text(cut.before, precision)
                angles = sorted((k, text.names[i]) for k, i in zip(cut.place, cut.angles, strict=True))
                key = (*angles, text.statements())  # of functions on different graphs, too
                sines = passes.setdefault(key, Sines(len(passes), cut, precision))
        laned = precision.batches and derived.side_by_side(function)
        printer = _Printer(name, derived.equations, function, listing, sines, precision, laned)
        if sines and printer.laned:
            in_lanes.add(sines.k)
        texts += [f"#ifndef KD_WITHOUT_{function.name}", "\n".join(printer.texts()) + "#endif\n"]
    sine_texts = [each.texts(in_lanes=each.k in in_lanes) for each in passes.values()]
    return [*itertools.chain(*sine_texts), *texts]


def support(n: int, precision: Precision = DOUBLE) -> list[str]:
    """What the functions of a robot with n coordinates call, after KD_SINGULAR."""
    number = precision.number
    values = {"real": precision.real, "zero": number(0.0), "one": number(1.0), "n": n}
    wanted = ("support", "lanes", "linear_algebra") if precision.batches else ("support", "linear_algebra")
    return [c_text(MODULE[each], *precision.kept(), **values) for each in wanted]


# NAME.h: what a C or C++ program includes


def banner(name: str, derived: Derived, version: str) -> str:
    """The comment at the head of both C files. Nothing from the URDF's texts enters it."""
    count = derived.operations()["inverse_dynamics"]
    values = {"name": name, "version": version, "urdf_hash": derived.urdf_hash}
    return c_text(MODULE["banner"], **values, **dataclasses.asdict(count))


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
    slices = equations.layout.slices().items()
    declarations = [
        c_text(
            HEADER["declaration"],
            *precision.kept(),
            summary=function.summary.replace("tanh(", f"{precision.tanh}("),
            shape=" x ".join(map(str, function.shape)),
            cost=f"{counts[function.name].total} operations{costs.get(function.name, '')}",
            head=declaration(name, function, precision.real),
        )
        for function in equations.functions
    ]
    batches = [f"{declaration(name, function, batch=True)};" for function in equations.functions]
    return c_text(
        HEADER["header"],
        *precision.kept(),
        *(["tips"] if equations.layout.tips > 1 else []),
        *(["followers"] if equations.layout.followers else []),
        banner=banner(name, derived, version).rstrip("\n"),
        name=name,
        upper=name.upper(),
        real=precision.real,
        legend=legend,
        joints=equations.n,
        bodies=equations.layout.bodies,
        tips=equations.layout.tips,
        size=equations.layout.size,
        prepared=len(derived.prepare.outputs),
        places="\n".join(f"   [{s.start} .. {s.stop - 1}] {key}" for key, s in slices if s.stop > s.start),
        declarations="\n".join(declarations),
        batches="\n".join(batches),
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


def c_source(name: str, derived: Derived, version: str) -> str:
    """The text of NAME.c."""
    return source_text(name, derived, banner(name, derived, version), sincos_kernel())


def source_text(name: str, derived: Derived, head: str, kernel: str, precision: Precision = DOUBLE) -> str:
    """A C file of all functions.

    Args:
        name, derived: what the functions are called, and what they compute.
        head: the comment at its head.
        kernel: text with ``kd_sincos``, and all else that the functions call.
        precision: of the numbers.
    """
    number = precision.number
    defaults = default_parameters(derived.equations.layout, derived.chain)
    prepared = derived.prepare.evaluated({"parameters": np.array(defaults)})
    text, count = _Text(derived.prepare, precision), len(prepared)
    composed = any(function.composed == "defaults" for function in derived.equations.functions)
    functions = "\n".join(c_functions(name, derived, precision))
    return c_text(
        MODULE["source"],
        *precision.kept(),
        *(["composed"] if composed else []),
        banner=head.rstrip("\n"),
        name=name,
        includes="\n".join(f"#include <{header}>" for header in precision.includes),
        kernel=kernel if "kd_sincos" in functions or "kd_tanh" in functions else "",
        lanes=LANES,
        singular=precision.singular,
        support="\n".join(support(derived.equations.n, precision)),
        real=precision.real,
        count=count,
        prepared=", ".join(map(number, prepared)),
        defaults="\n".join(f"    out[{k}] = {number(value)};" for k, value in enumerate(defaults)),
        statements=text.statements([f"out[{k}]" for k in range(count)]),
        functions=functions,
    ).removesuffix("\n")
