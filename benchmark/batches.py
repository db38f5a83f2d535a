"""Many states in one call from C, beside the same function called state by state.

A thousand states stay in the caches. Most results of a hundred thousand do not: there memory sets the pace,
for both (docs/speed.md).
"""

from benchmark.line import Line, faster
from benchmark.measured import BUILD, Measured, measured_arms
from benchmark.native_build import C_FLAGS, run

CACHED, MANY = 1_000, 100_000  # states
COMPUTED = 1_000_000  # of each function, at least
REQUIRED = {CACHED: 1.3, MANY: 1 / 1.5}  # DESIGN.md: within 1.5 times the scalar call
WORKS = {  # function: (arguments after prepared, whether it takes prepared, elements of a result by joints n)
    "mass_matrix": ("q", False, "n * n"),
    "tip_jacobian": ("q", True, "6 * n"),
    "forward_dynamics": ("q, qd, third", False, "n"),
    "regressor": ("q, qd, third", True, "n * 10 * n"),
    "inverse_dynamics_derivatives": ("q, qd, third", False, "2 * n * n"),
    "forward_dynamics_derivatives": ("q, qd, third", False, "3 * n * n"),
}
_PROGRAM = """\
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "{header}"
enum {{ n = {joints}, count = {states} }};
static double q[count * n], qd[count * n], third[count * n], prepared[{prepared}], *out;
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
{functions}
int main(void)
{{
    double parameters[{parameters}];
    {name}_default_parameters(parameters);
    {name}_prepare(parameters, prepared);
    out = malloc(sizeof(double) * count * 10 * n * n);
    for (int i = 0; i < count * n; i++)
        q[i] = 6.0 * rand() / RAND_MAX - 3.0, qd[i] = 4.0 * rand() / RAND_MAX - 2.0, third[i] = q[i] + qd[i];
{calls}
    return out[0] == 1e300;
}}
"""


def lines() -> list[Line]:
    """The reference robot's functions."""
    measured = measured_arms()[0]
    found = []
    for states, least in REQUIRED.items():
        title = f"{measured.arm.name}, batch of {states:,}, a state"
        for row in run([_program(measured, states)]).splitlines():
            work, batch, one = row.split()
            found.append(faster(f"{title}: {work}", float(batch), float(one), "state by state", "ns", least))
    return found


def _program(measured: Measured, states: int) -> str:
    name, n = measured.arm.name, measured.arm.joints
    repeats = max(9, COMPUTED // states)
    functions, calls = [], []
    for work, (arguments, takes_prepared, size) in WORKS.items():
        given = ("prepared, " if takes_prepared else "") + arguments
        one = ", ".join("prepared" if a == "prepared" else f"{a} + k * n" for a in given.split(", "))
        functions.append(
            f"static void one_{work}(void)\n{{\n    for (size_t k = 0; k < count; k++)\n"
            f"        {name}_{work}({one}, out + k * ({size}));\n}}\n"
            f"static void many_{work}(void)\n{{\n    {name}_{work}_batch({given}, out, count);\n}}\n"
        )
        calls.append(
            "    {\n        double best = 1e30, batch = 1e30;\n"
            f"        for (int r = 0; r < {repeats}; r++) {{\n            double start = now();\n"
            f"            one_{work}();\n            double middle = now();\n            many_{work}();\n"
            "            double end = now();\n"
            "            best = middle - start < best ? middle - start : best;\n"
            "            batch = end - middle < batch ? end - middle : batch;\n        }\n"
            f'        printf("{work} %.2f %.2f\\n", batch / count, best / count);\n    }}'
        )
    text = _PROGRAM.format(
        header=f"{name}.h",
        joints=n,
        states=states,
        prepared=f"{name.upper()}_PREPARED + 1",
        parameters=f"{name.upper()}_PARAMETERS",
        name=name,
        functions="\n".join(functions),
        calls="\n".join(calls),
    )
    source, program = BUILD / f"{name}_batches.c", BUILD / f"{name}_batches"
    source.write_text(text, encoding="utf-8")
    run(["gcc", *C_FLAGS, "-I", BUILD, source, measured.source, "-o", program, "-lm"])
    return str(program)
