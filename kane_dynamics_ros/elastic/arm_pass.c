/* arm.py's pass from root to tip in C99: M (size x size) and h (size) of Kane's equations of an arm with
 * elastic links, without the stiffness of axial loads. Names and formulas are those of arm.py, floating.py
 * and rotations.py. Frames: everything is expressed in the frame that the pass has reached. Matrices are
 * in row order. No allocation, no globals: one work array per thread.
 */
#include <math.h>
#include <string.h>

typedef struct {
    long coordinate, parent, prismatic, beam, rigid; /* parent, beam: a number, or -1; rigid: spatial is not 0 */
    double multiplier, offset;
    double turning[27], p_PJ[3], axis[3], spatial[36];
} kd_body;

typedef struct {
    const double *D, *E, *m_O, *m; /* (3, 3, n, n), (3, 3, n), (3, n), (n, n) */
    long n, place, has_rest;
    double R_LB[9], p_LoBo_L[3], mass, length, S[3], R2[9], rest[36];
} kd_beam;

typedef struct {
    long size, joints, bodies;
    const kd_body *body;
    const kd_beam *beam;
    const double *rotor;
    double *work; /* 18 size for the frame's partials, then 33 of the longest beam's n */
    double *ends; /* (6, size) of each body: the partials of the frame that the pass leaves it with */
    double *motions; /* 9 of each body: that frame's omega, alpha and a */
} kd_arm;

typedef struct {
    double *P, *spare; /* (6, size) */
    double omega[3], alpha[3], a[3];
} kd_frame;

static void cross(const double *u, const double *v, double *out)
{
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

static void back(const double *R, const double *v, double *out) /* R^T v */
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}

static void times(const double *A, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = A[3 * i] * v[0] + A[3 * i + 1] * v[1] + A[3 * i + 2] * v[2];
}

/* Go on to a frame fixed in this one, at r with orientation R. */
static void move(kd_frame *f, long size, const double *R, const double *r)
{
    double once[3], twice[3], turned[3], sum[3];
    const double *W = f->P, *V = f->P + 3 * size;
    double *Q = f->spare;
    for (long j = 0; j < size; j++) {
        const double w0 = W[j], w1 = W[size + j], w2 = W[2 * size + j];
        const double v0 = V[j] + w1 * r[2] - w2 * r[1];
        const double v1 = V[size + j] + w2 * r[0] - w0 * r[2];
        const double v2 = V[2 * size + j] + w0 * r[1] - w1 * r[0];
        for (int i = 0; i < 3; i++) {
            Q[i * size + j] = R[i] * w0 + R[3 + i] * w1 + R[6 + i] * w2;
            Q[(3 + i) * size + j] = R[i] * v0 + R[3 + i] * v1 + R[6 + i] * v2;
        }
    }
    f->spare = f->P;
    f->P = Q;
    cross(f->omega, r, once);
    cross(f->omega, once, twice);
    cross(f->alpha, r, turned);
    for (int i = 0; i < 3; i++)
        sum[i] = f->a[i] + turned[i] + twice[i];
    back(R, sum, f->a);
    memcpy(sum, f->alpha, sizeof sum);
    back(R, sum, f->alpha);
    memcpy(sum, f->omega, sizeof sum);
    back(R, sum, f->omega);
}

/* Sum P^T spatial P into M and P^T force into h. */
static void add(const double *P, long size, const double *spatial, const double *force, double *T, double *M,
                double *h)
{
    for (int i = 0; i < 6; i++)
        for (long j = 0; j < size; j++) {
            double sum = 0.0;
            for (int k = 0; k < 6; k++)
                sum += spatial[6 * i + k] * P[k * size + j];
            T[i * size + j] = sum;
        }
    for (int k = 0; k < 6; k++)
        for (long i = 0; i < size; i++) {
            const double p = P[k * size + i];
            if (p == 0.0)
                continue;
            h[i] += p * force[k];
            for (long j = 0; j < size; j++)
                M[i * size + j] += p * T[k * size + j];
        }
}

/* floating.rigid_bias: inertia force and moment of a rigid body, added to ``force``. */
static void rigid_bias(const kd_frame *f, const double *spatial, double *force)
{
    const double *omega = f->omega;
    double part[3];
    for (int row = 0; row < 2; row++) {
        double velocity[3];
        for (int i = 0; i < 3; i++) {
            const double *line = spatial + 6 * (3 * row + i);
            velocity[i] = line[0] * omega[0] + line[1] * omega[1] + line[2] * omega[2];
            force[3 * row + i] += line[0] * f->alpha[0] + line[1] * f->alpha[1] + line[2] * f->alpha[2]
                                  + line[3] * f->a[0] + line[4] * f->a[1] + line[5] * f->a[2];
        }
        cross(omega, velocity, part);
        for (int i = 0; i < 3; i++)
            force[3 * row + i] += part[i];
    }
}

static void pass_joint(kd_frame *f, const kd_body *body, long size, const double *x, const double *u)
{
    const long column = body->coordinate;
    const double position = body->multiplier * x[column] + body->offset;
    const double speed = body->multiplier * u[column];
    const double s = body->prismatic ? 0.0 : sin(position), c = body->prismatic ? 0.0 : 1.0 - cos(position);
    double R[9], r[3], motion[3], turned[3];
    for (int i = 0; i < 9; i++)
        R[i] = body->turning[i] + s * body->turning[9 + i] + c * body->turning[18 + i];
    times(R, body->axis, r);
    for (int i = 0; i < 3; i++)
        r[i] = body->p_PJ[i] + (body->prismatic ? position * r[i] : 0.0);
    move(f, size, R, r);
    for (int i = 0; i < 3; i++)
        motion[i] = speed * body->axis[i];
    cross(f->omega, motion, turned);
    for (int i = 0; i < 3; i++) {
        if (body->prismatic) {
            f->a[i] += 2.0 * turned[i];
            f->P[(3 + i) * size + column] += body->multiplier * body->axis[i];
        } else {
            f->alpha[i] += turned[i];
            f->omega[i] += motion[i];
            f->P[i * size + column] += body->multiplier * body->axis[i];
        }
    }
}

/* floating.floating_inertia: everything of one beam, summed into M and h. */
static void add_beam(const kd_frame *f, const kd_beam *b, long size, const double *x, const double *u, double *T,
                     double *room, double *M, double *h)
{
    const long n = b->n, place = b->place;
    const double *delta = x + place, *rate = u + place, *w = f->omega;
    double *rho = room, *D_rate = room + 9 * n, *coupling = room + 18 * n; /* (3, 3, n) twice, (6, n) */
    double R2[9], Tm[9], W[9], spatial[36], force[6] = {0}, S[3], Sv[3], J[9], part[3], again[3];
    const double K[9] = {0.0, -w[2], w[1], w[2], 0.0, -w[0], -w[1], w[0], 0.0};
    const double A[9] = {0.0, -f->alpha[2], f->alpha[1], f->alpha[2], 0.0, -f->alpha[0], -f->alpha[1], f->alpha[0], 0.0};
    for (long i = 0; i < 9 * n; i++) {
        const double *row = b->D + i * n;
        double by_delta = 0.0, by_rate = 0.0;
        for (long j = 0; j < n; j++) {
            by_delta += row[j] * delta[j];
            by_rate += row[j] * rate[j];
        }
        rho[i] = b->E[i] + by_delta;
        D_rate[i] = by_rate;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double r2 = b->R2[3 * i + j], t = 0.0, ww = 0.0;
            const double *E_ij = b->E + (3 * i + j) * n, *rho_ji = rho + (3 * j + i) * n;
            for (long k = 0; k < n; k++) {
                r2 += E_ij[k] * delta[k] + rho_ji[k] * delta[k];
                t += rho_ji[k] * rate[k];
            }
            for (int k = 0; k < 3; k++)
                ww += K[3 * i + k] * K[3 * k + j];
            R2[3 * i + j] = r2;
            Tm[3 * i + j] = t;
            W[3 * i + j] = A[3 * i + j] + ww;
        }
    for (int i = 0; i < 3; i++) {
        S[i] = b->S[i];
        Sv[i] = 0.0;
        for (long k = 0; k < n; k++) {
            S[i] += b->m_O[i * n + k] * delta[k];
            Sv[i] += b->m_O[i * n + k] * rate[k];
        }
    }
    const double trace = R2[0] + R2[4] + R2[8], t_trace = Tm[0] + Tm[4] + Tm[8];
    for (int i = 0; i < 9; i++)
        J[i] = (i % 4 ? 0.0 : trace) - R2[i];
    const double SS[9] = {0.0, -S[2], S[1], S[2], 0.0, -S[0], -S[1], S[0], 0.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            spatial[6 * i + j] = J[3 * i + j];
            spatial[6 * i + 3 + j] = SS[3 * i + j];
            spatial[6 * (3 + i) + j] = -SS[3 * i + j];
            spatial[6 * (3 + i) + 3 + j] = i == j ? b->mass : 0.0;
        }
    times(J, w, part);
    cross(w, part, again);
    cross(w, Sv, part);
    for (int i = 0; i < 3; i++) {
        const double *line = spatial + 6 * i;
        const double spin = w[0] * Tm[i] + w[1] * Tm[3 + i] + w[2] * Tm[6 + i];
        force[i] = line[0] * f->alpha[0] + line[1] * f->alpha[1] + line[2] * f->alpha[2] + line[3] * f->a[0]
                   + line[4] * f->a[1] + line[5] * f->a[2] + again[i] + 2.0 * (t_trace * w[i] - spin);
        force[3 + i] = b->mass * f->a[i] + W[3 * i] * S[0] + W[3 * i + 1] * S[1] + W[3 * i + 2] * S[2] + 2.0 * part[i];
    }
    if (b->has_rest) {
        rigid_bias(f, b->rest, force);
        for (int i = 0; i < 36; i++)
            spatial[i] += b->rest[i];
    }
    add(f->P, size, spatial, force, T, M, h);
    for (long k = 0; k < n; k++) {
        double sum = 0.0;
        for (int i = 0; i < 3; i++)
            sum += f->a[i] * b->m_O[i * n + k];
        for (int i = 0; i < 9; i++)
            sum += W[i] * rho[i * n + k] + 2.0 * K[i] * D_rate[i * n + k];
        h[place + k] += sum;
        coupling[k] = rho[7 * n + k] - rho[5 * n + k];
        coupling[n + k] = rho[2 * n + k] - rho[6 * n + k];
        coupling[2 * n + k] = rho[3 * n + k] - rho[n + k];
        for (int i = 0; i < 3; i++)
            coupling[(3 + i) * n + k] = b->m_O[i * n + k];
    }
    for (long j = 0; j < size; j++)
        for (int k = 0; k < 6; k++) {
            const double p = f->P[k * size + j];
            if (p == 0.0)
                continue;
            for (long i = 0; i < n; i++) {
                M[j * size + place + i] += p * coupling[k * n + i];
                M[(place + i) * size + j] += p * coupling[k * n + i];
            }
        }
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            M[(place + i) * size + place + j] += b->m[i * n + j];
}

/* Go on to the tip frame T; rotations.turn for the section. */
static void pass_tip(kd_frame *f, const kd_beam *b, long size, const double *x, const double *u)
{
    const long first = b->place + b->n - 6;
    const double *node = x + first, *rate = u + first, *t = node + 3, *t_rate = rate + 3;
    const double c = 4.0 / (4.0 + t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
    const double c_rate = -0.5 * c * c * (t[0] * t_rate[0] + t[1] * t_rate[1] + t[2] * t_rate[2]);
    const double K[9] = {0.0, -t[2], t[1], t[2], 0.0, -t[0], -t[1], t[0], 0.0};
    double section[9], J[9], R[9], r[3], omega[3], alpha[3], a[3], part[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double KK = 0.0;
            for (int k = 0; k < 3; k++)
                KK += K[3 * i + k] * K[3 * k + j];
            section[3 * i + j] = (i == j) + c * (K[3 * i + j] + 0.5 * KK);
            J[3 * i + j] = c * ((i == j) + 0.5 * K[3 * i + j]);
        }
    times(J, t_rate, omega);
    cross(f->omega, omega, alpha);
    cross(f->omega, rate, a);
    for (int i = 0; i < 3; i++) {
        alpha[i] += c_rate / c * omega[i];
        a[i] *= 2.0;
        r[i] = node[i] + (i == 0 ? b->length : 0.0);
        for (int j = 0; j < 3; j++) {
            R[3 * i + j] = 0.0;
            for (int k = 0; k < 3; k++)
                R[3 * i + j] += section[3 * i + k] * b->R_LB[3 * j + k];
        }
    }
    move(f, size, R, r);
    back(R, omega, part);
    for (int i = 0; i < 3; i++)
        f->omega[i] += part[i];
    back(R, alpha, part);
    for (int i = 0; i < 3; i++)
        f->alpha[i] += part[i];
    back(R, a, part);
    for (int i = 0; i < 3; i++) {
        f->a[i] += part[i];
        for (int j = 0; j < 3; j++) {
            double RJ = 0.0;
            for (int k = 0; k < 3; k++)
                RJ += R[3 * k + i] * J[3 * k + j];
            f->P[i * size + first + 3 + j] = RJ;
            f->P[(3 + i) * size + first + j] = R[3 * j + i];
        }
    }
}

/* Go on from the frame of a body that was passed before, or from the root's (-1). */
static void go_back(kd_frame *f, const kd_arm *arm, long body, const double *gravity)
{
    const size_t bytes = (size_t)(6 * arm->size) * sizeof *f->P;
    if (body < 0) {
        memset(f->P, 0, bytes);
        for (int i = 0; i < 3; i++) {
            f->omega[i] = f->alpha[i] = 0.0;
            f->a[i] = -gravity[i];
        }
        return;
    }
    memcpy(f->P, arm->ends + 6 * arm->size * body, bytes);
    memcpy(f->omega, arm->motions + 9 * body, sizeof f->omega);
    memcpy(f->alpha, arm->motions + 9 * body + 3, sizeof f->alpha);
    memcpy(f->a, arm->motions + 9 * body + 6, sizeof f->a);
}

/* M and h at x, u under the free-fall acceleration ``gravity`` in the root frame. */
void kd_arm_equations(const kd_arm *arm, const double *x, const double *u, const double *gravity, double *M, double *h)
{
    const long size = arm->size;
    double *T = arm->work + 12 * size, *room = arm->work + 18 * size;
    kd_frame f = {arm->work, arm->work + 6 * size, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {-gravity[0], -gravity[1], -gravity[2]}};
    memset(f.P, 0, (size_t)(6 * size) * sizeof *f.P);
    memset(M, 0, (size_t)(size * size) * sizeof *M);
    memset(h, 0, (size_t)size * sizeof *h);
    for (long i = 0; i < arm->bodies; i++) {
        const kd_body *body = arm->body + i;
        if (body->parent != i - 1) /* else the frame is there already */
            go_back(&f, arm, body->parent, gravity);
        pass_joint(&f, body, size, x, u);
        if (body->beam >= 0) {
            const kd_beam *beam = arm->beam + body->beam;
            move(&f, size, beam->R_LB, beam->p_LoBo_L);
            add_beam(&f, beam, size, x, u, T, room, M, h);
            pass_tip(&f, beam, size, x, u);
        }
        if (body->rigid) {
            double force[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            rigid_bias(&f, body->spatial, force);
            add(f.P, size, body->spatial, force, T, M, h);
        }
        memcpy(arm->ends + 6 * size * i, f.P, (size_t)(6 * size) * sizeof *f.P);
        memcpy(arm->motions + 9 * i, f.omega, sizeof f.omega);
        memcpy(arm->motions + 9 * i + 3, f.alpha, sizeof f.alpha);
        memcpy(arm->motions + 9 * i + 6, f.a, sizeof f.a);
    }
    for (long i = 0; i < arm->joints; i++)
        M[i * size + i] += arm->rotor[i];
}
