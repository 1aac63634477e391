/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a generated driver: results, checks of every argument, the floating-point environment.
 */
#include "fakex.h"
#include "fixture.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

static void test_arguments(fixture *f)
{
    tc_ok(fake_run(NULL, &f->args) == TC_STATUS_NULL_POINTER, "no context");
    setup(f, 4, 8);
    tc_ok(fake_run(&f->context, NULL) == TC_STATUS_NULL_POINTER && f->context.error.status == TC_STATUS_NULL_POINTER,
          "no arguments");
    setup(f, 4, 8);
    f->args.x = NULL;
    refused(f, TC_STATUS_NULL_POINTER, "fake_run: input x is NULL");
    setup(f, 4, 8);
    f->args.y = NULL;
    refused(f, TC_STATUS_NULL_POINTER, "output y is NULL");
    setup(f, 4, 8);
    f->args.state = NULL;
    refused(f, TC_STATUS_NULL_POINTER, "state is NULL");
    setup(f, 0, 8);
    refused(f, TC_STATUS_DIM_OUT_OF_RANGE, "dim n = 0 is not in 1..4096");
    setup(f, 4097, 8);
    refused(f, TC_STATUS_DIM_OUT_OF_RANGE, "dim n = 4097 is not in 1..4096");
    tc_ok(!strcmp(f->context.error.subject, "n") && f->context.error.value == 4097 && f->context.error.low == 1 &&
              f->context.error.high == 4096,
          "the detail names dim, value and range");
    setup(f, 4, 7);
    refused(f, TC_STATUS_DIM_OUT_OF_RANGE, "dim m = 7 is no multiple of 2");
    setup(f, 1, 10);
    refused(f, TC_STATUS_GUARD_FAILED, "guard 64*n >= m*m fails: 64 against 100");
    tc_ok(f->counters.fake_run.guard_0 == 1, "the guard's failure is counted");
    setup(f, 4, 8);
    f->args.x = (const float *)((const char *)f->x + 2);
    refused(f, TC_STATUS_MISALIGNED, "input x is not aligned to 4 bytes");
    setup(f, 4, 8);
    f->args.state = f->state + 4;
    refused(f, TC_STATUS_MISALIGNED, "state is not aligned to 64 bytes");
    setup(f, 4, 8);
    f->state[0] = 'X';
    refused(f, TC_STATUS_BAD_STATE, "state is not initialised");
    setup(f, 4, 8);
    f->args.x = f->y + 31;
    refused(f, TC_STATUS_OVERLAP, "y overlaps x");
    setup(f, 4, 8);
    f->args.x = f->y + 32;
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK, "buffers may touch");
    setup(f, 4, 8);
    f->args.y = (float *)(void *)(f->state + 64);
    refused(f, TC_STATUS_OVERLAP, "y overlaps state");
    setup(f, 4, 8);
    f->args.y = (float *)(void *)f->arena;
    refused(f, TC_STATUS_OVERLAP, "y overlaps arena");
    setup(f, 4, 8);
    f->context.arena_bytes = 127;
    refused(f, TC_STATUS_ARENA_TOO_SMALL, "arena has 127 bytes, this call needs 192");
    setup(f, 4, 8);
    f->context.arena = NULL;
    refused(f, TC_STATUS_ARENA_TOO_SMALL, "arena has 0 bytes");
    setup(f, 4, 8);
    f->context.arena = f->arena + 8;
    refused(f, TC_STATUS_MISALIGNED, "arena is not aligned to 64 bytes");
    setup(f, 4, 8);
    tc_ok(tc_context_init(&f->context, f->arena + 8, sizeof f->arena - 8) == TC_STATUS_MISALIGNED, "a misaligned arena");
    f->context.error = (tc_error){0};
    refused(f, TC_STATUS_MISALIGNED, "arena is not aligned to 64 bytes");
    setup(f, 4, 8);
    f->context.cpus = 0;
    refused(f, TC_STATUS_UNSUPPORTED_CPU, "context has no instruction set: was tc_context_init called, and what did it return?");
    setup(f, 4, 8);
    f->context.cpus = 1u << TC_CPU_COUNT;
    refused(f, TC_STATUS_UNSUPPORTED_CPU, "needs at least the instruction set");
    setup(f, 4, 8);
    f->index[2] = 10;
    refused(f, TC_STATUS_INDEX_OUT_OF_RANGE, "index[2] = 10 is not in 0..9");
    setup(f, 4, 8);
    f->index[3] = -1;
    refused(f, TC_STATUS_INDEX_OUT_OF_RANGE, "index[3] = -1 is not in 0..9");
    setup(f, 5, 8);
    f->context.stance = TC_STANCE_FAIL_ON_GENERIC;
    refused(f, TC_STATUS_GENERIC_REFUSED, "no specialized variant for n = 5 (1..4096)");
    setup(f, 4, 8);
    f->context.stance = TC_STANCE_REFERENCE;
    refused(f, TC_STATUS_NOT_BUILT, "built without reference kernels");
    setup(f, 4, 8);
    f->context.stance = TC_STANCE_COUNT;
    refused(f, TC_STATUS_BAD_ARGUMENT, "stance 3 is not in 0..2");
}

/* The last in the order of preference; NULL for none. */
static const char *best_of(unsigned cpus)
{
#if defined(__x86_64__)
    static const tc_cpu order[] = {TC_CPU_X86_64, TC_CPU_AVX2,        TC_CPU_AVX_VNNI,
                                   TC_CPU_AVX512, TC_CPU_AVX512_VNNI, TC_CPU_AVX512_BF16, TC_CPU_AVX512_AMX};
#else
    static const tc_cpu order[] = {TC_CPU_NEON, TC_CPU_NEON_DOT, TC_CPU_RV64};
#endif
    const char *best = NULL;
    for (unsigned i = 0; i < sizeof order / sizeof *order; ++i)
        if (cpus >> order[i] & 1)
            best = tc_cpu_name(order[i]);
    return best;
}

static void test_variants(fixture *f)
{
    setup(f, 4, 8);
    f->context.stance = TC_STANCE_FAIL_ON_GENERIC;
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f) && seen(f) == 1, "the specialized variant");
    f->context.stance = TC_STANCE_DEFAULT;
    f->args.n = 7;
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f) && seen(f) == 2, "the generic variant");
    tc_ok(f->counters.fake_run.calls == 2 && f->counters.fake_run.generic == 1 && f->counters.fake_run.miss_n == 1 &&
              f->counters.fake_run.guard_0 == 0,
          "calls and misses are counted");
    f->args.counters = NULL;
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK, "no counters");
    tc_ok(fake_run_arena_bytes(4, 8, 1) == 192 && fake_run_arena_bytes(7, 8, 1) == 320 &&
              fake_run_arena_bytes(0, 8, 1) == 0 && fake_run_arena_bytes(1, 10, 1) == 0,
          "arena bytes of a call");
    tc_ok(FAKE_RUN_ARENA_BYTES >= fake_run_arena_bytes(4096, 64, 16) && FAKE_ARENA_BYTES == FAKE_RUN_ARENA_BYTES,
          "the arena's macro is the upper end");
    tc_ok(fake_run_x_bytes(7, 8) == 4 * 7 * 8 && fake_run_index_bytes(7, 8) == sizeof(int32_t) * 7 &&
              fake_run_y_bytes(4096, 64) == FAKE_RUN_Y_BYTES && FAKE_RUN_Y_BYTES == 4 * 4096 * 64,
          "bytes of inputs and outputs, by call and at the upper ends");
    const tc_index fitting[] = {7, 8};
    tc_ok(fake_run_y_bytes(0, 8) == 0 && fake_run_y_bytes(1, 10) == 0 &&
              tc_function_tensor_bytes(&fake_run_function, 3, fitting) == 0 &&
              tc_function_tensor_bytes(&fake_run_function, 0, NULL) == 0 &&
              tc_function_tensor_bytes(NULL, 0, fitting) == 0,
          "none for dims out of range, behind a guard, and for what is not there");
    kernels_watch = 1;
    for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu) {
        setup(f, 4, 8);
        tc_context_limit_cpu(&f->context, (tc_cpu)cpu);
        kernels_ran = NULL;
        if (fake_run(&f->context, &f->args) == TC_STATUS_OK) {
            tc_ok(right(f) && !strcmp(kernels_ran, best_of(f->context.cpus)), "kernels of %s", kernels_ran);
        }
    }
#if defined(__x86_64__)
    /* Every set of sets, whatever this processor has: the kernels here are plain C. */
    int wrong = 0, refusals = 0, foreign = 0;
    for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu)
        foreign += !best_of(1u << cpu);
    for (unsigned cpus = 1; cpus < 1u << TC_CPU_COUNT; ++cpus) {
        setup(f, 4, 8);
        f->context.cpus = cpus;
        const char *want = best_of(cpus);
        const tc_status status = fake_run(&f->context, &f->args);
        refusals += !want;
        wrong += want ? status != TC_STATUS_OK || strcmp(kernels_ran, want) : status != TC_STATUS_UNSUPPORTED_CPU;
    }
    tc_ok(!wrong && refusals == (1 << foreign) - 1,
          "the best of every set of sets; none where the model was not compiled for any");
    setup(f, 4, 8);
    f->context.cpus = ~0u;
    tc_context_limit_cpu(&f->context, TC_CPU_AVX_VNNI);
    tc_ok(f->context.cpus == (1u << TC_CPU_SCALAR | 1u << TC_CPU_X86_64 | 1u << TC_CPU_AVX2 | 1u << TC_CPU_AVX_VNNI),
          "a limit is one of preference, not of numbers");
    setup(f, 4, 8);
    f->context.cpus = ~0u;
    tc_context_limit_cpu(&f->context, TC_CPU_COUNT);
    tc_ok(f->context.cpus == ~0u, "what is no set limits nothing");
#endif
    kernels_watch = 0;
}

static void test_view(fixture *f)
{
    const tc_index two[] = {4, 8}, one[] = {4}, strides[] = {8, 1}, wide[] = {9, 1};
    tc_view in[] = {{f->x, TC_DTYPE_F32, 2, two, strides}, {f->index, TC_DTYPE_I32, 1, one, NULL}};
    tc_view out[] = {{f->y, TC_DTYPE_F32, 2, two, NULL}};
    const tc_call_options options = {.state = f->state};
    setup(f, 4, 8);
    tc_ok(tc_call(&f->context, &fake_run_function, in, 2, out, 1, &options) == TC_STATUS_OK && right(f) && seen(f) == 1,
          "tc_call equals the typed entry");
    struct {
        const char *text;
        tc_view view;
    } wrong[] = {{"x has dtype number 1, not 0", {f->x, TC_DTYPE_I32, 2, two, NULL}},
                 {"x has rank 1, not 2", {f->x, TC_DTYPE_F32, 1, one, NULL}},
                 {"x has stride 9 on axis 0, not 8", {f->x, TC_DTYPE_F32, 2, two, wide}},
                 {"index has size 4 on axis 0, not 6", {f->x, TC_DTYPE_F32, 2, (const tc_index[]){6, 8}, NULL}},
                 {"dim m = 9 is no multiple", {f->x, TC_DTYPE_F32, 2, (const tc_index[]){4, 9}, NULL}},
                 {"x has no shape", {f->x, TC_DTYPE_F32, 2, NULL, NULL}},
                 {"x is NULL", {NULL, TC_DTYPE_F32, 2, two, NULL}}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        setup(f, 4, 8);
        const tc_view bad[] = {wrong[i].view, in[1]};
        const tc_status s = tc_call(&f->context, &fake_run_function, bad, 2, out, 1, &options);
        if (!tc_ok(s != TC_STATUS_OK && strstr(f->context.error.message, wrong[i].text), "tc_call: %s", wrong[i].text))
            tc_note("%s", f->context.error.message);
    }
    tc_ok(tc_call(&f->context, &fake_run_function, in, 1, out, 1, &options) == TC_STATUS_BAD_VIEW &&
              strstr(f->context.error.message, "got 1 inputs, takes 2"),
          "too few inputs");
}

/* Functions that the generator can make and the fake model is not: altered copies of it, called as tc_call does. */
static void called(fixture *f, const tc_function *function, const tc_view *in, const void *weights, tc_status status,
                   const char *text)
{
    tc_index dims[2];
    void *buffers[3];
    const tc_view out = {f->y, TC_DTYPE_F32, 2, in[0].shape, NULL};
    const tc_call_options options = {.state = f->state, .weights = weights};
    const tc_status got = tc_call_with(&f->context, function, in, &out, &options, dims, buffers);
    if (!tc_ok(got == status && strstr(f->context.error.message, text), "%s: %s", tc_status_string(status), text))
        tc_note("got %d, \"%s\"", (int)got, f->context.error.message);
}

static void test_other_functions(fixture *f)
{
    static _Alignas(64) const unsigned char strange[256];
    const tc_index two[] = {4, 8}, one[] = {4}, huge[] = {(tc_index)1 << 44, (tc_index)1 << 20}, strides[] = {huge[1], 1};
    const tc_view in[] = {{f->x, TC_DTYPE_F32, 2, two, NULL}, {f->index, TC_DTYPE_I32, 1, one, NULL}};
    const tc_view large[] = {{f->x, TC_DTYPE_F32, 2, huge, NULL}, {f->index, TC_DTYPE_I32, 1, huge, NULL}};
    const tc_view spread[] = {{f->x, TC_DTYPE_F32, 2, huge, strides}, large[1]};
    tc_dim_info dims[2] = {fake_run_function.dims[0], fake_run_function.dims[1]};
    tc_model model = *fake_run_function.model;
    tc_function function = fake_run_function;
    function.dims = dims;
    setup(f, 4, 8);
    dims[0].offset = 5;
    called(f, &function, in, NULL, TC_STATUS_BAD_VIEW, "x has an impossible size 4 on axis 0");
    dims[0].input = -1;
    called(f, &function, in, NULL, TC_STATUS_BAD_VIEW, "dim n cannot be told from the shapes of the inputs: give dims");
    dims[0] = fake_run_function.dims[0];
    dims[0].high = dims[1].high = (tc_index)1 << 44;
    called(f, &function, spread, NULL, TC_STATUS_BAD_VIEW, "x is larger than memory");
    called(f, &function, large, NULL, TC_STATUS_DIM_OUT_OF_RANGE, "input x is larger than memory");
    function = fake_run_function;
    function.model = &model;
    model.weights = NULL;
    model.weights_bytes = 64;
    called(f, &function, in, strange, TC_STATUS_BAD_WEIGHTS, "weights are not this model's");
}

static void test_state(fixture *f)
{
    _Alignas(64) static unsigned char other[FAKE_STATE_BYTES];
    float count[4] = {7, 0, 0, 0};
    setup(f, 4, 8);
    tc_ok(fake_state_copy(other, f->state) == TC_STATUS_OK && !memcmp(other, f->state, sizeof other), "state copied");
    tc_ok(fake_state_import(f->state, "seen.count", count, sizeof count) == TC_STATUS_OK &&
              fake_run(&f->context, &f->args) == TC_STATUS_OK && seen(f) == 8,
          "state imported and updated");
    tc_ok(fake_state_import(f->state, "none", count, sizeof count) == TC_STATUS_BAD_ARGUMENT &&
              fake_state_export(f->state, "seen.count", count, 4) == TC_STATUS_BAD_ARGUMENT,
          "an unknown tensor and a wrong size");
    tc_ok(fake_state_reset(f->state) == TC_STATUS_OK && seen(f) == 0, "state reset");
}

static void test_environment(fixture *f)
{
    setup(f, 4, 8);
    f->x[0] = 0x1p-140f;
    f->x[1] = 0x1p23f + 1;
    f->index[3] = 3;
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((before & ~0x6000u) | 0x8040 | 0x4000); /* flush, denormals are zero, upwards */
    const unsigned set = __builtin_ia32_stmxcsr();
#else
    fesetround(FE_UPWARD);
#endif
    const tc_status status = fake_run(&f->context, &f->args);
#if defined(__x86_64__)
    const int restored = __builtin_ia32_stmxcsr() == set;
    __builtin_ia32_ldmxcsr(before);
#else
    const int restored = fegetround() == FE_UPWARD;
    fesetround(FE_TONEAREST);
#endif
    tc_ok(status == TC_STATUS_OK && restored, "the caller's floating-point environment is restored");
    tc_ok(f->y[25] == 0x1p24f + 2 && right(f), "the call rounds to nearest");
    setup(f, 1, 2);
    f->x[0] = 0x1p-140f;
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && f->y[0] == 0x1p-139f, "denormals are kept");
}

static char logged[4096];

static void collect(void *user, unsigned topic, const char *text)
{
    (void)user, (void)topic;
    strcat(strcat(logged, text), "\n");
}

static int begins, ends;

static void profile(void *user, const char *function, const char *variant, const char *kernel, tc_index step,
                    tc_index thread, int begin)
{
    (void)user, (void)function, (void)variant, (void)kernel, (void)step, (void)thread;
    begins += begin, ends += !begin;
}

static void test_logs(fixture *f)
{
    setup(f, 5, 8);
    f->context.log = collect;
    f->context.log_topics = TC_LOG_ALL;
    f->context.profile = profile;
    fake_run(&f->context, &f->args);
    tc_ok(!strcmp(logged, "fake_run: guard missed: n = 5 of 1..4096, specialized for 4\nfake_run: variant generic\n"
                          "check\ntwice\nreverse\ncount\n"),
          "guards and kernels are logged");
    tc_ok(begins == 4 && ends == 4, "each kernel is profiled");
    logged[0] = 0;
    tc_counters_log(&f->context, &fake_run_function, &f->counters.fake_run);
    if (!tc_ok(!strcmp(logged, "fake_run: calls: 1\nfake_run: calls of the generic variant: 1\n"
                               "fake_run: misses of the sizes of n: 1\nfake_run: failures of guard 64*n >= m*m: 0\n"),
               "the counters are reported"))
        tc_note("%s", logged);
}

static void test_external(fixture *f, const char *path)
{
    tc_weights_file file, none;
    fakex_run_args args;
    setup(f, 4, 8);
    args = (fakex_run_args){.n = 4, .m = 8, .x = f->x, .index = f->index, .y = f->y, .state = f->state};
    fakex_state_init(f->state);
    tc_ok(fakex_weights_open(&file, path, 1) == TC_STATUS_OK && file.bytes == FAKEX_WEIGHTS_BYTES, "weights mapped");
    args.weights = file.data;
    tc_ok(fakex_run(&f->context, &args) == TC_STATUS_OK && right(f), "external weights");
    const tc_index dims[] = {4, 8}, outside[] = {0, 8};
    const size_t plain = fakex_run_arena_bytes(4, 8, 1);
    const size_t reference = tc_function_arena_bytes(&fakex_run_function, dims, 1, TC_STANCE_REFERENCE);
    tc_ok(reference > plain && reference <= FAKEX_RUN_ARENA_BYTES_REFERENCE &&
              tc_function_arena_bytes(&fakex_run_function, dims, 1, TC_STANCE_DEFAULT) == plain &&
              tc_function_arena_bytes(&fakex_run_function, outside, 1, TC_STANCE_REFERENCE) == 0 &&
              tc_function_arena_bytes(&fakex_run_function, NULL, 1, TC_STANCE_DEFAULT) == 0 &&
              tc_function_arena_bytes(NULL, dims, 1, TC_STANCE_DEFAULT) == 0 && tc_state_bytes(NULL) == 0 &&
              tc_function_arena_bytes(&fake_run_function, dims, 1, TC_STANCE_REFERENCE) == 0,
          "arena bytes by stance");
    f->context.arena_bytes = plain;
    f->context.stance = TC_STANCE_REFERENCE;
    tc_ok(fakex_run(&f->context, &args) == TC_STATUS_ARENA_TOO_SMALL, "the reference checks its own arena");
    f->context.arena_bytes = reference;
    memset(f->y, 0, sizeof f->y);
    tc_ok(fakex_run(&f->context, &args) == TC_STATUS_OK && right(f), "the reference runs for a specialized size");
    f->context.stance = TC_STANCE_DEFAULT;
    args.weights = NULL;
    tc_ok(fakex_run(&f->context, &args) == TC_STATUS_NULL_POINTER, "no weights");
    _Alignas(64) static unsigned char copy[FAKEX_WEIGHTS_BYTES];
    memcpy(copy, file.data, sizeof copy);
    copy[30] ^= 1;
    args.weights = copy;
    tc_ok(fakex_run(&f->context, &args) == TC_STATUS_BAD_WEIGHTS, "weights of another layout");
    copy[30] ^= 1;
    copy[60] ^= 1;
    tc_ok(fakex_weights_check(copy, sizeof copy) == TC_STATUS_BAD_WEIGHTS, "a damaged header");
    copy[60] ^= 1;
    tc_ok(fakex_weights_check(copy, sizeof copy) == TC_STATUS_OK &&
              fakex_weights_check(copy, sizeof copy - 1) == TC_STATUS_BAD_WEIGHTS,
          "a truncated file");
    char damaged[4096];
    snprintf(damaged, sizeof damaged, "%s.damaged", path);
    FILE *out = fopen(damaged, "wb");
    copy[140] ^= 1;
    if (out) {
        fwrite(copy, 1, sizeof copy, out);
        fclose(out);
    }
    tc_ok(fakex_weights_open(&none, damaged, 1) == TC_STATUS_BAD_WEIGHTS && !none.data &&
              fakex_weights_open(&none, damaged, 0) == TC_STATUS_OK,
          "a damaged payload is found by its hash, on request");
    tc_weights_close(&none);
    remove(damaged);
    tc_ok(fakex_weights_open(&none, "no/such/file", 0) == TC_STATUS_SYSTEM, "a missing file");
    tc_weights_close(&file);
    tc_weights_close(&file);
}

int main(int argc, char **argv)
{
    fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    test_arguments(f);
    test_variants(f);
    test_view(f);
    test_other_functions(f);
    test_state(f);
    test_environment(f);
    test_logs(f);
    if (argc > 1)
        test_external(f, argv[1]);
    free(f);
    return tc_done();
}
