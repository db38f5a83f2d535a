/* The C functions that call_speed times beside the libraries; defined by a file that the run generates. */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#ifdef __cplusplus
extern "C" {
#endif

/* q [rad or m], qd and a third input, qdd or tau, each of the model's length, to the result of the work. */
typedef void (*dynamics_function)(const double *q, const double *qd, const double *third, double *out);

struct candidate {
    const char *work;
    const char *name;
    dynamics_function call;
};

extern const struct candidate candidates[];
extern const int candidate_count;

#ifdef __cplusplus
}
#endif
#endif
