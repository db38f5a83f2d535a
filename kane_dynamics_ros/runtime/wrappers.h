/* The generated functions behind two signatures for all: run_NAME for a state, batch_NAME for many. Included by
   extension.c and by unit.c, each compiled with some of NAME.c's functions: -DKD_RUNS_gravity=1 says that its form for
   one state is among them, 0 that it is not; -DKD_BATCHES_gravity the same of that for many. */
#ifndef KD_LINKAGE
#define KD_LINKAGE
#endif

/* What the words of the table KD_FUNCTIONS in NAME.h stand for. */
#define KD_COUNT_q 1
#define KD_COUNT_qd 1
#define KD_COUNT_q_qd 2
#define KD_COUNT_q_qd_qdd 3
#define KD_COUNT_q_qd_tau 3
#define KD_COUNT_q_wrench 2
#define KD_IN_1 in[0]
#define KD_IN_2 in[0], in[1]
#define KD_IN_3 in[0], in[1], in[2]
#define KD_IN_(count) KD_IN_##count
#define KD_IN(count) KD_IN_(count)
#define KD_PREPARED_no
#define KD_PREPARED_yes prepared,
#define KD_PREPARED_defaults
#define KD_RETURN_0(call) call; return 0
#define KD_RETURN_1(call) return call
#define KD_PICK_1(a, b) a
#define KD_PICK_0(a, b) b
#define KD_PICK_(which, a, b) KD_PICK_##which(a, b)
#define KD_PICK(which, a, b) KD_PICK_(which, a, b)

#define KD_RUN_FORM(name, inputs, prep, singular)                                                  \
    KD_LINKAGE int run_##name(const double *prepared, const double *const *in, double *out)        \
    {                                                                                              \
        (void)prepared;                                                                            \
        KD_RETURN_##singular(KD(name)(KD_PREPARED_##prep KD_IN(KD_COUNT_##inputs), out));          \
    }
#define KD_BATCH_FORM(name, inputs, prep, singular)                                                \
    KD_LINKAGE int batch_##name(const double *prepared, const double *const *in, double *out, size_t count) \
    {                                                                                              \
        (void)prepared;                                                                            \
        KD_RETURN_##singular(KD(name##_batch)(KD_PREPARED_##prep KD_IN(KD_COUNT_##inputs), out, count)); \
    }
#define KD_NO_FORM(name, inputs, prep, singular)
#define KD_WRAPPER(name, inputs, prep, singular, rank, d0, d1, d2)                                 \
    KD_PICK(KD_RUNS_##name, KD_RUN_FORM, KD_NO_FORM)(name, inputs, prep, singular)                 \
    KD_PICK(KD_BATCHES_##name, KD_BATCH_FORM, KD_NO_FORM)(name, inputs, prep, singular)
KD_SIZE(FUNCTIONS)(KD_WRAPPER)
