"""Print NAME.h and NAME.c: every function of a robot in plain C99."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.graph import CALL
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.passes import Listing, TrigonometricPass, cut_at_angles
from kane_dynamics_ros.codegen.sincos import INCLUDES, sincos_kernel

# Print listings as C99 statements on local constants.


def c_statements(listing: Listing, indent: str) -> list[str]:
    """``const double tN = ...;`` for every statement."""
    lines = []
    for index in listing.statements:
        node = listing.node(index)
        a = c_operand(listing, node.a)
        text = f"{node.label}({a})" if node.kind == CALL else f"{a} {node.kind} {c_operand(listing, node.b)}"
        lines.append(f"{indent}const double t{index} = {text};")
    return lines


def c_operand(listing: Listing, index: int) -> str:
    """The text of a value."""
    return listing.names.get(index, f"t{index}")


def c_outputs(listing: Listing, targets: Sequence[str], indent: str) -> list[str]:
    """``target = value;`` for every output."""
    return [
        f"{indent}{target} = {'-' if output.negative else ''}{c_operand(listing, output.index)};"
        for target, output in zip(targets, listing.outputs, strict=True)
    ]


# Print one function as C99: straight-line code, no allocation, no globals.


def declaration(prefix: str, function: Function) -> str:
    """The C head of a function, without brace or semicolon."""
    returned = "int" if function.pivots else "void"
    arguments = ", ".join(f"const double *{name}" for name in function.arguments)
    return f"{returned} {prefix}_{function.name}({arguments}, double *out)"


def c_function(prefix: str, function: Function, listing: Listing) -> list[str]:
    """One function, from its head to its closing brace, and an empty line."""
    cut = cut_at_angles(listing, lambda which, place: f"{which}[{place}]")
    results = len(listing.outputs) - 2 * function.pivots
    plain = replace(cut.after, outputs=listing.outputs[:results])
    return [
        declaration(prefix, function),
        "{",
        *_unused(function, listing),
        *c_statements(cut.before, "    "),
        *_sine_pass(cut),
        *c_statements(cut.after, "    "),
        *c_outputs(plain, [f"out[{i}]" for i in range(results)], "    "),
        *(_singular_check(cut.after, function.pivots) if function.pivots else []),
        "}",
        "",
    ]


def _unused(function: Function, listing: Listing) -> list[str]:
    """Say of arguments that happen not to matter that this is meant."""
    used = {name.partition("[")[0] for name in listing.names.values()}
    return [f"    (void){name};" for name in function.arguments if name not in used]


def _sine_pass(cut: TrigonometricPass) -> list[str]:
    """The call that fills s and c, from q itself where the angles are joint positions."""
    if not cut.angles:
        return []
    if cut.window:
        first, count = cut.window
        return [f"    double s[{count}], c[{count}];", f"    kd_sincos(&q[{first}], s, c, {count});"]
    count = len(cut.angles)
    values = ", ".join(c_operand(cut.before, i) for i in cut.angles)
    return [
        f"    const double angles[{count}] = {{{values}}};",
        f"    double s[{count}], c[{count}];",
        f"    kd_sincos(angles, s, c, {count});",
    ]


def _singular_check(listing: Listing, n: int) -> list[str]:
    """Return the one-based number of the outermost joint whose pivot is not clearly positive.

    Elimination runs from the tip: the pivots further in are spoilt by it.
    """
    pivots = replace(listing, outputs=listing.outputs[-2 * n : -n])
    diagonal = replace(listing, outputs=listing.outputs[-n:])
    return [
        f"    double pivots[{n}], diagonal[{n}];",
        *c_outputs(pivots, [f"pivots[{i}]" for i in range(n)], "    "),
        *c_outputs(diagonal, [f"diagonal[{i}]" for i in range(n)], "    "),
        f"    for (int i = {n - 1}; i >= 0; i--)",
        "        if (!(pivots[i] > KD_SINGULAR * diagonal[i]))",
        "            return i + 1;",
        "    return 0;",
    ]


# Print inverse dynamics for whole batches: blocks of states, one state a vector lane.


BLOCK = 32  # states a block: few enough that loads from memory overlap with the arithmetic


def batch_declaration(prefix: str, function: Function) -> str:
    """The C head of the batch form, without brace or semicolon."""
    arguments = ", ".join(f"const double *{name}" for name in function.arguments)
    return f"void {prefix}_{function.name}_batch({arguments}, double *out, size_t count)"


def batch_function(prefix: str, n: int, function: Function, listing: Listing) -> list[str]:
    """The kernel for one block, and the loop over blocks."""
    cut = cut_at_angles(_by_lane(listing), lambda which, place: f"{which}{place}")
    angles = max(len(cut.angles), 1)
    inputs = [f"const double (*restrict {name.upper()})[{BLOCK}]" for name in function.inputs]
    prepared = [] if function.nominal else ["const double *restrict prepared"]
    fill = [f"A[{j}][k] = {c_operand(cut.before, i)};" for j, i in enumerate(cut.angles)]
    read = [f"const double s{p} = S[{j}][k], c{p} = C[{j}][k];" for j, p in enumerate(cut.place)]
    return [
        f"static void {function.name}_block({', '.join([*prepared, *inputs])},",
        f"    double (*restrict OUT)[{BLOCK}])",
        "{",
        f"    double A[{angles}][{BLOCK}], S[{angles}][{BLOCK}], C[{angles}][{BLOCK}];",
        f"    for (int k = 0; k < {BLOCK}; k++) {{",
        *c_statements(cut.before, "        "),
        *(f"        {line}" for line in fill),
        "    }",
        f"    for (int j = 0; j < {len(cut.angles)}; j++)",
        "        kd_sincos_block(A[j], S[j], C[j]);",
        f"    for (int k = 0; k < {BLOCK}; k++) {{",
        *(f"        {line}" for line in read),
        *c_statements(cut.after, "        "),
        *c_outputs(cut.after, [f"OUT[{i}][k]" for i in range(n)], "        "),
        "    }",
        "}",
        "",
        *_driver(prefix, n, function),
        "",
    ]


def _by_lane(listing: Listing) -> Listing:
    """q[i] becomes Q[i][k], and so on."""
    names = {}
    for index, name in listing.names.items():
        head = name.partition("[")[0]
        names[index] = name.replace(head, head.upper(), 1) + "[k]" if head in ("q", "qd", "qdd") else name
    return replace(listing, names=names)


def _driver(prefix: str, n: int, function: Function) -> list[str]:
    """Rows to lanes and back, block after block; the last block repeats its last state."""
    passed = ["prepared"] if not function.nominal else []
    passed += [f"(const double (*)[{BLOCK}]){name.upper()}" for name in function.inputs]
    arrays = ", ".join(f"{name.upper()}[{n}][{BLOCK}]" for name in (*function.inputs, "out"))
    copies = [_to_lanes(name, n) for name in function.inputs]
    return [
        batch_declaration(prefix, function),
        "{",
        f"    double {arrays};",
        f"    for (size_t first = 0; first < count; first += {BLOCK}) {{",
        f"        const int used = count - first < {BLOCK} ? (int)(count - first) : {BLOCK};",
        *(line for copy in copies for line in copy),
        f"        {function.name}_block({', '.join(passed)}, OUT);",
        "        for (int k = 0; k < used; k++)",
        f"            for (int i = 0; i < {n}; i++)",
        f"                out[(first + (size_t)k) * {n} + (size_t)i] = OUT[i][k];",
        "    }",
        "}",
    ]


def _to_lanes(name: str, n: int) -> list[str]:
    """Rows of an input to lanes, joint by joint; lanes beyond the last state repeat it."""
    return [
        f"        for (int i = 0; i < {n}; i++) {{",
        f"            const double *column = {name} + first * {n} + i;",
        "            for (int k = 0; k < used; k++)",
        f"                {name.upper()}[i][k] = column[k * {n}];",
        f"            for (int k = used; k < {BLOCK}; k++)",
        f"                {name.upper()}[i][k] = column[(used - 1) * {n}];",
        "        }",
    ]


# Print NAME.h: what a C or C++ program includes.


BATCHED = ("inverse_dynamics", "inverse_dynamics_with")  # also come for whole batches

_CONVENTIONS = """\
   q, qd, qdd, tau: position, velocity, acceleration, effort of each joint, root to tip; rad, m and
   seconds; N m or N, positive along the joint's axis, as the actuator must supply it. Matrices are
   stored row after row. wrench: force, then torque about the tip's origin, that the environment exerts on
   the arm, in tip axes unless the function says root axes. Functions without "prepared" have the default
   parameters built in; the others take what NAME_prepare makes of a parameters array, once per change of
   parameters. Friction is not part of any function but NAME_friction: add it. No function allocates,
   keeps state or fails, but NAME_forward_dynamics: it returns 0, or the one-based number of a joint at
   which the mass matrix is singular. Arrays must not overlap. Any number of threads may call at once."""


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


def c_header(name: str, derived: Derived, version: str) -> str:
    """The text of NAME.h."""
    equations = derived.equations
    upper = name.upper()
    sizes = {
        "JOINTS": equations.n,
        "BODIES": equations.layout.bodies,
        "PARAMETERS": equations.layout.size,
        "PREPARED": len(derived.prepare.outputs),
    }
    lines = [
        banner(name, derived, version),
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stddef.h>",
        "",
        "/* Conventions:",
        _CONVENTIONS.replace("NAME", name) + " */",
        "",
        *(f"#define {upper}_{key} {value}" for key, value in sizes.items()),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_parameter_declarations(name, derived),
    ]
    for function in equations.functions:
        lines += _declared(name, function, derived.listings[function.name])
    lines += ["#ifdef __cplusplus", "}", "#endif", "", *_table(upper, equations.functions), "", "#endif", ""]
    return "\n".join(lines)


def _parameter_declarations(name: str, derived: Derived) -> list[str]:
    slices = derived.equations.layout.slices()
    places = [f"   [{s.start} .. {s.stop - 1}] {key}" for key, s in slices.items() if s.stop > s.start]
    return [
        "/* The parameters array, SI units:",
        *places,
        "   payload in the tip frame, inertia xx xy xz yy yz zz about its centre of mass. */",
        f"void {name}_default_parameters(double *out);",
        f"void {name}_prepare(const double *parameters, double *out);",
        "",
    ]


def _declared(name: str, function: Function, listing: Listing) -> list[str]:
    shape = " x ".join(map(str, function.shape))
    count = listing.count()
    lines = [
        f"/* {function.summary}; out: {shape}; {count.total} operations. */",
        f"{declaration(name, function)};",
    ]
    if function.name in BATCHED:
        lines += [
            "/* The same for count states, row after row. */",
            f"{batch_declaration(name, function)};",
        ]
    return [*lines, ""]


def _table(upper: str, functions: Iterable[Function]) -> list[str]:
    """A list for bindings: of each function what its arguments and result are."""
    rows = []
    for f in functions:
        rank, (d0, d1, d2) = len(f.shape), (*f.shape, 1, 1)[:3]
        flags = f"{int(not f.nominal)}, {int(f.pivots > 0)}, {int(f.name in BATCHED)}"
        rows.append(f"    X({f.name}, {'_'.join(f.inputs)}, {flags}, {rank}, {d0}, {d1}, {d2})")
    return [
        "/* For bindings: X(function, inputs, takes prepared, may be singular, has a batch form, rank and",
        "   extents of out). */",
        f"#define {upper}_FUNCTIONS(X) \\",
        " \\\n".join(rows),
    ]


# Print NAME.c: every function of a robot in plain C99, and inverse dynamics for whole batches.


LARGE = 10_000  # statements of a function from which on optimising it would take minutes
PLAINLY = (
    "#if defined(__GNUC__) && !defined(__clang__) /* so large a function is compiled without optimising */",
    "#pragma GCC push_options",
    '#pragma GCC optimize ("O0")',
    "#endif",
)
AGAIN = ("#if defined(__GNUC__) && !defined(__clang__)", "#pragma GCC pop_options", "#endif", "")


def c_source(name: str, derived: Derived, version: str) -> str:
    """The text of NAME.c."""
    equations = derived.equations
    lines = [
        banner(name, derived, version),
        f'#include "{name}.h"',
        "",
        *(f"#include <{header}>" for header in INCLUDES),
        "",
        sincos_kernel(BLOCK),
        "#define KD_SINGULAR 1e-12 /* least pivot over diagonal entry of the mass matrix */",
        "",
        *_parameters(name, derived),
    ]
    for function in equations.functions:
        listing = derived.listings[function.name]
        text = c_function(name, function, listing)
        lines += text if len(listing.statements) < LARGE else [*PLAINLY, *text, *AGAIN]
        if function.name in BATCHED:
            lines += batch_function(name, equations.n, function, listing)
    return "\n".join(lines)


def _parameters(name: str, derived: Derived) -> list[str]:
    """The functions that give and prepare parameters."""
    defaults = default_parameters(derived.equations.layout, derived.chain)
    targets = [f"out[{k}]" for k in range(len(derived.prepare.outputs))]
    return [
        f"void {name}_default_parameters(double *out)",
        "{",
        *(f"    out[{k}] = {value!r};" for k, value in enumerate(defaults)),
        "}",
        "",
        f"void {name}_prepare(const double *parameters, double *out)",
        "{",
        *c_statements(derived.prepare, "    "),
        *c_outputs(derived.prepare, targets, "    "),
        "}",
        "",
    ]
