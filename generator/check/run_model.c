/* SPDX-License-Identifier: Apache-2.0
 *
 * The target's part of `tensor-compile check`: calls a compiled function through the dynamic entry.
 *
 *   run-model [--profile CALLS TRACE | --time MILLISECONDS -] FUNCTION IN.safetensors OUT.safetensors CPU THREADS WEIGHTS|- STATE|- STATE_OUT|-
 *   [DIM=SIZE…]
 *
 * Inputs are taken from IN by name, outputs are written to OUT; the state starts as STATE says and what it is
 * afterwards is written to STATE_OUT (-: no state). Every dim of the function must be given. CPU: the best instruction
 * set to use, "best" (of a model for a device: whatever that is called), or "reference" for the model's reference
 * kernels. The generated table run_functions names the model's functions. Exit codes: 0, 1 (the call failed: its
 * message is on stderr), 2 (wrong arguments), 3 (this processor does not have CPU), 4 (there is no such device, or it
 * refuses).
 *
 * --profile: one call, then up to CALLS more that are recorded (fewer where they take over a second), all from the same
 * state; TRACE gets what the recorder writes, and the number of calls is printed.
 *
 * --time: one call, then as many more as fit the time, three at least, each from the same state; the nanoseconds of the
 * shortest are printed. Of a model for a device: calls in rows, with tensors and state in its memory.
 *
 * A model for a device runs on the first one that its driver shows.
 */
#include "tensor_compile/cuda.h"
#include "tensor_compile/driver.h"
#include "tensor_compile/hosted.h"
#include "tensor_compile/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const tc_function *const run_functions[];

enum { MOST = 256, FIRST_DIM = 9 };

static int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 2;
}

static void *aligned(size_t bytes)
{
    return aligned_alloc(TC_ALIGNMENT, bytes / TC_ALIGNMENT * TC_ALIGNMENT + TC_ALIGNMENT);
}

/* Of a file that cannot be read or written: what the tool shows as an error of the user's. */
static int fail_file(const char *path, const char *message)
{
    fprintf(stderr, "%s: error: %s\n", path, message);
    return 2;
}

/* Every buffer between pattern bytes, so that a write beyond its end is seen. */
enum { GUARD = 64, PATTERN = 0xa5 };

static unsigned char *guarded(size_t bytes)
{
    unsigned char *base = aligned(bytes + 2 * GUARD);
    if (!base)
        return NULL;
    memset(base, PATTERN, bytes + 2 * GUARD);
    return base + GUARD;
}

static int intact(const unsigned char *data, size_t bytes)
{
    for (int i = 0; i < GUARD; ++i)
        if (data[-1 - i] != PATTERN || data[bytes + (size_t)i] != PATTERN)
            return 0;
    return 1;
}

static tc_cpu cpu_named(const char *name)
{
    for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu)
        if (!strcmp(name, tc_cpu_name((tc_cpu)cpu)))
            return (tc_cpu)cpu;
    return TC_CPU_COUNT;
}

static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *bytes = (size_t)ftell(file);
        rewind(file);
        data = aligned(*bytes);
        if (data && fread(data, 1, *bytes, file) != *bytes) {
            free(data);
            data = NULL;
        }
    }
    if (file)
        fclose(file);
    return data;
}

static void take_dims(const tc_function *f, int count, char **words, tc_index *dims)
{
    for (unsigned d = 0; d < f->dim_count; ++d)
        for (int i = 0; i < count; ++i) {
            const size_t length = strlen(f->dims[d].name);
            if (!strncmp(words[i], f->dims[d].name, length) && words[i][length] == '=')
                dims[d] = (tc_index)strtoll(words[i] + length + 1, NULL, 10);
        }
}

/* The tensors of the file into the state. */
static int import_state(const tc_model *model, void *state, const tc_safetensors *file)
{
    for (size_t i = 0; i < file->count; ++i)
        if (tc_state_import(model, state, file->tensors[i].name, file->tensors[i].data, file->tensors[i].bytes))
            return fail("the state has no such tensor, or one of another size");
    return 0;
}

/* The tensors that the file names, as they are in the state now. */
static int export_state(const tc_model *model, const void *state, const tc_safetensors *file, const char *path)
{
    tc_safetensor *tensors = calloc(file->count + 1, sizeof *tensors);
    int ok = tensors != NULL;
    for (size_t i = 0; ok && i < file->count; ++i) {
        void *data = malloc(file->tensors[i].bytes + 1);
        tensors[i] = file->tensors[i];
        tensors[i].data = data;
        ok = data && tc_state_export(model, state, tensors[i].name, data, tensors[i].bytes) == TC_STATUS_OK;
    }
    if (!ok)
        return fail("the state cannot be read");
    const tc_status status = tc_safetensors_write(path, tensors, file->count);
    const char *reason = strerror(errno);
    for (size_t i = 0; i < file->count; ++i)
        free((void *)tensors[i].data);
    free(tensors);
    return status == TC_STATUS_OK ? 0 : fail_file(path, reason);
}

/* A device with the model and an arena on it, in the context's place of the arena. */
static tc_cuda *open_device(tc_context *context, const tc_model *model, const void *weights, size_t arena_bytes)
{
    tc_cuda *cuda;
    if (tc_cuda_open(&cuda, 0, &context->error) == TC_STATUS_OK &&
        tc_cuda_load(cuda, model, weights, &context->error) == TC_STATUS_OK &&
        tc_cuda_reserve(cuda, arena_bytes, &context->error) == TC_STATUS_OK) {
        tc_context_use_cuda(context, cuda);
        return cuda;
    }
    tc_cuda_close(cuda);
    return NULL;
}

/* Calls again, recorded; the state begins as `start` every time. The number of calls, 0 where one fails. */
static int profile_calls(tc_context *context, const tc_function *f, const tc_view *views,
                         const tc_call_options *options, const void *start, int most, const char *trace)
{
    const clock_t begin = clock();
    tc_recorder *recorder = tc_recorder_create((size_t)1 << 18);
    int calls = 0, ok = recorder != NULL;
    tc_context_use_recorder(context, recorder);
    while (ok && calls < most && (calls < 3 || clock() - begin < CLOCKS_PER_SEC)) {
        if (start)
            tc_state_copy(f->model, options->state, start);
        ok = tc_call(context, f, views, f->input_count, views + f->input_count, f->output_count, options) ==
             TC_STATUS_OK;
        ++calls;
    }
    tc_context_use_recorder(context, NULL);
    ok = ok && tc_recorder_write(recorder, trace) == TC_STATUS_OK;
    tc_recorder_destroy(recorder);
    return ok ? calls : 0;
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The nanoseconds of the shortest of some calls; -1 where one fails. */
static long long time_calls(tc_context *context, const tc_function *f, const tc_view *views,
                            const tc_call_options *options, const void *start, int milliseconds)
{
    const long long end = now() + milliseconds * 1000000LL;
    long long least = -1;
    for (int calls = 0; calls < 3 || now() < end; ++calls) {
        if (start)
            tc_state_copy(f->model, options->state, start);
        const long long begin = now();
        if (tc_call(context, f, views, f->input_count, views + f->input_count, f->output_count, options) !=
            TC_STATUS_OK)
            return -1;
        const long long taken = now() - begin;
        least = least < 0 || taken < least ? taken : least;
    }
    return least;
}

/* Memory of the device with a copy of `from`; 0 where there is none. */
static uint64_t on_device(tc_cuda *cuda, const void *from, size_t bytes, tc_error *error)
{
    uint64_t address = 0;
    if (bytes && tc_cuda_allocate(cuda, &address, bytes, error) == TC_STATUS_OK &&
        tc_cuda_upload(cuda, address, from, bytes, NULL, error) != TC_STATUS_OK) {
        tc_cuda_free(cuda, address, error);
        address = 0;
    }
    return address;
}

/* Nanoseconds of a call in a row of them that begins when the device is idle; -1 where one fails. */
static long long time_row(tc_context *context, tc_cuda *cuda, const tc_function *f, const tc_index *dims,
                          void *const *buffers, void *state)
{
    enum { IN_A_ROW = 16 };
    const long long begin = now();
    for (int i = 0; i < IN_A_ROW; ++i)
        if (tc_run_resident(context, f, dims, buffers, state, NULL, NULL) != TC_STATUS_OK)
            return -1;
    return tc_cuda_finish(cuda, NULL, &context->error) == TC_STATUS_OK ? (now() - begin) / IN_A_ROW : -1;
}

/* As time_calls, of a model for a device. The first row records and warms up. */
static long long time_resident(tc_context *context, tc_cuda *cuda, const tc_function *f, const tc_index *dims,
                               const tc_view *views, const size_t *bytes, const void *start, int milliseconds)
{
    static uint64_t there[MOST];
    static void *buffers[MOST];
    const unsigned count = f->input_count + f->output_count;
    const uint64_t state = on_device(cuda, start, f->model->state_bytes, &context->error);
    int ok = !start || state;
    for (unsigned t = 0; t < count; ++t) {
        there[t] = on_device(cuda, views[t].data, bytes[t], &context->error);
        buffers[t] = (void *)(uintptr_t)there[t];
        ok &= !bytes[t] || there[t];
    }
    long long least = -1, end = 0;
    for (int rows = -1; ok && (rows < 3 || now() < end); ++rows) {
        ok = !start || tc_cuda_upload(cuda, state, start, f->model->state_bytes, NULL, &context->error) == TC_STATUS_OK;
        ok = ok && tc_cuda_finish(cuda, NULL, &context->error) == TC_STATUS_OK;
        const long long taken = ok ? time_row(context, cuda, f, dims, buffers, (void *)(uintptr_t)state) : -1;
        ok = taken >= 0;
        if (rows < 0)
            end = now() + milliseconds * 1000000LL;
        else if (least < 0 || taken < least)
            least = taken;
    }
    for (unsigned t = 0; t < count; ++t)
        tc_cuda_free(cuda, there[t], &context->error);
    tc_cuda_free(cuda, state, &context->error);
    return ok ? least : -1;
}

int main(int argc, char **argv)
{
    const int profiled = argc > 3 && !strcmp(argv[1], "--profile") ? atoi(argv[2]) : 0;
    const int timed = argc > 3 && !strcmp(argv[1], "--time") ? atoi(argv[2]) : 0;
    const char *trace = profiled ? argv[3] : NULL;
    argv += profiled || timed ? 3 : 0;
    argc -= profiled || timed ? 3 : 0;
    if (argc < FIRST_DIM)
        return fail("run-model FUNCTION IN OUT CPU THREADS WEIGHTS|- STATE|- STATE_OUT|- [DIM=SIZE...]");
    const tc_function *f = NULL;
    for (int i = 0; run_functions[i]; ++i)
        if (!strcmp(run_functions[i]->name, argv[1]))
            f = run_functions[i];
    if (!f || f->input_count + f->output_count > MOST)
        return fail("no such function");

    tc_safetensors in;
    if (tc_safetensors_open(&in, argv[2]) != TC_STATUS_OK)
        return fail_file(argv[2], in.message);

    static tc_index dims[MOST], shape_of[MOST][TC_MAX_RANK];
    static tc_view views[MOST];
    static tc_safetensor results[MOST];
    static size_t bytes[MOST];
    take_dims(f, argc - FIRST_DIM, argv + FIRST_DIM, dims);

    const unsigned count = f->input_count + f->output_count;
    for (unsigned t = 0; t < count; ++t) {
        const tc_tensor_info *info = &f->tensors[t];
        int64_t sizes[TC_MAX_RANK];
        size_t elements = 1;
        f->shape(dims, t, sizes);
        for (int d = 0; d < info->rank; ++d) {
            shape_of[t][d] = (tc_index)sizes[d];
            results[t].shape[d] = (tc_index)sizes[d];
            elements *= (size_t)sizes[d];
        }
        bytes[t] = elements * tc_dtype_bytes(info->dtype);
        unsigned char *data = guarded(bytes[t]);
        if (!data)
            return fail("out of memory");
        views[t] = (tc_view){data, info->dtype, info->rank, shape_of[t], NULL};
        results[t].name = info->name;
        results[t].dtype = info->dtype;
        results[t].rank = info->rank;
        results[t].data = data;
        results[t].bytes = bytes[t];
        if (t < f->input_count) {
            const tc_safetensor *given = tc_safetensors_find(&in, info->name);
            if (!given || given->dtype != results[t].dtype || given->bytes != bytes[t]) {
                fprintf(stderr, "input %s: missing, or another dtype or shape\n", info->name);
                return 2;
            }
            memcpy(data, given->data, bytes[t]);
        }
    }

    tc_context context;
    const tc_index threads = (tc_index)strtol(argv[5], NULL, 10);
    const tc_stance stance = strcmp(argv[4], "reference") ? TC_STANCE_DEFAULT : TC_STANCE_REFERENCE;
    const size_t arena_bytes = tc_function_arena_bytes(f, dims, threads, stance);
    unsigned char *arena = guarded(f->model->device ? 0 : arena_bytes);
    void *state = f->model->state_bytes ? aligned(f->model->state_bytes) : NULL;
    size_t weights_bytes = 0;
    void *weights = strcmp(argv[6], "-") ? read_file(argv[6], &weights_bytes) : NULL;
    if (!arena || (f->model->state_bytes && (!state || tc_state_init(f->model, state) != TC_STATUS_OK)))
        return fail("out of memory");
    tc_safetensors initial = {0};
    if (state && tc_safetensors_open(&initial, argv[7]) != TC_STATUS_OK)
        return fail_file(argv[7], initial.message);
    if (state && import_state(f->model, state, &initial))
        return 2;
    if (weights && tc_weights_check(f->model, weights, weights_bytes) != TC_STATUS_OK)
        return fail("the weights file is not this model's");
    tc_context_init(&context, arena, f->model->device ? 0 : arena_bytes);
    context.stance = stance;
    tc_cuda *cuda = NULL;
    if (f->model->device && !(cuda = open_device(&context, f->model, weights, arena_bytes))) {
        fprintf(stderr, "%s\n", context.error.message);
        return 4;
    }
    if (!cuda && stance == TC_STANCE_DEFAULT && strcmp(argv[4], "best")) {
        const tc_cpu cpu = cpu_named(argv[4]);
        if (cpu == TC_CPU_COUNT || !(context.cpus & 1u << cpu))
            return 3;
        tc_context_limit_cpu(&context, cpu);
    }

    tc_pool *pool = threads > 1 ? tc_pool_create(threads) : NULL;
    if (pool)
        tc_context_use_pool(&context, pool);

    const tc_call_options options = {.dims = dims, .state = state, .weights = weights};
    void *start = state && (profiled || timed) ? aligned(f->model->state_bytes) : NULL;
    if (start && tc_state_copy(f->model, start, state) != TC_STATUS_OK)
        return fail("the state cannot be copied");
    const tc_status status = tc_call(&context, f, views, f->input_count, views + f->input_count, f->output_count,
                                     &options);
    if (status == TC_STATUS_OK && profiled)
        printf("%d\n", profile_calls(&context, f, views, &options, start, profiled, trace));
    if (status == TC_STATUS_OK && timed)
        printf("%lld\n", cuda ? time_resident(&context, cuda, f, dims, views, bytes, start, timed)
                              : time_calls(&context, f, views, &options, start, timed));
    free(start);
    tc_pool_destroy(pool);
    tc_cuda_close(cuda);
    if (status != TC_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", tc_status_string(status), context.error.message);
        return 1;
    }
    for (unsigned t = 0; t < count; ++t)
        if (!intact(views[t].data, bytes[t])) {
            fprintf(stderr, "%s: written beyond its end\n", f->tensors[t].name);
            return 1;
        }
    if (!f->model->device && !intact(arena, arena_bytes)) {
        fprintf(stderr, "the arena was written beyond its end\n");
        return 1;
    }
    if (tc_safetensors_write(argv[3], results + f->input_count, f->output_count) != TC_STATUS_OK)
        return fail_file(argv[3], strerror(errno));
    if (state && export_state(f->model, state, &initial, argv[8]))
        return 2;
    tc_safetensors_close(&initial);
    tc_safetensors_close(&in);
    return 0;
}
