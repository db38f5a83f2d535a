/* NAME for CasADi's external(), at one set of parameters; goes with NAME.c.

   For each function F there are F, its sparsities, and jac_F with F's derivatives by each input. Inputs that CasADi
   leaves out are zero. Nothing here has a state: any number of threads may evaluate at once. */
#include "NAME.h"

#include <math.h>

#ifndef casadi_real
#define casadi_real double
#endif
#ifndef casadi_int
#define casadi_int long long int
#endif

PARAMETERS

#if KD_DEFAULTS
#define KD(function, ...) NAME_##function(__VA_ARGS__)
#else
#define KD(function, ...) NAME_##function##_with(kd_prepared, __VA_ARGS__)
#endif

/* A matrix row by row to CasADi's column by column. */
static inline void kd_turned(const int rows, const double *by_rows, double *by_columns)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            by_columns[j * rows + i] = by_rows[i * n + j];
}

/* The inputs, zeros in w where CasADi passes none; returns what is left of w. */
static inline double *kd_inputs(const int count, const double **arg, const double **in, double *w)
{
    for (int k = 0; k < count; k++) {
        in[k] = arg[k] ? arg[k] : w;
        for (int i = 0; i < n && !arg[k]; i++)
            w[i] = 0.0;
        w += n;
    }
    return w;
}

/* Friction of joint i, and its derivative by qd[i]. */
static inline double kd_friction(const double *qd, const int i)
{
#if KD_FRICTION
    return kd_viscous[i] * qd[i] + kd_coulomb[i] * tanh(qd[i] / kd_velocity);
#else
    (void)qd, (void)i;
    return 0.0;
#endif
}

static inline double kd_friction_slope(const double *qd, const int i)
{
#if KD_FRICTION
    const double t = tanh(qd[i] / kd_velocity);
    return kd_viscous[i] + kd_coulomb[i] * (1.0 - t * t) / kd_velocity;
#else
    (void)qd, (void)i;
    return 0.0;
#endif
}

/* d tau / d q and d tau / d qd, friction included, to the tables that are there. */
static inline void kd_effort_slopes(const double *q, const double *qd, const double *qdd, double *by_q, double *by_qd)
{
    double both[2 * n * n];
    KD(inverse_dynamics_derivatives, q, qd, qdd, both);
    for (int i = 0; i < n; i++)
        both[n * n + i * n + i] += kd_friction_slope(qd, i);
    kd_turned(n, both, by_q);
    if (by_qd)
        kd_turned(n, both + n * n, by_qd);
}

static const double kd_rest[n] = {0.0};

/* The functions: kd_value_F fills the value, kd_jacobian_F a table for each input; not 0 where M is singular. */

static int kd_value_inverse_dynamics(const double *const *in, double *tau)
{
    KD(inverse_dynamics, in[0], in[1], in[2], tau);
    for (int i = 0; i < n; i++)
        tau[i] += kd_friction(in[1], i);
    return 0;
}

static int kd_jacobian_inverse_dynamics(const double *const *in, double *const *table)
{
    double M[n * n];
    kd_effort_slopes(in[0], in[1], in[2], table[0], table[1]);
    KD(mass_matrix, in[0], M);
    kd_turned(n, M, table[2]);
    return 0;
}

/* The efforts less friction, which move the rigid bodies. */
static inline void kd_rigid(const double *qd, const double *tau, double *rigid)
{
    for (int i = 0; i < n; i++)
        rigid[i] = tau[i] - kd_friction(qd, i);
}

static int kd_value_forward_dynamics(const double *const *in, double *qdd)
{
    double rigid[n];
    kd_rigid(in[1], in[2], rigid);
    return KD(forward_dynamics, in[0], in[1], rigid, qdd);
}

static int kd_jacobian_forward_dynamics(const double *const *in, double *const *table)
{
    double rigid[n], all[3 * n * n];
    kd_rigid(in[1], in[2], rigid);
    const int joint = KD(forward_dynamics_derivatives, in[0], in[1], rigid, all);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            all[n * n + i * n + j] -= all[2 * n * n + i * n + j] * kd_friction_slope(in[1], j);
    for (int k = 0; k < 3; k++)
        kd_turned(n, all + k * n * n, table[k]);
    return joint;
}

static int kd_value_bias(const double *const *in, double *V)
{
    KD(bias, in[0], in[1], V);
    for (int i = 0; i < n; i++)
        V[i] += kd_friction(in[1], i);
    return 0;
}

static int kd_jacobian_bias(const double *const *in, double *const *table)
{
    kd_effort_slopes(in[0], in[1], kd_rest, table[0], table[1]);
    return 0;
}

static int kd_value_gravity(const double *const *in, double *g)
{
    KD(gravity, in[0], g);
    return 0;
}

static int kd_jacobian_gravity(const double *const *in, double *const *table)
{
    kd_effort_slopes(in[0], kd_rest, kd_rest, table[0], 0);
    return 0;
}

static int kd_value_tip_position(const double *const *in, double *p)
{
    double pose[16];
    NAME_tip_pose(kd_prepared, in[0], pose);
    for (int i = 0; i < 3; i++)
        p[i] = pose[4 * i + 3];
    return 0;
}

static int kd_jacobian_tip_position(const double *const *in, double *const *table)
{
    double J[6 * n];
    NAME_tip_jacobian(kd_prepared, in[0], J);
    kd_turned(3, J + 3 * n, table[0]);
    return 0;
}

/* CasADi's external interface around each. A shape is {rows, columns, 1} where it is dense; the value, which jac_F is
   given, too, has no entries there. */

static const casadi_int kd_vector[] = {n, 1, 1}, kd_square[] = {n, n, 1}, kd_no_vector[] = {n, 1, 0, 0};
static const casadi_int kd_point[] = {3, 1, 1}, kd_point_slopes[] = {3, n, 1}, kd_no_point[] = {3, 1, 0, 0};

#define KD_UNPACK(...) __VA_ARGS__

#define KD_DESCRIBED(F, ins, outs, doubles, names_in, shapes_in, names_out, shapes_out)                            \
    casadi_int F##_n_in(void) { return ins; }                                                                      \
    casadi_int F##_n_out(void) { return outs; }                                                                    \
    const char *F##_name_in(casadi_int i)                                                                          \
    {                                                                                                              \
        static const char *const names[] = {KD_UNPACK names_in};                                                   \
        return names[i];                                                                                           \
    }                                                                                                              \
    const char *F##_name_out(casadi_int i)                                                                         \
    {                                                                                                              \
        static const char *const names[] = {KD_UNPACK names_out};                                                  \
        return names[i];                                                                                           \
    }                                                                                                              \
    const casadi_int *F##_sparsity_in(casadi_int i)                                                                \
    {                                                                                                              \
        static const casadi_int *const shapes[] = {KD_UNPACK shapes_in};                                           \
        return i < (ins) ? shapes[i] : 0;                                                                          \
    }                                                                                                              \
    const casadi_int *F##_sparsity_out(casadi_int i)                                                               \
    {                                                                                                              \
        static const casadi_int *const shapes[] = {KD_UNPACK shapes_out};                                          \
        return i < (outs) ? shapes[i] : 0;                                                                         \
    }                                                                                                              \
    int F##_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)                      \
    {                                                                                                              \
        *sz_arg = ins, *sz_res = outs, *sz_iw = 0, *sz_w = doubles;                                                \
        return 0;                                                                                                  \
    }

#define KD_EXTERNAL(f, count, rows, names, shapes, value_name, value, no_value, slope_names, slope_shapes)         \
    int NAME_casadi_##f(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)       \
    {                                                                                                              \
        const double *in[count];                                                                                   \
        (void)iw, (void)mem;                                                                                       \
        kd_inputs(count, arg, in, w);                                                                              \
        return res[0] ? kd_value_##f(in, res[0]) : 0;                                                              \
    }                                                                                                              \
    int jac_NAME_casadi_##f(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)   \
    {                                                                                                              \
        const double *in[count];                                                                                   \
        double *table[count], *spare = kd_inputs(count, arg, in, w);                                               \
        (void)iw, (void)mem;                                                                                       \
        for (int k = 0; k < count; k++)                                                                            \
            table[k] = res[k] ? res[k] : spare + k * rows * n;                                                     \
        return kd_jacobian_##f(in, table);                                                                         \
    }                                                                                                              \
    KD_DESCRIBED(NAME_casadi_##f, count, 1, count * n, names, shapes, (value_name), (value))                       \
    KD_DESCRIBED(jac_NAME_casadi_##f, count + 1, count, count * (n + rows * n),                                    \
                 (KD_UNPACK names, "out_" value_name), (KD_UNPACK shapes, no_value), slope_names, slope_shapes)

KD_EXTERNAL(inverse_dynamics, 3, n, ("q", "qd", "qdd"), (kd_vector, kd_vector, kd_vector), "tau", kd_vector, kd_no_vector,
            ("jac_tau_q", "jac_tau_qd", "jac_tau_qdd"), (kd_square, kd_square, kd_square))
KD_EXTERNAL(forward_dynamics, 3, n, ("q", "qd", "tau"), (kd_vector, kd_vector, kd_vector), "qdd", kd_vector, kd_no_vector,
            ("jac_qdd_q", "jac_qdd_qd", "jac_qdd_tau"), (kd_square, kd_square, kd_square))
KD_EXTERNAL(bias, 2, n, ("q", "qd"), (kd_vector, kd_vector), "V", kd_vector, kd_no_vector,
            ("jac_V_q", "jac_V_qd"), (kd_square, kd_square))
KD_EXTERNAL(gravity, 1, n, ("q"), (kd_vector), "g", kd_vector, kd_no_vector, ("jac_g_q"), (kd_square))
KD_EXTERNAL(tip_position, 1, 3, ("q"), (kd_vector), "p", kd_point, kd_no_point, ("jac_p_q"), (kd_point_slopes))
