"""Print one function as C99: straight-line code, no allocation, no globals."""

from dataclasses import replace

from kane_dynamics_ros.codegen.c_angles import TrigonometricPass, cut_at_angles
from kane_dynamics_ros.codegen.function import Function
from kane_dynamics_ros.codegen.listing import Listing
from kane_dynamics_ros.codegen.print_c import c_operand, c_outputs, c_statements


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
