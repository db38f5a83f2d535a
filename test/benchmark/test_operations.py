"""The operation counter on C text whose operations can be counted by eye."""

import re
from pathlib import Path

import pytest
from compilers import C_COMPILER

pytest.importorskip("pycparser")
if C_COMPILER is None:
    pytest.skip("no C compiler on this machine, whose preprocessor is needed", allow_module_level=True)

from benchmark.operations import count_operations

GENERATED = Path(__file__).parents[2] / "kane_dynamics_ros" / "generated"
SOURCE = """
#include <math.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define HALF 0.5
static double square(double x) { return x * x; }
static void kd_sincos(const double *x, double *s, double *c) { s[0] = sin(x[0]) * 1.0; c[0] = cos(x[0]); }
static double scaled(const double *x, const int times)
{
    double sum = x[0];
    for (int i = 1; i < times; i++)
        sum = sum * x[i];
    return sum;
}
void torque(const double *restrict q, double *restrict tau)
{
    double s[1], c[1];
    const int i = 1;
    kd_sincos(q, s, c);
    double t0 = HALF * s[0] + q[i + 1] / 3.0;
    double t1 = -t0 - square(c[0]);
    tau[0] = -1.5 * t1;
    tau[0] += tanh(t0);
}
void product(const double *M, double *x)
{
    enum { n = 3, square = n * n };
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < square / n; k++)
            x[i] += M[i * n + k] * x[3 + k];
}
void eliminate(const double *M, double *x)
{
    enum { n = 3 };
    kd_sincos(M + 3, x, x + 2);
    for (int j = 0; j < n; j += 2)
        for (int k = j; k >= 0; k--)
            x[k] -= x[k] * scaled(M, j + 1) + (j == k ? 1.0 / M[j] : 0.0);
}
void unknown(const double *x, int count, double *out)
{
    for (int i = 0; i < count; i++)
        out[0] += x[i];
}
#ifdef __cplusplus
}
#endif
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.c"
    path.write_text(SOURCE)
    return path


def test_counts_binary_operations_with_those_of_helpers(source: Path) -> None:
    """0.5 s, + , q/3; -t0 - ..., c c; -1.5 t1; += : seven; the subscript i + 1 is none."""
    operations = count_operations(source, "torque")
    assert operations.binary == 7


def test_counts_negations_and_calls_apart(source: Path) -> None:
    operations = count_operations(source, "torque")
    assert operations.negations == 1
    assert operations.calls == {"kd_sincos": 1, "tanh": 1}


def test_what_stands_in_loops_counts_as_often_as_they_run(source: Path) -> None:
    """A product and a sum, three times three; the constants' own n * n and square / n are none."""
    assert count_operations(source, "product").binary == 18


def test_loops_are_followed_through_their_steps_and_the_arguments_of_helpers(source: Path) -> None:
    """j = 0: k = 0; j = 2: k = 2, 1, 0: - * + each time; 1 / M[j] twice; helpers with 0 and 2 products.

    Neither M + 3 and x + 2, which are addresses, nor j + 1 counts.
    """
    assert count_operations(source, "eliminate").binary == 4 * 3 + 2 + 3 * 2


def test_a_loop_that_runs_nobody_knows_how_often_is_an_error(source: Path) -> None:
    with pytest.raises(ValueError, match="not known"):
        count_operations(source, "unknown")


def test_the_parser_counts_what_the_committed_header_states() -> None:
    """Every function of the reference robot, loops and checks included."""
    header = (GENERATED / "manipulator_5dof.h").read_text()
    pattern = r"(\d+) operations\. \*/\n\w+ manipulator_5dof_(\w+)\("
    stated = {name: int(count) for count, name in re.findall(pattern, header)}
    assert len(stated) > 20
    for name, count in stated.items():
        found = count_operations(GENERATED / "manipulator_5dof.c", f"manipulator_5dof_{name}")
        assert (name, found.binary) == (name, count)


def test_a_function_that_is_not_there_is_an_error(source: Path) -> None:
    with pytest.raises(KeyError, match="absent"):
        count_operations(source, "absent")
