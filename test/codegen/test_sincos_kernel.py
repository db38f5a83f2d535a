"""The emitted sine-cosine kernel, compiled by the machine's compiler, against mpmath and long double."""

import ctypes
import itertools
import math
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from compilers import C_COMPILER
from numpy.typing import NDArray

from kane_dynamics_ros.codegen.sincos import INCLUDES, sincos_kernel

Array = NDArray[np.float64]
Pair = tuple[Array, Array]
Kernel = Callable[[Array], Pair]

BLOCK = 64
# Half an ulp is the rounding of the last addition; the rest is the rounding of the correction terms, for
# instance a quarter ulp of z/2 where cos is smallest. 0.83 is the largest of two million angles.
MAX_ULP = 0.9
WAYS = {  # the kernel must be right however it is compiled
    "fast": ["-O3", "-march=native"],
    "contracted": ["-O3", "-march=native", "-ffp-contract=fast"],
    "not contracted": ["-O3", "-march=native", "-ffp-contract=off"],
    "no vectors": ["-O3", "-march=native", "-DKD_NO_VECTORS"],
    "little optimised": ["-O1"],
    "plain": ["-O2", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"],
    # only what -ffast-math defines: its start-up code would switch denormals off in this process
    "fast-math": ["-O2", "-D__FAST_MATH__"],
}

pytestmark = pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")


def build(folder: Path, n: int, flags: list[str]) -> ctypes.CDLL:
    exports = f"""
void kd_sincos_export(const double *x, double *s, double *c)
{{
    double sines[{n + 3}], cosines[{n + 3}];
    kd_sincos(x, sines, cosines, {n});
    memcpy(s, sines, {n} * sizeof *s);
    memcpy(c, cosines, {n} * sizeof *c);
}}
void kd_sincos_block_export(const double *x, double *s, double *c) {{ kd_sincos_block(x, s, c, {BLOCK}); }}
"""
    includes = "".join(f"#include <{header}>\n" for header in INCLUDES)
    source = folder / f"kernel_{n}.c"
    source.write_text(includes + sincos_kernel() + exports)
    library = source.with_suffix(".so")
    subprocess.run([str(C_COMPILER), *flags, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def kernel(library: ctypes.CDLL, name: str, width: int) -> Kernel:
    """The compiled function as one that takes any number of angles, ``width`` of them at a time."""
    pointer = ctypes.POINTER(ctypes.c_double)

    def evaluate(angles: Array) -> Pair:
        x = np.zeros((-(-angles.size // width), width))
        x.ravel()[: angles.size] = angles
        s, c = np.full_like(x, np.nan), np.full_like(x, np.nan)
        for row in zip(x, s, c, strict=True):
            getattr(library, name)(*(part.ctypes.data_as(pointer) for part in row))
        return s.ravel()[: angles.size], c.ravel()[: angles.size]

    return evaluate


@pytest.fixture(scope="module", params=WAYS, ids=str)
def block(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    folder = tmp_path_factory.mktemp("kernel")
    return kernel(build(folder, 5, WAYS[request.param]), "kd_sincos_block_export", BLOCK)


def exact(angles: Array) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """Sine and cosine to 100 bits after the leading one, for any double."""
    with mpmath.mp.workprec(160):
        return [(mpmath.sin(mpmath.mpf(x)), mpmath.cos(mpmath.mpf(x))) for x in angles.tolist()]


def largest_error(kernel: Kernel, angles: Array) -> float:
    """Largest distance [ulp of the exact value] of the kernel's results from mpmath's."""
    s, c = kernel(angles)
    worst = 0.0
    for sine, cosine, truth in zip(s.tolist(), c.tolist(), exact(angles), strict=True):
        for found, expected in zip((sine, cosine), truth, strict=True):
            worst = max(worst, float(abs(found - expected)) / math.ulp(float(expected)))
    return worst


def doubles_of_every_exponent() -> Array:
    rng = np.random.default_rng(1)
    exponents = np.arange(-1074, 1024)
    signs = rng.choice([-1.0, 1.0], exponents.size)
    return np.asarray(signs * np.ldexp(rng.uniform(1.0, 2.0, exponents.size), exponents))


def doubles_next_to_multiples_of_half_pi() -> Array:
    """The doubles nearest to k pi/2, where the result or its derivative is smallest, and their neighbours."""
    rng = np.random.default_rng(2)
    multiples = np.concatenate([np.arange(-40, 41), rng.integers(-20861, 20861, 300)])
    with mpmath.mp.workprec(160):
        nearest = np.array([float(int(k) * mpmath.pi / 2) for k in multiples])
    return np.concatenate([nearest, np.nextafter(nearest, np.inf), np.nextafter(nearest, -np.inf)])


def doubles_where_the_quadrant_changes() -> Array:
    """(k + 1/2) pi/2, where |w| is largest, and the end of the range that is not the library's."""
    edges = (np.arange(-60, 60) + 0.5) * np.pi / 2
    ends = np.array([32768.0, -32768.0, 32767.9, 32768.1])
    around = [np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), np.nextafter(ends, 0.0)]
    return np.concatenate([edges, ends, *around])


@pytest.mark.parametrize(
    "angles",
    [doubles_of_every_exponent, doubles_next_to_multiples_of_half_pi, doubles_where_the_quadrant_changes],
)
def test_error_stays_below_one_ulp_over_the_whole_range_of_doubles(
    block: Kernel, angles: Callable[[], Array]
) -> None:
    assert largest_error(block, angles()) < MAX_ULP


def test_error_stays_below_one_ulp_at_many_joint_angles(block: Kernel) -> None:
    """Against long double, whose own error (2^-11 ulp of a double) is far below the bound."""
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("long double is no wider than double on this machine")
    rng = np.random.default_rng(3)
    angles = np.concatenate([rng.uniform(-w, w, 40_000) for w in (0.8, 3.2, 60.0, 32768.0)])
    wide = angles.astype(np.longdouble)
    for found, expected in zip(block(angles), (np.sin(wide), np.cos(wide)), strict=True):
        error = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float64))
        assert float(error.max()) < MAX_ULP


def test_values_that_are_not_finite_give_nan(block: Kernel) -> None:
    for part in block(np.array([np.nan, np.inf, -np.inf])):
        assert np.isnan(part).all()


def test_one_angle_out_of_range_leaves_its_neighbours_alone(block: Kernel) -> None:
    angles = np.linspace(-3.0, 3.0, BLOCK)
    alone = block(angles)
    angles[17] = 1e22  # sin(1e22) is the classic test of an argument reduction
    s, c = block(angles)
    assert s[17] == pytest.approx(-0.8522008497671888, rel=1e-15)
    np.testing.assert_array_equal(np.delete(s, 17), np.delete(alone[0], 17))
    np.testing.assert_array_equal(np.delete(c, 17), np.delete(alone[1], 17))


def test_sine_of_zero_keeps_the_sign(block: Kernel) -> None:
    s, c = block(np.array([0.0, -0.0]))
    assert [math.copysign(1.0, value) for value in s] == [1.0, -1.0]
    np.testing.assert_array_equal(c, [1.0, 1.0])


@pytest.mark.parametrize(("contraction", "units"), [("-ffp-contract=off", 0), ("-ffp-contract=fast", 1)])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 11])
def test_vectors_and_single_doubles_give_the_same_bits(
    n: int, contraction: str, units: int, tmp_path: Path
) -> None:
    """But for the last under contraction, whose places a compiler chooses: GCC 12 for Zen 3, 11 angles."""
    ways = []
    for folder, flags in (("vectors", []), ("single", ["-DKD_NO_VECTORS"])):
        (tmp_path / folder).mkdir()
        ways.append(build(tmp_path / folder, n, ["-O3", "-march=native", contraction, *flags]))
    rng = np.random.default_rng(n)
    angles = np.concatenate([rng.uniform(-w, w, 2_000) for w in (0.8, 3.2, 60.0, 32768.0)])
    for name, width in (("kd_sincos_export", n), ("kd_sincos_block_export", BLOCK)):
        vectors, single = (kernel(way, name, width)(angles) for way in ways)
        np.testing.assert_array_max_ulp(np.array(vectors), np.array(single), maxulp=units)


PROCESSORS = ("native", "x86-64-v3", "x86-64-v4", "skylake-avx512", "sapphirerapids", "znver3")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86-64 processors")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_multiplication_works_on_four_angles_whatever_the_processor(
    processor: str, tmp_path: Path
) -> None:
    """Counted in the assembly: two vectors of four for five and seven angles, and no arithmetic on one."""
    text = "".join(f"#include <{header}>\n" for header in INCLUDES) + sincos_kernel()
    calls = {
        "five": "kd_sincos(x, s, c, 5)",
        "seven": "kd_sincos(x, s, c, 7)",
        "block": f"kd_sincos_block(x, s, c, {BLOCK})",
    }
    for name, call in calls.items():
        text += f"void {name}(const double *x, double *s, double *c) {{ {call}; }}\n"
    source = tmp_path / "kernel.c"
    source.write_text(text)
    flags = ["-std=c99", "-O3", "-ffp-contract=fast", "-fno-math-errno", f"-march={processor}"]
    command = [str(C_COMPILER), *flags, "-S", "-o", "-", str(source)]
    assembly = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in calls:
        body = assembly[assembly.index(f"\n{name}:") : assembly.index(f".size\t{name}")]
        packed = re.findall(r"\tv?\w*(?:mul|add|sub)\w*pd\t(.*)", body)
        assert len(packed) >= (45 if name != "block" else 22)  # 47 operations a vector, contracted about 30
        if processor != "native":  # whose vectors may be shorter than four doubles
            assert all("%ymm" in operands for operands in packed)
        assert re.findall(r"\tv?\w*(?:mul|add|sub)\w*sd\t", body) == []


ARM = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
PRINTED = """
#include <stdio.h>
int main(void)
{
    double x[7], s[8], c[8];
    for (int k = 0; k < 7000; k++) {
        for (int i = 0; i < 7; i++)
            x[i] = (k * 7 + i - 24500) * 0.0123456789;
        kd_sincos(x, s, c, 7);
        for (int i = 0; i < 7; i++)
            printf("%a %a\\n", s[i], c[i]);
    }
    return 0;
}
"""


@pytest.mark.skipif(None in ARM, reason="no cross compiler for ARM, or no emulator")
def test_arm_gives_the_same_bits(tmp_path: Path) -> None:
    source, text = tmp_path / "kernel.c", "".join(f"#include <{header}>\n" for header in INCLUDES)
    source.write_text(text + sincos_kernel() + PRINTED)
    found = []
    for compiler, run in ((C_COMPILER, []), (ARM[0], [str(ARM[1])])):
        program = tmp_path / f"program_{len(found)}"
        flags = ["-O3", "-std=c99", "-ffp-contract=off", "-static"]
        subprocess.run([str(compiler), *flags, str(source), "-o", str(program), "-lm"], check=True)
        found.append(subprocess.run([*run, str(program)], check=True, capture_output=True).stdout)
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [*range(1, 13), 30])
def test_any_number_of_joints_gives_each_joints_pair(n: int, tmp_path: Path) -> None:
    """Near and far angles at every place; an error of place or sign is of order one."""
    joints = kernel(build(tmp_path, n, ["-O2"]), "kd_sincos_export", n)
    near = np.linspace(-3.0, 3.0, n)
    far = [np.where(np.arange(n) == i, 1e9, near) for i in range(n)]
    for angles in itertools.chain([near], far):
        s, c = joints(angles)
        np.testing.assert_allclose(s, np.sin(angles), rtol=4e-16)
        np.testing.assert_allclose(c, np.cos(angles), rtol=4e-16)
