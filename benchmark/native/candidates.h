/* The C functions that call_speed times beside the libraries; defined by a file that the run generates. */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#ifdef __cplusplus
extern "C" {
#endif

/* q [rad or m], qd, qdd -> tau [N m or N], each of the model's length. */
typedef void (*inverse_dynamics_function)(const double *q, const double *qd, const double *qdd, double *tau);

struct candidate {
    const char *name;
    inverse_dynamics_function call;
};

extern const struct candidate candidates[];
extern const int candidate_count;

#ifdef __cplusplus
}
#endif
#endif
