"""Print inverse dynamics for whole batches: blocks of states, one state a vector lane."""

from dataclasses import replace

from kane_dynamics_ros.codegen.c_angles import cut_at_angles
from kane_dynamics_ros.codegen.function import Function
from kane_dynamics_ros.codegen.listing import Listing
from kane_dynamics_ros.codegen.print_c import c_operand, c_outputs, c_statements

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
