/* The sine-cosine kernel: codegen/sincos.py explains it. */

//# head
/* Sines and cosines of all angles in one pass, error below 1 ulp: codegen/sincos.py explains it. */
#if defined(__GNUC__) && !defined(KD_NO_VECTORS)
#define KD_VECTORS 1
typedef double kd_double_4 __attribute__((vector_size(32)));
typedef uint64_t kd_bits_4 __attribute__((vector_size(32)));
#else
#define KD_VECTORS 0
#endif
typedef double kd_double_1;
typedef uint64_t kd_bits_1;

/* The reduction relies on each operation being rounded to double, in the order that is written. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#define KD_LIBRARY_SINES 1
#else
#define KD_LIBRARY_SINES 0
#endif

//# pairs
/* $n at a time. The sign bit of *far is set where |x| > 32768, or x is not finite. */
$inline void kd_sincos_$n(const double *angle, double *s, double *c, kd_bits_$n *far)
{
    kd_double_$n x;
    memcpy(&x, angle, sizeof x);
    const kd_double_$n shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    const kd_double_$n k = shifted - 0x1.8p52;
    const kd_double_$n y = x - k * 0x1.921fb54440000p+0;
    const kd_double_$n w = y - k * 0x1.68c234c4c0000p-39;
    const kd_double_$n e = k * 0x1.98a2e03707345p-77 - ((y - w) - k * 0x1.68c234c4c0000p-39);
    const kd_double_$n z = w * w;
    const kd_double_$n zz = z * z;
    const kd_double_$n S = (0x1.5555555555548p-3 + z * -0x1.111111110f7d0p-7)
        + zz * ((0x1.a01a019bfdf40p-13 + z * -0x1.71de3567d70f5p-19)
        + zz * (0x1.ae5e5a941bc5bp-26 + z * -0x1.5d8fd2574a736p-33));
    const kd_double_$n C = (0x1.555555555554bp-5 + z * -0x1.6c16c16c14f91p-10)
        + zz * ((0x1.a01a019c844f0p-16 + z * -0x1.27e4f7eac4a2dp-22)
        + zz * (0x1.1ee9d7b4e4ab2p-29 + z * -0x1.8fa49a0fbcdb0p-37));
    const kd_double_$n h = 1.0 - 0.5 * z;
    const kd_double_$n sine = w - (e * h + w * z * S);
    const kd_double_$n cosine = h + (((1.0 - h) - 0.5 * z) + (zz * C + w * e));
    kd_bits_$n quadrant, x_bits, s_bits, c_bits, swap;
    memcpy(&quadrant, &shifted, sizeof quadrant);
    memcpy(&x_bits, &x, sizeof x_bits);
    memcpy(&s_bits, &sine, sizeof s_bits);
    memcpy(&c_bits, &cosine, sizeof c_bits);
    swap = (s_bits ^ c_bits) & (UINT64_C(0) - (quadrant & 1)); /* not ?:, which may become a jump */
    s_bits ^= swap ^ ((quadrant & 2) << 62);
    c_bits ^= swap ^ (((quadrant + 1) & 2) << 62);
    memcpy(s, &s_bits, sizeof s_bits);
    memcpy(c, &c_bits, sizeof c_bits);
    *far |= UINT64_C(0x40e0000000000000) - (x_bits & UINT64_C(0x7fffffffffffffff)); /* 32768.0 - |x| */
}

//# passes
static inline void kd_sincos_far(const double *restrict x, double *restrict s, double *restrict c, int n)
{
    for (int i = 0; i < n; i++) {
        if (KD_LIBRARY_SINES || !(fabs(x[i]) <= 32768.0)) {
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }
    }
}

/* x[n] [rad] -> s = sin(x), c = cos(x), n a constant where it is called. The last vector of four overlaps the one
   before; two or three angles are one vector: then s and c have room for four. */
static inline void kd_sincos(const double *restrict x, double *restrict s, double *restrict c, const int n)
{
    uint64_t any = 0;
    if (KD_LIBRARY_SINES) {
        kd_sincos_far(x, s, c, n);
        return;
    }
#if KD_VECTORS
    if (n > 1) {
        kd_bits_4 far = {0};
        for (int i = 0; i + 4 <= n; i += 4)
            kd_sincos_4(x + i, s + i, c + i, &far);
        if (n < 4) {
            const kd_double_4 all = {x[0], x[1], x[n - 1], x[0]};
            kd_sincos_4((const double *)&all, s, c, &far);
        } else if (n % 4) {
            kd_sincos_4(x + n - 4, s + n - 4, c + n - 4, &far);
        }
        any = (far[0] | far[1] | far[2] | far[3]) >> 63;
    } else
#endif
    {
        uint64_t far = 0;
        for (int i = 0; i < n; i++)
            kd_sincos_1(x + i, s + i, c + i, &far);
        any = far >> 63;
    }
    if (any)
        kd_sincos_far(x, s, c, n);
}

/* x[n] [rad], one joint's angle in n states, a multiple of four -> s = sin(x), c = cos(x). */
static inline void kd_sincos_block(const double *restrict x, double *restrict s, double *restrict c, const int n)
{
    if (KD_LIBRARY_SINES) {
        kd_sincos_far(x, s, c, n);
        return;
    }
#if KD_VECTORS
    kd_bits_4 far = {0};
    for (int i = 0; i < n; i += 4)
        kd_sincos_4(x + i, s + i, c + i, &far);
    const uint64_t any = (far[0] | far[1] | far[2] | far[3]) >> 63;
#else
    uint64_t far = 0;
    for (int i = 0; i < n; i++)
        kd_sincos_1(x + i, s + i, c + i, &far);
    const uint64_t any = far >> 63;
#endif
    if (any)
        kd_sincos_far(x, s, c, n);
}
