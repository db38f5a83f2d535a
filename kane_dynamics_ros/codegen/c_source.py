"""Print NAME.c: every function of a robot in plain C99, and inverse dynamics for whole batches."""

from kane_dynamics_ros.codegen.c_batch import BLOCK, batch_function
from kane_dynamics_ros.codegen.c_function import c_function
from kane_dynamics_ros.codegen.c_header import BATCHED, banner
from kane_dynamics_ros.codegen.derived import Derived
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.print_c import c_outputs, c_statements
from kane_dynamics_ros.codegen.sincos_kernel import INCLUDES, sincos_kernel

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
