/* One function of NAME.c, and the passes of sines that functions share: codegen/print_c.py fills this in. */

//# sines
static inline void kd_sines_$k(const $real *q, $real *s, $real *c)
{
    kd_sincos(&q[$first], s, c, $slots); //? window
$statements //! window
    $real x[$padded]; //! window
$stores //! window
    kd_sincos(x, s, c, $padded); //! window
}

//# sines_of_lanes
static inline KD_ALWAYS void kd_sines_${k}_lanes(const double *q, double *s, double *c, const int lanes)
{
    double x[$slots * KD_LANES] = {0.0}; //? gaps
    double x[$slots * KD_LANES]; //! gaps
    for (int k = 0; k < lanes; k++) {
$statements
$stores
    }
    for (int j = 0; j < $slots; j++)
        kd_sincos_block(x + j * lanes, s + j * lanes, c + j * lanes, lanes);
}

//# body
static inline KD_ALWAYS void kd_$name($parameters)
{
$unused
$statements
}

//# part
static void KD_APART kd_${name}_$part($parameters, $real *restrict m)
{
$unused
$statements
$given
}

//# together
static inline KD_ALWAYS void kd_$name($parameters)
{
    $real m[$room];
$calls
}

//# one_state
$head
{
    $real s[$padded], c[$padded]; //? sines
    kd_sines_$k(q, s, c); //? sines
    $real checks[$checks]; //? singular
    kd_$name($given);
    kd_solve_slopes(out); //? slopes
    return kd_singular(checks, $pivots, 1); //? singular
}

//# states_in_lanes
static void kd_${name}_block($rows, double *out, const int used) //! singular
static inline int kd_${name}_block($rows, double *out, const int used) //? singular
{
    enum { lanes = $side_by_side };
    double $arrays;
$loads
    kd_sines_${k}_lanes(Q, S, C, lanes); //? sines
    for (int k = 0; k < lanes; k++)
        kd_$name($lanes, lanes);
    kd_to_rows(OUT, $size, used, lanes, out);
    for (int k = 0; k < used; k++) //? slopes
        kd_solve_slopes(out + k * $size); //? slopes
    return kd_singular_lane(CHECKS, $pivots, used, lanes); //? singular
}

$batch_head
{
    enum { lanes = $side_by_side };
    const int far = count > KD_FAR / $size; //? wide
    double rows[$size * lanes + 8] KD_LINES, *next = out; //? wide
    int held = 0; //? wide
    int joint = 0; //? singular
    for (size_t first = 0; first < count; first += lanes) { //! singular
    for (size_t first = 0; first < count && !joint; first += lanes) { //? singular
        const int some = count - first < lanes ? (int)(count - first) : lanes;
        double *to = out + first * $size; //! wide
        double *to = far ? rows + held : out + first * $size; //? wide
        kd_${name}_block($at_first, to, some); //! singular
        joint = kd_${name}_block($at_first, to, some); //? singular
        if (far) //? wide
            held = kd_past_caches(rows, held + some * $size, &next); //? wide
    }
    for (int i = 0; i < held; i++) //? wide
        next[i] = rows[i]; //? wide
    KD_ARRIVED; //? wide
    return joint; //? singular
}

//# states_one_by_one
$batch_head
{
    for (size_t k = 0; k < count; k++) //! singular
        ${prefix}_$name($at_state, out + k * $size); //! singular
    int joint = 0; //? singular
    for (size_t k = 0; k < count && !joint; k++) //? singular
        joint = ${prefix}_$name($at_state, out + k * $size); //? singular
    return joint; //? singular
}

//# defaults
$head
{
    ${prefix}_${name}_with($given); //! singular
    return ${prefix}_${name}_with($given); //? singular
}

//# inverse_mass_matrix_with
$head
{
    ${prefix}_mass_matrix_with(prepared, q, out);
    return kd_invert(out);
}

//# forward_dynamics_derivatives_with
$head
{
    enum { n = $n, square = n * n };
    $real spare[n], qdd[n];
    const $real *inverse = out + 2 * square;
    const int joint = ${prefix}_inverse_mass_matrix_with(prepared, q, out + 2 * square);
    if (joint)
        return joint;
    ${prefix}_bias_with(prepared, q, qd, spare);
    for (int i = 0; i < n; i++)
        spare[i] = tau[i] - spare[i];
    for (int i = 0; i < n; i++) {
        qdd[i] = $zero;
        for (int k = 0; k < n; k++)
            qdd[i] += inverse[i * n + k] * spare[k];
    }
    ${prefix}_inverse_dynamics_derivatives_with(prepared, q, qd, qdd, out);
    kd_solve_slopes(out);
    return 0;
}

//# coriolis
$head
{
    enum { n = $n, square = n * n };
    $real slopes[2 * square], qdd[n];
    for (int i = 0; i < n; i++)
        qdd[i] = $zero;
    ${prefix}_inverse_dynamics_derivatives_with(prepared, q, qd, qdd, slopes);
    for (int i = 0; i < square; i++)
        out[i] = $half * slopes[square + i];
}
