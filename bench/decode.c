/* SPDX-License-Identifier: Apache-2.0
 *
 * How near a decoder's step comes to a plain read of the bytes that it reads (decode.py): decode THREADS PAST ROUNDS
 * HEADER TABLE. Weights and state lie in huge pages where the system gives them. HEADER: a file of which the first 128
 * bytes are those of the model's external weights; the weights themselves are seeded. TABLE: bytes of weights of which
 * a step reads one row. The program answers the bytes, then the nanoseconds of each round: of the read in one stream a
 * thread, in four, of the step.
 */
#define _GNU_SOURCE /* madvise */
#include "model.h"

#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum {
    HEADER = 128,
    HUGE = 1 << 21,
    LANES = 8,
    AHEAD = 1024,
    STEP = 4 * LANES * sizeof(float),
    STREAMS = 4,
    SHORT = 1 << 16,
    PARTS = 1 << 12
};

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

typedef struct part {
    const unsigned char *at;
    size_t bytes;
} part;

static const tc_function *const function = &smollm2_decode_function;
static tc_context context;
static part parts[PARTS]; /* all that a step reads */
static int part_count, in_streams;
static size_t all;
static _Alignas(64) lanes sums[256];

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *memory(size_t bytes)
{
    const size_t room = (bytes + HUGE - 1) / HUGE * HUGE;
    unsigned char *made = mmap(NULL, room + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        exit(3);
    made += (HUGE - (uintptr_t)made % HUGE) % HUGE;
    madvise(made, room, MADV_HUGEPAGE);
    return made;
}

static void on_team(tc_team_job *job, void *argument)
{
    if (context.team.run)
        context.team.run(context.team.user, context.team.threads, job, argument);
    else
        job(argument, 0, 1);
}

/* -- the plain read -------------------------------------------------------------------------------------------------- */

static lanes four_of(const unsigned char *at)
{
    const lanes *const x = (const lanes *)at;
    return (x[0] + x[1]) + (x[2] + x[3]);
}

static lanes read_one(const unsigned char *from, size_t bytes)
{
    lanes sum[2] = {{0}};
    for (size_t i = 0; i + 2 * STEP <= bytes; i += 2 * STEP) {
        sum[0] += four_of(from + i);
        sum[1] += four_of(from + i + STEP);
    }
    return sum[0] + sum[1];
}

/* Neighbouring quarters side by side, fetched ahead. */
static lanes read_four(const unsigned char *from, size_t bytes)
{
    const size_t quarter = bytes < SHORT ? 0 : bytes / STREAMS / STEP * STEP;
    lanes sum[STREAMS] = {{0}};
    for (size_t i = 0; i < quarter; i += STEP)
        for (size_t s = 0; s < STREAMS; s++) {
            const unsigned char *const at = from + s * quarter + i;
            __builtin_prefetch(at + AHEAD);
            __builtin_prefetch(at + AHEAD + STEP / 2);
            sum[s] += four_of(at);
        }
    return sum[0] + sum[1] + sum[2] + sum[3] + read_one(from + STREAMS * quarter, bytes - STREAMS * quarter);
}

/* A thread's part of all bytes. */
static void read_part(void *argument, tc_index thread, tc_index threads)
{
    const size_t begin = all / 64 * (size_t)thread / (size_t)threads * 64,
                 end = all / 64 * ((size_t)thread + 1) / (size_t)threads * 64;
    lanes sum = {0};
    size_t at = 0;
    (void)argument;
    for (int i = 0; i < part_count; at += parts[i++].bytes) {
        const size_t from = begin > at ? begin - at : 0, to = end < at + parts[i].bytes ? end - at : parts[i].bytes;
        if (end > at && to > from)
            sum += (in_streams ? read_four : read_one)(parts[i].at + from, to - from);
    }
    sums[thread % 256] = sum;
}

static int64_t read_all(int streams)
{
    const int64_t begin = now();
    in_streams = streams;
    on_team(read_part, NULL);
    return now() - begin;
}

static void add(const unsigned char *at, size_t bytes)
{
    if (part_count == PARTS)
        exit(4);
    parts[part_count++] = (part){at, bytes};
    all += bytes;
}

/* -- the model ------------------------------------------------------------------------------------------------------- */

typedef struct seeded {
    float *to;
    size_t count;
    float scale;
} seeded;

static void fill_part(void *argument, tc_index thread, tc_index threads)
{
    const seeded *const s = argument;
    const size_t begin = s->count * (size_t)thread / (size_t)threads,
                 end = s->count * ((size_t)thread + 1) / (size_t)threads;
    for (size_t i = begin; i < end; i++) {
        const uint64_t mixed = (i ^ i >> 17) * UINT64_C(0x9e3779b97f4a7c15);
        s->to[i] = s->scale * ((float)(mixed >> 40) - 8388608.0F) / 8388608.0F;
    }
}

int main(int argc, char **argv)
{
    const tc_model *const model = function->model;
    if (argc != 6)
        return 2;
    const int threads = atoi(argv[1]), rounds = atoi(argv[3]);
    const tc_index past = atoi(argv[2]);
    const size_t weights_bytes = (size_t)model->weights_bytes, table = (size_t)atoll(argv[5]);
    const size_t arena = tc_run_arena_bytes(function, &past, threads);
    unsigned char *const weights = memory(HEADER + weights_bytes), *const state = memory(tc_state_bytes(model));
    if (tc_context_init(&context, memory(arena), (arena + 63) / 64 * 64) != TC_STATUS_OK)
        return 1;
    if (threads > 1)
        tc_context_use_pool(&context, tc_pool_create(threads));
    on_team(fill_part, &(seeded){(float *)weights, (HEADER + weights_bytes) / 4, 0.05F});
    FILE *header = fopen(argv[4], "rb");
    if (!header || fread(weights, 1, HEADER, header) != HEADER || tc_state_init(model, state) != TC_STATUS_OK)
        return 1;
    fclose(header);
    add(weights + HEADER + table, weights_bytes - table);
    const tc_state_info *const last = &model->states[model->state_count - 1];
    unsigned char *const tensors = state + tc_state_bytes(model) - last->offset - tc_round((int64_t)last->bytes);
    for (unsigned i = 0; i < model->state_count; i++) {
        const tc_state_info *const s = &model->states[i];
        on_team(fill_part, &(seeded){(float *)(tensors + s->offset), s->bytes / 4, 0.5F});
        for (size_t head = 0; head < KV_HEADS; head++)
            add(tensors + s->offset + head * (s->bytes / KV_HEADS), (size_t)(past + 1) * HEAD * sizeof(float));
    }
    int64_t id = 0;
    void *buffers[] = {&id, memory(tc_function_tensor_bytes(function, 1, &past))};
    printf("%zu\n", all);
    for (int i = -1; i < rounds; i++) {
        const int64_t one = read_all(0), four = read_all(1), begin = now();
        if (tc_run(&context, function, &past, buffers, state, weights, NULL) != TC_STATUS_OK)
            return 1;
        const int64_t step = now() - begin;
        if (i >= 0) /* the first brings all to where it stays */
            printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", one, four, step);
    }
    return 0;
}
