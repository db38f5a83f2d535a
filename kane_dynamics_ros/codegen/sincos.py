"""C text of the vectorised sine-cosine kernel that every emitted NAME.c holds.

Half of the time of a small arm's inverse dynamics goes into the C library's sin and cos, one call
each. The kernel computes all pairs in one pass of plain C99 loops without branches, which GCC and
clang turn into vector instructions without ``-ffast-math``; where they do not, it is only slower.

How one pair is computed (``kd_sincos_one``):

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

|x| > 32768 (5215 turns), infinities and NaN are found by one test after the loop and go to the C
library, which keeps the result right for every double. sin(-0.0) is -0.0. Largest error, measured
against mpmath and long double over two million angles: 0.83 ulp.

The pass wants ``x`` where the caller has it: a copy into a padded array costs more than it saves,
because the processor cannot forward several narrow stores to one wide load. There is no padding,
therefore: ``n`` is the number of angles, a constant at each call. In a batch, the block form takes one
joint's angles of ``KD_SINCOS_BLOCK`` states. Nothing is allocated, nothing is global: any number of
threads may call.
"""

_KERNEL = r"""
/* Sines and cosines of all angles in one pass, error below 1 ulp: codegen/sincos.py explains it. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
/* The reduction relies on each operation being rounded to double, in the order that is written. */
static inline uint64_t kd_sincos_one(double x, double *s, double *c)
{
    *s = sin(x);
    *c = cos(x);
    return 0;
}
#else
/* The sign bit of the result is set where |x| > 32768, or x is not finite. */
static inline uint64_t kd_sincos_one(double x, double *s, double *c)
{
    const double shift = 0x1.8p52, P1 = 0x1.921fb54440000p+0, P2 = 0x1.68c234c4c0000p-39;
    const double shifted = x * 0x1.45f306dc9c883p-1 + shift;
    const double k = shifted - shift;
    const double y = x - k * P1;
    const double w = y - k * P2;
    const double e = k * 0x1.98a2e03707345p-77 - ((y - w) - k * P2);
    const double z = w * w;
    const double zz = z * z;
    const double S = (0x1.5555555555548p-3 + z * -0x1.111111110f7d0p-7)
        + zz * ((0x1.a01a019bfdf40p-13 + z * -0x1.71de3567d70f5p-19)
        + zz * (0x1.ae5e5a941bc5bp-26 + z * -0x1.5d8fd2574a736p-33));
    const double C = (0x1.555555555554bp-5 + z * -0x1.6c16c16c14f91p-10)
        + zz * ((0x1.a01a019c844f0p-16 + z * -0x1.27e4f7eac4a2dp-22)
        + zz * (0x1.1ee9d7b4e4ab2p-29 + z * -0x1.8fa49a0fbcdb0p-37));
    const double h = 1.0 - 0.5 * z;
    const double sine = w - (e * h + w * z * S);
    const double cosine = h + (((1.0 - h) - 0.5 * z) + (zz * C + w * e));
    uint64_t quadrant, x_bits, s_bits, c_bits, swap;
    memcpy(&quadrant, &shifted, sizeof quadrant);
    memcpy(&x_bits, &x, sizeof x_bits);
    memcpy(&s_bits, &sine, sizeof s_bits);
    memcpy(&c_bits, &cosine, sizeof c_bits);
    swap = (s_bits ^ c_bits) & (UINT64_C(0) - (quadrant & 1)); /* not ?:, which may become a jump */
    s_bits ^= swap ^ ((quadrant & 2) << 62);
    c_bits ^= swap ^ (((quadrant + 1) & 2) << 62);
    memcpy(s, &s_bits, sizeof s_bits);
    memcpy(c, &c_bits, sizeof c_bits);
    return UINT64_C(0x40e0000000000000) - (x_bits & UINT64_C(0x7fffffffffffffff)); /* 32768.0 - |x| */
}
#endif

static inline void kd_sincos_far(const double *restrict x, double *restrict s, double *restrict c, int n)
{
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i]) <= 32768.0)) {
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }
    }
}

/* x[n] [rad] -> s = sin(x), c = cos(x), n a constant where it is called. Of the angles after the last
   whole four, three are taken together with the one before them: one more vector instead of a half and
   a single. */
static inline void kd_sincos(const double *restrict x, double *restrict s, double *restrict c, const int n)
{
    const int whole = n / 4 * 4;
    const int rest = n > 4 && n % 4 == 3 ? n - 4 : whole;
    uint64_t far = 0;
    for (int i = 0; i < whole; i++)
        far |= kd_sincos_one(x[i], s + i, c + i);
    for (int i = rest; i < n; i++)
        far |= kd_sincos_one(x[i], s + i, c + i);
    if (far >> 63)
        kd_sincos_far(x, s, c, n);
}

/* x[KD_SINCOS_BLOCK] [rad], one joint's angle in as many states -> s = sin(x), c = cos(x). */
static inline void kd_sincos_block(const double *restrict x, double *restrict s, double *restrict c)
{
    uint64_t far = 0;
    for (int i = 0; i < KD_SINCOS_BLOCK; i++)
        far |= kd_sincos_one(x[i], s + i, c + i);
    if (far >> 63)
        kd_sincos_far(x, s, c, KD_SINCOS_BLOCK);
}
"""

INCLUDES = ("float.h", "math.h", "stdint.h", "string.h")  # what the text needs


def sincos_kernel(block: int = 64) -> str:
    """C99 text of ``kd_sincos`` and of ``kd_sincos_block`` for ``block`` states.

    The text is to follow ``#include`` lines for ``INCLUDES``; compile it with optimisation and, for
    speed, ``-march=native``. The three arrays of each function must not overlap.
    """
    return f"#define KD_SINCOS_BLOCK {block}\n{_KERNEL}"
