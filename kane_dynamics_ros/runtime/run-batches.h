/* Running one generated function over many states: inputs checked block by block, large batches shared among
   processors. A part of extension.c, which defines KD_SIZE and includes NumPy's headers. */

#include <pthread.h>

enum { JOINTS = KD_SIZE(JOINTS), MOST_INPUTS = 3 };

typedef struct {
    const char *name, *code; /* the method's, and the C function's */
    int inputs, width[MOST_INPUTS], rank;
    npy_intp extent[3], size;
    int (*run)(const double *prepared, const double *const *in, double *out);
    int (*batch)(const double *prepared, const double *const *in, double *out, size_t count);
} Function;

static int processors = 1; /* that batches may use, from configure(), at most 16 */

/* The exponent of infinities and NaN has every bit set: adding one to it carries into the sign. Integers,
   because a sum of doubles must keep its order, which costs more than all the rest. */
static inline npy_uint64 carried(double x)
{
    npy_uint64 bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7ff0000000000000u) + 0x0010000000000000u;
}

static int all_finite(const double *x, npy_intp size)
{
    enum { LANES = 16 }; /* in step, three times as fast as one after the other */
    npy_uint64 found = 0, lanes[LANES] = {0};
    npy_intp i = 0;
    for (; i + LANES <= size; i += LANES)
        for (int k = 0; k < LANES; k++)
            lanes[k] |= carried(x[i + k]);
    for (int k = 0; k < LANES && size >= LANES; k++)
        found |= lanes[k];
    for (; i < size; i++)
        found |= carried(x[i]);
    return !(found >> 63);
}

/* What a run came to: 0, the one-based number of a singular joint, or NOT_FINITE less the number of the input that is
   not finite, or less the number of inputs where the result is not. */
enum { NOT_FINITE = -1, ROWS_AT_ONCE = 32 }; /* checked, then used: more rows come from memory in bursts */

static int run_some(const Function *function, const double *prepared, const double *const *in, double *out,
                    npy_intp count, int many)
{
    for (int k = 0; k < function->inputs; k++)
        if (!all_finite(in[k], count * function->width[k]))
            return NOT_FINITE - k;
    const int joint = many ? function->batch(prepared, in, out, (size_t)count) : function->run(prepared, in, out);
    return joint || all_finite(out, count * function->size) ? joint : NOT_FINITE - function->inputs;
}

static int run_many(const Function *function, const double *prepared, const double *const *in, double *out,
                    npy_intp count)
{
    int outcome = 0;
    for (npy_intp row = 0; row < count && !outcome; row += ROWS_AT_ONCE) {
        const double *at[MOST_INPUTS];
        for (int k = 0; k < function->inputs; k++)
            at[k] = in[k] + row * function->width[k];
        const npy_intp some = count - row < ROWS_AT_ONCE ? count - row : ROWS_AT_ONCE;
        outcome = run_some(function, prepared, at, out + row * function->size, some, 1);
    }
    return outcome;
}

/* A share of a large batch, run by one thread. */
typedef struct {
    const Function *function;
    const double *prepared, *in[MOST_INPUTS];
    double *out;
    npy_intp count;
    int outcome;
    pthread_t thread;
    int started;
} Share;

static void *run_share(void *argument)
{
    Share *share = argument;
    share->outcome = run_many(share->function, share->prepared, share->in, share->out, share->count);
    return NULL;
}

/* Large batches are shared among the processors that the process may use; a thread that cannot be had is
   done without. */
static int run_shared(const Function *function, const double *prepared, const double *const *in, double *out,
                      npy_intp count)
{
    enum { ROWS_WORTH_A_THREAD = 8192 };
    Share shares[16];
    npy_intp wanted = count / ROWS_WORTH_A_THREAD, first = 0;
    const int number = (int)(wanted < processors ? wanted : processors);
    int outcome = 0;
    if (number < 2)
        return run_many(function, prepared, in, out, count);
    for (int t = 0; t < number; t++) {
        Share *share = &shares[t];
        const npy_intp next = t == number - 1 ? count : count / number * (t + 1);
        *share = (Share){.function = function, .prepared = prepared, .out = out + first * function->size};
        for (int k = 0; k < function->inputs; k++)
            share->in[k] = in[k] + first * function->width[k];
        share->count = next - first;
        first = next;
        share->started = t < number - 1 && pthread_create(&share->thread, NULL, run_share, share) == 0;
        if (!share->started)
            run_share(share);
    }
    for (int t = 0; t < number; t++) {
        if (shares[t].started)
            pthread_join(shares[t].thread, NULL);
        if (!outcome)
            outcome = shares[t].outcome;
    }
    return outcome;
}
