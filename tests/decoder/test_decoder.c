/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder with a key-value cache, called as a user calls it: prefill and decode share weights and state. However a
 * sequence is split between them, on every instruction set, with every team and in concurrent threads, the rows of
 * logits have the same bits; they are PyTorch's within a tolerance; and a refused call changes nothing.
 *
 *   test_decoder EXPECTED.safetensors
 */
#include "decoder.h"
#include "safetensors.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <tensor_compile/hosted.h>

enum { EXPECTED = 20, CAPACITY = DECODER_MODEL_LENGTH_MAX, VOCABULARY = 96, KV_HEADS = 2, HEAD = 8 };
enum { CACHE = KV_HEADS * CAPACITY * HEAD };

/* Room for compiled calls and for those of the reference. */
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define ARENA                                                                                                          \
    LARGER(DECODER_MODEL_ARENA_BYTES,                                                                                  \
           LARGER(DECODER_MODEL_PREFILL_ARENA_BYTES_REFERENCE, DECODER_MODEL_DECODE_ARENA_BYTES_REFERENCE))

static const char *const caches[] = {"layer.0.keys", "layer.0.values", "layer.1.keys", "layer.1.values"};

/* One sequence: everything that a call uses, so sessions in several threads share only code and weights. */
typedef struct session {
    _Alignas(64) unsigned char arena[ARENA];
    _Alignas(64) unsigned char state[DECODER_MODEL_STATE_BYTES];
    tc_context context;
    float logits[CAPACITY][VOCABULARY]; /* row i: after token i */
} session;

static int32_t tokens[CAPACITY]; /* the stored prompt, then some more */
static float (*whole)[VOCABULARY]; /* rows of one prefill of all tokens, which every test compares with */

static session *session_new(void)
{
    session *s = aligned_alloc(64, sizeof *s);
    if (!s)
        exit(1);
    memset(s, 0, sizeof *s);
    tc_context_init(&s->context, s->arena, sizeof s->arena);
    decoder_model_state_init(s->state);
    return s;
}

static tc_status prefill(session *s, const int32_t *ids, int length)
{
    return decoder_model_prefill(&s->context, &(decoder_model_prefill_args){
                                                  .length = length, .ids = ids, .logits = s->logits[0],
                                                  .state = s->state});
}

static tc_status decode(session *s, const int32_t *ids, int past)
{
    return decoder_model_decode(&s->context, &(decoder_model_decode_args){
                                                 .past = past, .ids = ids + past, .logits = s->logits[past],
                                                 .state = s->state});
}

/* Tokens from..to-1 one by one. */
static tc_status decode_to(session *s, const int32_t *ids, int from, int to)
{
    tc_status status = TC_STATUS_OK;
    for (int past = from; past < to && status == TC_STATUS_OK; ++past)
        status = decode(s, ids, past);
    return status;
}

/* The first row from `from` on that has other bits than want's; `to` where all agree. */
static int first_difference(float (*got)[VOCABULARY], float (*want)[VOCABULARY], int from, int to)
{
    while (from < to && !memcmp(got[from], want[from], sizeof *got))
        ++from;
    return from;
}

/* One point: tokens 0..length-1, the first `prompt` of them by prefill, have the rows of `whole`. */
static void test_split(session *s, int prompt, int length, const char *how)
{
    memset(s->logits, 0xff, sizeof s->logits);
    tc_status status = decoder_model_state_reset(s->state);
    if (status == TC_STATUS_OK && prompt)
        status = prefill(s, tokens, prompt);
    if (status == TC_STATUS_OK)
        status = decode_to(s, tokens, prompt, length);
    const int row = status == TC_STATUS_OK ? first_difference(s->logits, whole, 0, length) : 0;
    if (!tc_ok(status == TC_STATUS_OK && row == length, "%s: prefill of %d, then %d by decode, is prefill of %d", how,
               prompt, length - prompt, length))
        tc_note("status \"%s\", first other row %d", s->context.error.message, row);
}

static void test_splits(session *s, const char *how)
{
    test_split(s, 1, CAPACITY, how);
    test_split(s, 17, 40, how);
    test_split(s, CAPACITY, CAPACITY, how);
}

/* PyTorch computed in float64. The largest error measured is 2.1 roundings (2^-23) of the largest logit; 16 leave room
 * for other tokens without hiding a wrong term. */
static void test_pytorch(const char *path)
{
    float (*want)[VOCABULARY] = tc_read_tensor(path, "logits", sizeof(float[EXPECTED][VOCABULARY]));
    const int lengths[] = {1, 2, 3, 7, 15, 16, 17, EXPECTED};
    session *s = session_new();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        const int n = lengths[i];
        double worst = 0, largest = 0;
        const tc_status status = prefill(s, tokens, n);
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < VOCABULARY; ++k) {
                const double error = fabs((double)s->logits[j][k] - (double)want[j][k]);
                worst = error <= worst ? worst : error; /* a NaN counts */
                largest = fmax(largest, fabs((double)want[j][k]));
            }
        if (!tc_ok(status == TC_STATUS_OK && worst <= 16 * FLT_EPSILON * largest, "prefill of %d is PyTorch's", n))
            tc_note("largest error %g, largest logit %g", worst, largest);
    }
    free(s);
    free(want);
}

/* -- the cache ----------------------------------------------------------------------------------------------------- */

static void export_caches(const session *s, float (*data)[CACHE])
{
    for (int i = 0; i < 4; ++i)
        if (decoder_model_state_export(s->state, caches[i], data[i], sizeof *data) != TC_STATUS_OK)
            memset(data[i], 0xff, sizeof *data);
}

/* Rows `from`..`to`-1 of every head differ from `before`, all others are the same. */
static int wrote_only(const float *before, const float *after, int from, int to)
{
    int right = 1;
    for (int head = 0; head < KV_HEADS; ++head)
        for (int row = 0; row < CAPACITY; ++row) {
            const size_t at = (size_t)(head * CAPACITY + row) * HEAD;
            right &= !memcmp(before + at, after + at, HEAD * sizeof *before) == !(row >= from && row < to);
        }
    return right;
}

static void test_cache(void)
{
    static float empty[4][CACHE], prompt[4][CACHE], next[4][CACHE];
    session *s = session_new(), *t = session_new();
    export_caches(s, empty);
    int zero = 1, prefilled = 1, decoded = 1;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < CACHE; ++j)
            zero &= empty[i][j] == 0;
    tc_ok(zero, "a new state is zero");
    prefill(s, tokens, 10);
    export_caches(s, prompt);
    decode(s, tokens, 10);
    export_caches(s, next);
    for (int i = 0; i < 4; ++i) {
        prefilled &= wrote_only(empty[i], prompt[i], 0, 10);
        decoded &= wrote_only(prompt[i], next[i], 10, 11);
    }
    tc_ok(prefilled, "prefill of 10 writes rows 0 to 9 of each cache");
    tc_ok(decoded, "decode after 10 writes row 10 alone");

    tc_status status = TC_STATUS_OK;
    for (int i = 0; i < 4; ++i) {
        const tc_status one = decoder_model_state_import(t->state, caches[i], prompt[i], sizeof *prompt);
        status = status == TC_STATUS_OK ? one : status;
    }
    status = status == TC_STATUS_OK ? decode_to(t, tokens, 10, 30) : status;
    tc_ok(status == TC_STATUS_OK && first_difference(t->logits, whole, 10, 30) == 30,
          "a state imported from an exported one goes on where that was");
    tc_ok(decoder_model_state_export(s->state, "layer.2.keys", next, sizeof *next) == TC_STATUS_BAD_ARGUMENT &&
              decoder_model_state_export(s->state, caches[0], next, sizeof *next - 4) == TC_STATUS_BAD_ARGUMENT &&
              decoder_model_state_import(s->state, caches[0], next, sizeof *next + 4) == TC_STATUS_BAD_ARGUMENT,
          "another name or size is refused");
    free(s);
    free(t);
}

/* Two continuations of one prompt. */
static void test_fork(void)
{
    enum { PROMPT = 12, END = 24 };
    int32_t other[CAPACITY];
    session *a = session_new(), *b = session_new(), *want = session_new();
    memcpy(other, tokens, sizeof other);
    for (int i = PROMPT; i < CAPACITY; ++i)
        other[i] = (tokens[i] + 1 + i) % VOCABULARY;
    prefill(a, tokens, PROMPT);
    memset(b->state, 0xff, sizeof b->state);
    tc_status status = decoder_model_state_copy(b->state, a->state);
    for (int past = PROMPT; past < END && status == TC_STATUS_OK; ++past) {
        status = decode(a, tokens, past);
        status = status == TC_STATUS_OK ? decode(b, other, past) : status;
    }
    prefill(want, other, END);
    tc_ok(status == TC_STATUS_OK && first_difference(a->logits, whole, PROMPT, END) == END,
          "a prompt goes on as if its state had not been copied");
    tc_ok(status == TC_STATUS_OK && first_difference(b->logits, want->logits, PROMPT, END) == END &&
              first_difference(b->logits, whole, PROMPT, END) == PROMPT,
          "and its copy goes on with other tokens");
    free(a);
    free(b);
    free(want);
}

/* -- instruction sets, teams, threads ------------------------------------------------------------------------------ */

static void test_instruction_sets(void)
{
    session *s = session_new();
    const unsigned found = s->context.cpus;
    for (int cpu = TC_CPU_SCALAR + 1; cpu < TC_CPU_COUNT; ++cpu) {
        char how[32];
        if (!(found >> cpu & 1))
            continue;
        tc_context_init(&s->context, s->arena, sizeof s->arena);
        tc_context_limit_cpu(&s->context, (tc_cpu)cpu);
        if (prefill(s, tokens, 1) == TC_STATUS_UNSUPPORTED_CPU) {
            tc_skip(3, "the model is built without this instruction set");
            continue;
        }
        snprintf(how, sizeof how, "%s", tc_cpu_name((tc_cpu)cpu));
        test_splits(s, how);
    }
    free(s);
}

/* The reference kernels, one plain loop an operation, work on the same state. */
static void test_reference(void)
{
    enum { PROMPT = 9, HALF = 20, END = 40 };
    session *s = session_new();
    s->context.stance = TC_STANCE_REFERENCE;
    test_splits(s, "reference");
    decoder_model_state_reset(s->state);
    tc_status status = prefill(s, tokens, PROMPT);
    for (int past = PROMPT; past < END && status == TC_STATUS_OK; ++past) {
        s->context.stance = past < HALF ? TC_STANCE_DEFAULT : TC_STANCE_REFERENCE;
        status = decode(s, tokens, past);
    }
    tc_ok(status == TC_STATUS_OK && first_difference(s->logits, whole, 0, END) == END,
          "reference and compiled kernels take turns on one state");
    free(s);
}

static void count_threads(void *user, const char *function, const char *variant, const char *kernel, tc_index step,
                          tc_index thread, int begin)
{
    (void)function, (void)variant, (void)kernel, (void)step, (void)begin;
    atomic_fetch_or((atomic_uint *)user, 1u << thread);
}

static void test_teams(void)
{
    const int sizes[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        char how[32];
        atomic_uint seen = 0;
        session *s = session_new();
        tc_pool *pool = tc_pool_create(sizes[i]);
        tc_context_use_pool(&s->context, pool);
        s->context.profile = count_threads;
        s->context.profile_user = &seen;
        snprintf(how, sizeof how, "a team of %d", sizes[i]);
        test_splits(s, how);
        tc_ok(atomic_load(&seen) == (1u << sizes[i]) - 1, "%s: each of its threads ran", how);
        tc_pool_destroy(pool);
        free(s);
    }
}

typedef struct worker {
    session *session;
    int prompt, rounds, failed;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    for (int round = 0; round < w->rounds; ++round) {
        memset(w->session->logits, 0xff, sizeof w->session->logits);
        decoder_model_state_reset(w->session->state);
        w->failed |= prefill(w->session, tokens, w->prompt) != TC_STATUS_OK ||
                     decode_to(w->session, tokens, w->prompt, CAPACITY) != TC_STATUS_OK ||
                     first_difference(w->session->logits, whole, 0, CAPACITY) != CAPACITY;
    }
    return NULL;
}

/* Two contexts and states in two threads; then the same with one pool that both use. */
static void test_threads(void)
{
    for (int pooled = 0; pooled < 2; ++pooled) {
        worker workers[2] = {{session_new(), 5, 20, 0}, {session_new(), 33, 20, 0}};
        pthread_t threads[2];
        tc_pool *pool = pooled ? tc_pool_create(2) : NULL;
        int started = 1;
        for (int i = 0; i < 2; ++i) {
            if (pooled)
                tc_context_use_pool(&workers[i].session->context, pool);
            started &= !pthread_create(&threads[i], NULL, work, &workers[i]);
        }
        for (int i = 0; i < 2 && started; ++i)
            pthread_join(threads[i], NULL);
        tc_ok(started && !workers[0].failed && !workers[1].failed, "two sequences in two threads%s",
              pooled ? " that share a pool" : "");
        tc_pool_destroy(pool);
        free(workers[0].session);
        free(workers[1].session);
    }
}

/* -- errors -------------------------------------------------------------------------------------------------------- */

static session *before;

/* One point: the call failed as told, and neither state nor logits changed. */
static void refused(const session *s, tc_status got, tc_status want, const char *message)
{
    if (!tc_ok(got == want && s->context.error.status == want && strstr(s->context.error.message, message) &&
                   !memcmp(s->state, before->state, sizeof s->state) &&
                   !memcmp(s->logits, before->logits, sizeof s->logits),
               "%s", message))
        tc_note("status %d, \"%s\"", (int)got, s->context.error.message);
}

static void test_errors(void)
{
    const int32_t high[3] = {1, VOCABULARY, 2}, low[3] = {1, 2, -1};
    session *s = session_new();
    prefill(s, tokens, 4);
    memset(s->logits, 0xff, sizeof s->logits);
    before = session_new();
    memcpy(before, s, sizeof *before);

    decoder_model_decode_args d = {.past = 4, .ids = tokens, .logits = s->logits[4], .state = s->state};
    d.past = CAPACITY;
    refused(s, decoder_model_decode(&s->context, &d), TC_STATUS_DIM_OUT_OF_RANGE, "dim past = 64 is not in 0..63");
    d.past = -1;
    refused(s, decoder_model_decode(&s->context, &d), TC_STATUS_DIM_OUT_OF_RANGE, "dim past = -1 is not in 0..63");
    refused(s, prefill(s, tokens, 0), TC_STATUS_DIM_OUT_OF_RANGE, "dim length = 0 is not in 1..64");
    refused(s, prefill(s, tokens, CAPACITY + 1), TC_STATUS_DIM_OUT_OF_RANGE, "dim length = 65 is not in 1..64");
    d.past = 4;
    d.ids = &high[1];
    refused(s, decoder_model_decode(&s->context, &d), TC_STATUS_INDEX_OUT_OF_RANGE, "ids[0] = 96 is not in 0..95");
    refused(s, prefill(s, high, 3), TC_STATUS_INDEX_OUT_OF_RANGE, "ids[1] = 96 is not in 0..95");
    refused(s, prefill(s, low, 3), TC_STATUS_INDEX_OUT_OF_RANGE, "ids[2] = -1 is not in 0..95");
    d.ids = tokens;
    d.state = NULL;
    refused(s, decoder_model_decode(&s->context, &d), TC_STATUS_NULL_POINTER, "state is NULL");
    d.state = s->state;
    d.logits = (float *)(void *)s->state;
    refused(s, decoder_model_decode(&s->context, &d), TC_STATUS_OVERLAP, "logits overlaps state");
    s->context.arena_bytes = decoder_model_decode_arena_bytes(4, 1) - 1;
    refused(s, decode(s, tokens, 4), TC_STATUS_ARENA_TOO_SMALL, "arena has");
    s->context.arena_bytes = decoder_model_decode_arena_bytes(4, 1);
    tc_ok(decode(s, tokens, 4) == TC_STATUS_OK && first_difference(s->logits, whole, 4, 5) == 5,
          "the arena that decode asks for is enough, and the state is still good");

    memset(s->state, 0, sizeof s->state);
    memcpy(before, s, sizeof *before);
    refused(s, decode(s, tokens, 0), TC_STATUS_BAD_STATE, "state is not initialised for this model");
    free(before);
    free(s);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    int32_t *stored = tc_read_tensor(argv[1], "ids", EXPECTED * sizeof *stored);
    for (int i = 0; i < CAPACITY; ++i)
        tokens[i] = i < EXPECTED ? stored[i] : (tokens[i - 1] * 29 + 17 + i) % VOCABULARY;
    free(stored);
    session *s = session_new();
    tc_ok(prefill(s, tokens, CAPACITY) == TC_STATUS_OK, "prefill of all %d", CAPACITY);
    whole = s->logits;

    test_pytorch(argv[1]);
    session *t = session_new();
    const int prompts[] = {0, 1, 2, 8, 15, 16, 17, 31, 32, 33, 63};
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; ++i)
        test_split(t, prompts[i], CAPACITY, "one thread");
    for (int n = 1; n < EXPECTED; ++n)
        test_split(t, n, n, "one thread");
    free(t);
    test_cache();
    test_fork();
    test_instruction_sets();
    test_reference();
    test_teams();
    test_threads();
    test_errors();
    free(s);
    return tc_done();
}
