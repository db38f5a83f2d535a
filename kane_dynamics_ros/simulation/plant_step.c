/* One time step of the simulated arm in plain C99: the method of plant_step.py, in which every formula is
   explained; a test holds the two together. No allocation, no globals: any number of threads may call.
   M, V, q'': a generated module's mass_matrix, bias and forward_dynamics, with what its prepare function made.
   -DKD_JOINTS=5 states the number of joints: loops of a known length take four fifths of the time. */

#include <math.h>
#include <string.h>

typedef void (*mass_matrix_function)(const double *prepared, const double *q, double *M);
typedef void (*bias_function)(const double *prepared, const double *q, const double *qd, double *V);
typedef int (*forward_dynamics_function)(
    const double *prepared, const double *q, const double *qd, const double *tau, double *qdd);

typedef struct {
    mass_matrix_function mass_matrix;
    bias_function bias;
    forward_dynamics_function forward_dynamics;
    const double *prepared;
    double h;           /* [s] */
    double restitution; /* 0 to 1 */
    double locked;      /* a brake at least this strong locks the joint */
    double most_turn;   /* [rad or m] a joint's way in one part of a step */
    double most_parts;
    const double *viscous, *coulomb, *brake, *lower, *upper, *shift;                      /* n each */
    const double *stribeck, *stribeck_velocity, *load, *viscous_asymmetry, *square_root; /* n each */
    const double *coupling, *to_joints, *missing; /* n x n: C, C^-1, what M lacks of C^T J C; or all null */
    double *q, *qd;                                                                      /* n each: the state */
} kd_plant;

enum { n = KD_JOINTS, LOAD_ROUNDS = 4 };
enum { KD_MOVED = 0, KD_SINGULAR = 1, KD_DIVERGED = 2 };

static int is_finite_all(const double *x, long count)
{
    double sum = 0.0;
    for (long i = 0; i < count; i++)
        sum += x[i] * 0.0;
    return sum == 0.0;
}

/* fmin and fmax without a call, where b is a number. */
static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* x from A x = b over the joints that are not fixed, by A = L D L^T; x of the others is left alone.
   Returns 0 when A (n, n) is not positive definite there. */
static int solve_free(const double *A, const double *b, const char *fixed, double *x)
{
    double L[n * n], inverse[n], solved[n], scaled[n];
    long at[n], free = 0;
    for (long i = 0; i < n; i++)
        if (!fixed[i])
            at[free++] = i;
    for (long i = 0; i < free; i++) {
        const double *row = A + at[i] * n;
        double pivot = row[at[i]], sum = b[at[i]];
        for (long j = 0; j < i; j++) {
            double entry = row[at[j]];
            for (long k = 0; k < j; k++)
                entry -= scaled[k] * L[j * n + k];
            scaled[j] = entry; /* L D */
            L[i * n + j] = entry * inverse[j];
            pivot -= entry * L[i * n + j];
            sum -= L[i * n + j] * solved[j];
        }
        if (!(pivot > 0.0))
            return 0;
        inverse[i] = 1.0 / pivot;
        solved[i] = sum;
    }
    for (long i = free - 1; i >= 0; i--) {
        double sum = solved[i] * inverse[i];
        for (long j = i + 1; j < free; j++)
            sum -= L[j * n + i] * x[at[j]];
        x[at[i]] = sum;
    }
    return 1;
}

/* theta(z) = 1/(1 - exp(-z)) - 1/z */
static double implicit_weight(double hD, double M)
{
    if (!(M > 0.0))
        return 1.0;
    const double z = hD / M;
    return z < 1e-3 ? 0.5 + z / 12.0 : 1.0 / -expm1(-z) - 1.0 / z;
}

/* Where joint i would go if the others kept their velocities: friction.py, _partition. */
typedef struct {
    double target;
    signed char slide;
    char fixed;
} partition;

static partition classify(double pull, double a, double F, double lower, double upper)
{
    const double slack = fabs(pull) - F;
    const double alone = slack > 0.0 ? copysign(slack / a, pull) : 0.0;
    const double target = smaller(larger(alone, lower), upper);
    partition p;
    p.fixed = target != alone || (slack <= 0.0 && F > 0.0);
    p.target = p.fixed ? target : 0.0;
    p.slide = (signed char)(p.fixed || F == 0.0 ? 0 : (pull > 0.0) - (pull < 0.0));
    return p;
}

/* The velocities v that minimise v'Av/2 - b'v + sum F|v| within the bounds; v holds the first guess. */
static int solve_velocity(
    const double *A, const double *b, const double *F, const double *lower, const double *upper, double *v)
{
    partition before[n];
    double load[n];
    char fixed[n];
    for (long round = 0; round < 3 * n + 6; round++) {
        int same = round > 0;
        for (long i = 0; i < n; i++) {
            double pull = b[i] + A[i * n + i] * v[i];
            for (long k = 0; k < n; k++)
                pull -= A[i * n + k] * v[k];
            const partition now = classify(pull, A[i * n + i], F[i], lower[i], upper[i]);
            same = same && now.fixed == before[i].fixed && now.target == before[i].target
                && now.slide == before[i].slide;
            before[i] = now;
        }
        if (same)
            return 1;
        for (long i = 0; i < n; i++) {
            fixed[i] = before[i].fixed;
            v[i] = before[i].target;
        }
        for (long i = 0; i < n; i++) {
            load[i] = before[i].fixed ? 0.0 : b[i] - before[i].slide * F[i];
            for (long k = 0; k < n; k++)
                if (fixed[k])
                    load[i] -= A[i * n + k] * v[k];
        }
        if (!solve_free(A, load, fixed, v))
            return 0;
    }
    for (long i = 0; i < n; i++)
        v[i] = smaller(larger(v[i], lower[i]), upper[i]);
    for (int sweep = 0; sweep < 2000; sweep++) {
        int changed = 0;
        for (long i = 0; i < n; i++) {
            double pull = b[i] + A[i * n + i] * v[i];
            for (long k = 0; k < n; k++)
                pull -= A[i * n + k] * v[k];
            const double slack = fabs(pull) - F[i];
            const double alone = slack > 0.0 ? copysign(slack / A[i * n + i], pull) : 0.0;
            const double next = smaller(larger(alone, lower[i]), upper[i]);
            changed = changed || next != v[i];
            v[i] = next;
        }
        if (!changed)
            break;
    }
    return 1;
}

/* The same of coupled drives, where the bounds are those of the joints K v: stiff springs draw those that
   leave their bounds back to them. A and b are changed. */
static int solve_coupled(
    double *A, double *b, const double *F, const double *lower, const double *upper, const double *K, double *v)
{
    double least[n], most[n], stiff[n];
    char held[n];
    for (long i = 0; i < n; i++) {
        least[i] = -INFINITY;
        most[i] = INFINITY;
        held[i] = 0;
        stiff[i] = 1e8 * A[i * n + i];
    }
    for (;;) {
        if (!solve_velocity(A, b, F, least, most, v))
            return 0;
        int outside = 0;
        for (long j = 0; j < n; j++) {
            const double *row = K + j * n;
            double speed = 0.0;
            for (long k = 0; k < n; k++)
                speed += row[k] * v[k];
            const double bound = smaller(larger(speed, lower[j]), upper[j]);
            if (bound == speed || held[j])
                continue;
            outside = held[j] = 1;
            double spring = 0.0; /* of the drives that turn with the joint */
            for (long k = 0; k < n; k++)
                if (row[k] != 0.0)
                    spring = larger(spring, stiff[k]);
            for (long i = 0; i < n; i++) {
                b[i] += spring * bound * row[i];
                for (long k = 0; k < n; k++)
                    A[i * n + k] += spring * row[i] * row[k];
            }
        }
        if (!outside)
            return 1;
    }
}

/* The mass matrix with all that rotors of coupled drives add. */
static void whole_mass_matrix(const kd_plant *p, const double *q, double *M)
{
    p->mass_matrix(p->prepared, q, M);
    for (long i = 0; p->missing && i < n * n; i++)
        M[i] += p->missing[i];
}

/* out = T^T x, or T x. */
static void times(const double *T, int transposed, const double *x, double *out)
{
    for (long i = 0; i < n; i++) {
        out[i] = 0.0;
        for (long k = 0; k < n; k++)
            out[i] += T[transposed ? k * n + i : i * n + k] * x[k];
    }
}

/* a from M(q) a = effort - V(q, v), 0 at locked joints. */
static int acceleration(
    const kd_plant *p, const double *q, const double *v, const double *effort, const char *locked, double *a)
{
    double M[n * n], load[n];
    if (!p->missing && !memchr(locked, 1, n) && p->forward_dynamics(p->prepared, q, v, effort, a) == 0)
        return 1; /* in half of the time */
    whole_mass_matrix(p, q, M);
    p->bias(p->prepared, q, v, load);
    for (long i = 0; i < n; i++) {
        load[i] = effort[i] - load[i];
        a[i] = 0.0;
    }
    return solve_free(M, load, locked, a);
}

/* What dry friction and the brake can hold at joint i, or its drive, at a speed under a load. */
static double dry_friction(const kd_plant *p, long i, double v, double load)
{
    const double s = v / p->stribeck_velocity[i], stribeck = p->stribeck[i];
    const double sliding = p->coulomb[i] + (stribeck != 0.0 ? stribeck * exp(-s * s) : 0.0) + p->load[i] * fabs(load)
        + p->square_root[i] * sqrt(fabs(v));
    return larger(sliding, 0.0) + (p->coupling ? 0.0 : p->brake[i]);
}

/* Velocities at the end of the step under friction, brakes and stops. Returns 1 when something resists,
   0 when nothing does (v_end is then not set), -1 when the problem is singular. */
static int velocity_after(
    const kd_plant *p, const double *joints_M, const double *joints_V, const double *joints_effort, double *v_end)
{
    const double h = p->h, *K = p->to_joints;
    double M[n * n], V[n], effort[n], w[n]; /* of the drives where they are coupled, else of the joints */
    double A[n * n], b[n], F[n], lower[n], upper[n], damping[n];
    int resists = 0, by_load = 0;
    memcpy(M, joints_M, sizeof M);
    memcpy(V, joints_V, sizeof V);
    memcpy(effort, joints_effort, sizeof effort);
    memcpy(w, p->qd, sizeof w);
    if (K) {
        for (long i = 0; i < n; i++) /* (K^T M)^T, row by row; then K^T of it */
            times(K, 1, joints_M + i * n, A + i * n);
        for (long i = 0; i < n; i++) {
            for (long j = 0; j < n; j++) {
                M[i * n + j] = 0.0;
                for (long k = 0; k < n; k++)
                    M[i * n + j] += K[k * n + i] * A[k * n + j];
            }
        }
        times(K, 1, joints_V, V);
        times(K, 1, joints_effort, effort);
        times(p->coupling, 0, p->qd, w);
    }
    for (long i = 0; i < n; i++) {
        const double v = p->qd[i], ahead = p->q[i] + h * v;
        damping[i] = p->viscous[i] + p->viscous_asymmetry[i] * ((w[i] > 0.0) - (w[i] < 0.0));
        F[i] = h * dry_friction(p, i, w[i], V[i]);
        by_load = by_load || p->load[i] != 0.0;
        resists = resists || by_load || p->shift[i] != 0.0;
        upper[i] = larger(p->q[i], ahead) >= p->upper[i] ? smaller(-p->restitution * v, 0.0) : INFINITY;
        lower[i] = smaller(p->q[i], ahead) <= p->lower[i] ? larger(-p->restitution * v, 0.0) : -INFINITY;
        if (K && p->brake[i] > 0.0)
            upper[i] = lower[i] = 0.0;
        resists = resists || F[i] > 0.0 || damping[i] > 0.0 || isfinite(upper[i]) || isfinite(lower[i]);
    }
    if (!resists)
        return 0;
    memcpy(A, M, sizeof A);
    for (long i = 0; i < n; i++) {
        const double D = damping[i], theta = implicit_weight(h * D, M[i * n + i]);
        b[i] = h * (effort[i] - V[i] - p->shift[i] - (1.0 - theta) * D * w[i]);
        for (long k = 0; k < n; k++)
            b[i] += M[i * n + k] * w[k];
        A[i * n + i] += h * theta * D + (M[i * n + i] == 0.0);
        v_end[i] = w[i];
    }
    double A_drawn[n * n], b_drawn[n], speeds[n];
    for (int round = 0; round <= (by_load ? LOAD_ROUNDS : 0); round++) {
        for (long i = 0; round && i < n; i++) {
            double load = V[i];
            for (long k = 0; k < n; k++)
                load += M[i * n + k] * (v_end[k] - w[k]) / h;
            F[i] = h * dry_friction(p, i, w[i], load);
        }
        memcpy(A_drawn, A, sizeof A);
        memcpy(b_drawn, b, sizeof b);
        if (!(K ? solve_coupled(A_drawn, b_drawn, F, lower, upper, K, v_end)
                : solve_velocity(A, b, F, lower, upper, v_end)))
            return -1;
    }
    if (K) {
        times(K, 0, v_end, speeds);
        for (long i = 0; i < n; i++)
            v_end[i] = smaller(larger(speeds[i], lower[i]), upper[i]);
    }
    return 1;
}

static int runge_kutta(
    const kd_plant *p, const double *a1, const double *effort, const char *locked, double *q_new, double *v_new)
{
    const double h = p->h, *q = p->q, *v = p->qd;
    double a2[n], a3[n], a4[n], qs[n], vs[n];
    for (long i = 0; i < n; i++) {
        qs[i] = q[i] + h / 2 * v[i];
        vs[i] = v[i] + h / 2 * a1[i];
    }
    if (!acceleration(p, qs, vs, effort, locked, a2))
        return 0;
    for (long i = 0; i < n; i++) {
        qs[i] = q[i] + h / 2 * v[i] + h * h / 4 * a1[i];
        vs[i] = v[i] + h / 2 * a2[i];
    }
    if (!acceleration(p, qs, vs, effort, locked, a3))
        return 0;
    for (long i = 0; i < n; i++) {
        qs[i] = q[i] + h * v[i] + h * h / 2 * a2[i];
        vs[i] = v[i] + h * a3[i];
    }
    if (!acceleration(p, qs, vs, effort, locked, a4))
        return 0;
    for (long i = 0; i < n; i++) {
        q_new[i] = q[i] + h * v[i] + h * h / 6 * (a1[i] + a2[i] + a3[i]);
        v_new[i] = v[i] + h / 6 * (a1[i] + 2 * a2[i] + 2 * a3[i] + a4[i]);
    }
    return 1;
}

/* Joints that friction or a stop brought to rest are at rest, and on the stop, not in it. */
static void settle(const kd_plant *p, const double *v_end, const char *locked, double *q_new, double *v_new)
{
    for (long i = 0; i < n; i++) {
        if (v_end[i] == 0.0) {
            v_new[i] = 0.0;
            if (p->qd[i] == 0.0 || locked[i])
                q_new[i] = p->q[i];
        }
        q_new[i] = smaller(larger(q_new[i], smaller(p->lower[i], p->q[i])), larger(p->upper[i], p->q[i]));
    }
}

static int step_once(const kd_plant *p, const double *effort)
{
    double M[n * n], V[n], load[n], a1[n], v_end[n], tau_bar[n], q_new[n], v_new[n];
    char locked[n];
    whole_mass_matrix(p, p->q, M);
    p->bias(p->prepared, p->q, p->qd, V);
    for (long i = 0; i < n; i++) {
        load[i] = effort[i] - V[i];
        locked[i] = p->brake[i] >= p->locked;
    }
    const int resisted = velocity_after(p, M, V, effort, v_end);
    memset(a1, 0, sizeof a1);
    if (resisted < 0 || (resisted == 0 && !solve_free(M, load, locked, a1)))
        return is_finite_all(M, n * n) && is_finite_all(load, n) ? KD_SINGULAR : KD_DIVERGED;
    memcpy(tau_bar, effort, sizeof tau_bar);
    if (resisted > 0) {
        for (long i = 0; i < n; i++)
            a1[i] = (v_end[i] - p->qd[i]) / p->h;
        for (long i = 0; i < n; i++) {
            tau_bar[i] = V[i];
            for (long k = 0; k < n; k++)
                tau_bar[i] += M[i * n + k] * a1[k];
        }
    }
    if (!runge_kutta(p, a1, tau_bar, locked, q_new, v_new))
        return KD_DIVERGED;
    if (resisted > 0)
        settle(p, v_end, locked, q_new, v_new);
    if (!is_finite_all(q_new, n) || !is_finite_all(v_new, n))
        return KD_DIVERGED;
    memcpy(p->q, q_new, sizeof q_new);
    memcpy(p->qd, v_new, sizeof v_new);
    return KD_MOVED;
}

/* One step of length h, in parts where a joint is fast. Returns 0, or why the state stays what it was. */
int kd_plant_step(const kd_plant *p, const double *effort)
{
    const size_t bytes = (size_t)n * sizeof(double);
    double q[n], qd[n], fastest = 0.0;
    for (long i = 0; i < n; i++)
        fastest = larger(fabs(p->qd[i]), fastest);
    const int parts = 1 + (int)smaller(p->h * fastest / p->most_turn, p->most_parts - 1);
    kd_plant part = *p;
    part.h = p->h / parts;
    memcpy(q, p->q, bytes);
    memcpy(qd, p->qd, bytes);
    for (int k = 0; k < parts; k++) {
        const int outcome = step_once(&part, effort);
        if (outcome != KD_MOVED) {
            memcpy(p->q, q, bytes);
            memcpy(p->qd, qd, bytes);
            return outcome;
        }
    }
    return KD_MOVED;
}
