"""Five sines and cosines in one call: the emitted kernel, the C library one by one, and glibc's libmvec."""

from benchmark.line import Line
from benchmark.measured import BUILD
from benchmark.native_build import C_FLAGS, NATIVE, run
from kane_dynamics_ros.codegen.sincos import INCLUDES, sincos_kernel

REPEATS = 201


def lines() -> list[Line]:
    """For information: DESIGN.md asks nothing of the kernel alone."""
    times = call_times()
    rivals = {"library": "C library, one by one", "libmvec": "libmvec"}
    if "libmvec_padded" in times:
        times["libmvec"] = min(times["libmvec"], times["libmvec_padded"])
    work = "five sines and cosines, from C"
    return [Line(work, times["kernel"], times[k], title, "ns") for k, title in rivals.items() if k in times]


def call_times() -> dict[str, float]:
    """Median time of a call [ns] by rival's name; libmvec only where the C library has it (glibc, x86-64)."""
    BUILD.mkdir(parents=True, exist_ok=True)
    includes = "".join(f"#include <{header}>\n" for header in INCLUDES)
    (BUILD / "kernel.h").write_text(includes + sincos_kernel())
    program = BUILD / "sines"
    command = ["gcc", *C_FLAGS, "-I", BUILD, NATIVE / "sines.c", "-o", program]
    try:
        run([*command, "-DWITH_LIBMVEC", "-mavx2", "-lmvec", "-lm"])
    except RuntimeError:
        run([*command, "-lm"])
    rows = (row.split() for row in run([program, REPEATS]).splitlines())
    return {name: float(nanoseconds) for name, nanoseconds in rows}
