"""The figures for microcontrollers come from the compiled code: every function, every compiler there is."""

import pytest
from compilers import C_COMPILER

if C_COMPILER is None:
    pytest.skip("no C compiler on this machine", allow_module_level=True)

from benchmark.small_computers import NAME, URDF, Target, code_size, document, targets
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.print_single import SUFFIX, single_sources
from kane_dynamics_ros.description import load_robot, serial_chain

DERIVED = derive(serial_chain(load_robot(URDF), "tool"))
SOURCES = single_sources(NAME, DERIVED, "")
FUNCTIONS = [function.name for function in DERIVED.equations.functions]


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.title)
def test_every_function_is_measured_and_needs_no_mathematics_but_sinf_and_cosf(
    target: Target,
) -> None:
    """Compilers may make calls of copies and of zeros: memcpy, memset."""
    found = code_size(target, SOURCES)
    bytes_of = [found.functions[f"{NAME}{SUFFIX}_{name}"] for name in FUNCTIONS]
    assert min(bytes_of) > 0
    assert sum(bytes_of) < found.total < 1.5 * sum(bytes_of)
    assert set(found.stack) >= {f"{NAME}{SUFFIX}_{name}" for name in FUNCTIONS}
    assert {"sinf", "cosf"} <= found.needed <= {"sinf", "cosf", "memcpy", "memset"}


def test_more_operations_take_more_code() -> None:
    found = code_size(targets()[0], SOURCES)
    operations = {name: count.total for name, count in DERIVED.operations().items()}
    written = [f.name for f in DERIVED.equations.functions if not f.composed]
    least, most = (choose(written, key=operations.__getitem__) for choose in (min, max))
    small, large = (found.functions[f"{NAME}{SUFFIX}_{name}"] for name in (least, most))
    assert small < large
    assert large > operations[most]  # an instruction each, of more than a byte


def test_the_page_has_a_row_with_the_compiled_figures_of_every_function() -> None:
    found = code_size(targets()[0], SOURCES)
    rows = [
        line.split(" | ") for line in document(DERIVED, {"here": found}).splitlines() if line[:3] == "| `"
    ]
    assert [row[0] for row in rows] == [f"| `{name}`" for name in FUNCTIONS]
    for name, row in zip(FUNCTIONS, rows, strict=True):
        symbol = f"{NAME}{SUFFIX}_{name}"
        figures = DERIVED.operations()[name].total, found.functions[symbol], found.stack[symbol]
        assert tuple(map(int, row[1:4])) == figures
