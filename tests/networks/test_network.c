/* SPDX-License-Identifier: Apache-2.0
 *
 * One function of a network against PyTorch's outputs: within a tolerance, then with the same bits on every instruction
 * set and with every team. -DMODEL_H and -DFUNCTION choose it.
 *
 *   test_network EXPECTED.safetensors
 *
 * The file holds `DIMS.NAME` for each case, DIMS the function's dims joined by "x", NAME an input or an output; the cases
 * are found by `cases`, i32 [count, dims].
 */
#include MODEL_H
#include "safetensors.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

enum { MOST = 8, CASES = 3 };

static const tc_function *const function = &FUNCTION;

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p)
        exit(1);
    return p;
}

typedef struct {
    tc_index dims[MOST];
    char name[64];
    void *buffers[MOST]; /* inputs, then outputs */
    float *want;         /* the one output */
    size_t out_bytes;
    void *state;
    tc_context context;
} test_case;

static size_t tensor_bytes(const test_case *c, unsigned tensor)
{
    int64_t sizes[TC_MAX_RANK];
    size_t bytes = tc_dtype_bytes(function->tensors[tensor].dtype);
    function->shape(c->dims, tensor, sizes);
    for (int i = 0; i < function->tensors[tensor].rank; i++)
        bytes *= (size_t)sizes[i];
    return bytes;
}

static int run(test_case *c)
{
    memset(c->buffers[function->input_count], 0xff, c->out_bytes);
    return (!c->state || tc_state_init(function->model, c->state) == TC_STATUS_OK) &&
           tc_run(&c->context, function, c->dims, c->buffers, c->state, NULL, NULL) == TC_STATUS_OK;
}

/* PyTorch computed in double; the sums here are long, and errors grow from layer to layer. Measured: at most 17 roundings
 * (2^-23) of the largest value; 64 leave room for other inputs and hide no wrong term. */
static void test_pytorch(test_case *c)
{
    const float *got = c->buffers[function->input_count];
    double worst = 0, largest = 0;
    const int ran = run(c);
    for (size_t i = 0; i < c->out_bytes / sizeof *got; i++) {
        const double error = fabs((double)got[i] - (double)c->want[i]);
        worst = error <= worst ? worst : error; /* a NaN counts */
        largest = fmax(largest, fabs((double)c->want[i]));
    }
    tc_ok(ran && worst <= 64 * FLT_EPSILON * largest, "%s: PyTorch's output", c->name);
    tc_note("largest error %.2g, %.1f roundings of the largest value; \"%s\"", worst, worst / FLT_EPSILON / largest,
            c->context.error.message);
    memcpy(c->want, got, c->out_bytes); /* from here on: the same bits */
}

static int same(const test_case *c)
{
    return !memcmp(c->buffers[function->input_count], c->want, c->out_bytes);
}

static void test_instruction_sets(test_case *c)
{
    const unsigned found = c->context.cpus;
    for (int cpu = TC_CPU_SCALAR + 1; cpu < TC_CPU_COUNT; cpu++) {
        if (!(found >> cpu & 1))
            continue;
        tc_context_limit_cpu(&c->context, (tc_cpu)cpu);
        const int ran = run(c);
        if (!ran && c->context.error.status == TC_STATUS_UNSUPPORTED_CPU)
            tc_skip(1, "the model is built without this instruction set");
        else
            tc_ok(ran && same(c), "%s: the same bits with %s", c->name, tc_cpu_name((tc_cpu)cpu));
        c->context.cpus = found;
    }
}

static void test_teams(test_case *c)
{
    const int sizes[] = {2, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tc_pool *pool = tc_pool_create(sizes[i]);
        tc_context_use_pool(&c->context, pool);
        tc_ok(run(c) && same(c), "%s: the same bits with a team of %d", c->name, sizes[i]);
        tc_pool_destroy(pool);
        c->context.team = (tc_team){0};
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const unsigned inputs = function->input_count;
    int32_t *cases = tc_read_tensor(argv[1], "cases", sizeof(int32_t) * CASES * function->dim_count);
    for (unsigned i = 0; i < CASES; i++) {
        test_case c = {0};
        char name[96];
        int length = 0;
        for (unsigned d = 0; d < function->dim_count; d++) {
            c.dims[d] = cases[i * function->dim_count + d];
            length += snprintf(c.name + length, sizeof c.name - (size_t)length, "%s%d", d ? "x" : "", (int)c.dims[d]);
        }
        for (unsigned t = 0; t < inputs; t++) {
            snprintf(name, sizeof name, "%s.%s", c.name, function->tensors[t].name);
            c.buffers[t] = tc_read_tensor(argv[1], name, tensor_bytes(&c, t));
        }
        c.out_bytes = tensor_bytes(&c, inputs);
        c.buffers[inputs] = allocate(c.out_bytes);
        snprintf(name, sizeof name, "%s.%s", c.name, function->tensors[inputs].name);
        c.want = tc_read_tensor(argv[1], name, c.out_bytes);
        c.state = function->uses_state ? allocate(tc_state_bytes(function->model)) : NULL;
        const size_t bytes = tc_run_arena_bytes(function, c.dims, 5);
        void *arena = allocate(bytes);
        tc_context_init(&c.context, arena, bytes);

        test_pytorch(&c);
        test_instruction_sets(&c);
        test_teams(&c);
        for (unsigned t = 0; t <= inputs; t++)
            free(c.buffers[t]);
        free(c.want);
        free(c.state);
        free(arena);
    }
    free(cases);
    return tc_done();
}
