"""C text of the vectorised sine-cosine kernel that every emitted NAME.c holds.

Half of the time of a small arm's inverse dynamics goes into the C library's sin and cos, one call each. The
kernel computes all pairs in one pass without branches. It is written on vectors of four doubles, with the
extension that GCC and clang share: what they become does not depend on what a compiler thinks that a loop is
worth, which differs from processor to processor (GCC 12 leaves a plain loop scalar on Sapphire Rapids: 51 ns
for five pairs). Where a compiler has no such vectors, or with ``-DKD_NO_VECTORS``, the same text works on one
double at a time.

How one pair is computed (``_PAIRS``):

1. Range reduction after Cody and Waite. k = round(x 2/pi) by adding and subtracting 1.5 * 2^52,
   which leaves k in the low bits of the sum. pi/2 = P1 + P2 + P3 with P1 and P2 of 38 bits: for
   |k| < 2^15 the products k P1 and k P2 are exact, so that a compiler may contract them into fused
   multiply-adds or not: y = x - k P1 is exact either way, and so is the rounding error of
   w = y - k P2. The angle is x = k pi/2 + w - e, e = k P3 - (rounding error of w), where
   e is at most half a unit in the last place of w, except next to a multiple of pi/2, where it may
   be larger and is as exact as needed.
2. Polynomials S and C on |w| <= pi/4 (``sincos_minimax``), z = w^2, with the first-order effect of e:
   sin(w - e) = w - (e (1 - z/2) + w z S(z)) and cos(w - e) = 1 - z/2 + (z^2 C(z) + w e). They are evaluated
   by Estrin's scheme, whose chain of dependent operations is half as long as Horner's.
3. The low two bits of k, the quadrant, exchange the two values and set their signs, by masks.

Vectors and single doubles give the same bits, on x86-64 and on ARM, because the order of operations is the
same. Contraction into fused multiply-adds changes last bits, within the bound; which ones are contracted is
the compiler's choice, so that GCC's and clang's results differ then, and on a few processors those of vectors
and single doubles (of 11 angles with GCC 12 on an AMD EPYC). Under ``-ffp-contract=off`` they do not.

|x| > 32768 (5215 turns), infinities and NaN are found by one test after the pass and go to the C
library, which keeps the result right for every double. sin(-0.0) is -0.0. Largest error, measured
against mpmath and long double over two million angles: 0.83 ulp.

The last vector of four overlaps the one before: five angles are 1 to 4 and 2 to 5, with the same bits twice.
A vector that held the fifth angle four times GCC would compute as one double. The pass wants ``x`` where the
caller has it, or in whole vectors, which a processor can forward from its stores to its loads; ``s`` and
``c`` have room for four. ``n`` is the number of angles, a constant at each call. In a batch, the block form
takes one joint's angles of several states. Nothing is allocated, nothing is global: any number of
threads may call.
"""

from kane_dynamics_ros.codegen.c_text import c_text, sections

INCLUDES = ("float.h", "math.h", "stdint.h", "string.h")  # what the text needs


def sincos_kernel() -> str:
    """C99 text of ``kd_sincos`` and of ``kd_sincos_block``.

    The text is to follow ``#include`` lines for ``INCLUDES``; compile it with optimisation and, for
    speed, ``-march=native``. The three arrays of each function must not overlap.
    """
    text = sections("sincos.c")
    one = c_text(text["pairs"], n=1, inline="static inline")
    four = c_text(text["pairs"], n=4, inline="static inline __attribute__((always_inline))")
    vectors = f"#if KD_VECTORS\n{four}#endif\n"
    return "\n".join([text["head"], one, vectors, text["passes"]])
