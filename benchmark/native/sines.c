/* Time of the sines and cosines of five angles, one call: the kernel, the C library, and glibc's libmvec.

       sines REPEATS

   Prints "name nanoseconds" lines. kernel.h is the kernel's text, which the run writes. libmvec takes four
   angles or eight: four and one by the library, or eight of which three are for nothing, whichever is faster. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernel.h"

enum { JOINTS = 5, STATES = 512, CALLS = 8192 };

static double angles[STATES * JOINTS + 8];

__attribute__((noinline)) static void kernel(const double *q, double *s, double *c)
{
    kd_sincos(q, s, c, JOINTS);
}

__attribute__((noinline)) static void library(const double *q, double *s, double *c)
{
    for (int i = 0; i < JOINTS; i++) {
        s[i] = sin(q[i]);
        c[i] = cos(q[i]);
    }
}

#ifdef WITH_LIBMVEC
#include <immintrin.h>
__m256d _ZGVdN4v_sin(__m256d), _ZGVdN4v_cos(__m256d);

__attribute__((noinline)) static void libmvec_four(const double *q, double *s, double *c)
{
    const __m256d four = _mm256_loadu_pd(q);
    _mm256_storeu_pd(s, _ZGVdN4v_sin(four));
    _mm256_storeu_pd(c, _ZGVdN4v_cos(four));
    s[4] = sin(q[4]);
    c[4] = cos(q[4]);
}

__attribute__((noinline)) static void libmvec_eight(const double *q, double *s, double *c)
{
    for (int i = 0; i < 8; i += 4) {
        const __m256d four = _mm256_loadu_pd(q + i);
        _mm256_storeu_pd(s + i, _ZGVdN4v_sin(four));
        _mm256_storeu_pd(c + i, _ZGVdN4v_cos(four));
    }
}
#endif

static const struct {
    const char *name;
    void (*call)(const double *, double *, double *);
} rivals[] = {
    {"kernel", kernel},
    {"library", library},
#ifdef WITH_LIBMVEC
    {"libmvec", libmvec_four},
    {"libmvec_padded", libmvec_eight},
#endif
};
enum { RIVALS = sizeof rivals / sizeof rivals[0], MOST_REPEATS = 1000 };

static double timed(int rival)
{
    double s[8], c[8], sum = 0.0;
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int call = 0; call < CALLS; call++) {
        rivals[rival].call(angles + call % STATES * JOINTS, s, c);
        sum += s[0] + c[JOINTS - 1];
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (sum == 1.0) /* never: so that no call is optimised away */
        puts("");
    return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / CALLS;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments)
{
    static double times[RIVALS][MOST_REPEATS];
    const int wanted = count > 1 ? atoi(arguments[1]) : 101;
    const int repeats = wanted < MOST_REPEATS ? wanted : MOST_REPEATS;
    for (int i = 0; i < STATES * JOINTS; i++)
        angles[i] = 6.0 * rand() / RAND_MAX - 3.0;
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int rival = 0; rival < RIVALS; rival++)
            times[rival][repeat] = timed(rival);
    for (int rival = 0; rival < RIVALS; rival++) {
        qsort(times[rival], (size_t)repeats, sizeof(double), ascending);
        printf("%s %.2f\n", rivals[rival].name, times[rival][repeats / 2]);
    }
    return 0;
}
