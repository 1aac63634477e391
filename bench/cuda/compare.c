/* SPDX-License-Identifier: Apache-2.0
 *
 * The same model compiled for the processor and for CUDA (or twice for CUDA), called with the same random data, result by
 * result:
 *
 *   compare CPU.so CUDA.so MODEL [--below NAME=N] [--repeat N] [--memory BYTES] FUNCTION[,DIM=SIZE…] …
 *
 * Each .so is a model's object alone; the runtime is this program's. Functions are called in order on one state a side.
 * --below: integers of the input NAME are below N, from then on. --repeat: each call is made once more to see that it
 * gives the same bits, and then N times for the clock; so are calls with everything in the device's memory, recorded and
 * not, whose time is that of many in a row. --weights: the file of those of both; --cpu-weights: of the first one's alone.
 * --tolerance: of the largest element, in place of 1e-4. Prints a line for each output, state and call; exit 1 where any output differs by more or a
 * repetition differs by a bit.
 */
#define _POSIX_C_SOURCE 200809L
#include <tensor_compile/cuda.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16 };

typedef struct side {
    const char *name;
    void *library;
    const tc_model *model;
    const tc_function *function;
    tc_context context;
    void *arena, *state, *before;
    void *outputs[MOST];
    const void *weights; /* external ones */
} side;

static uint64_t seed = 1;
static double tolerance = 1e-4;

static uint64_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "compare: %s: %s\n", what, why ? why : "?");
    exit(2);
}

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        die("memory", "none left");
    memset(p, 0xff, bytes);
    return p;
}

/* The weights of the model at `path`; they stay mapped. */
static const void *weights_of(const side *s, const char *path)
{
    tc_weights_file file;
    if (tc_weights_open(&file, s->model, path, 0) != TC_STATUS_OK)
        die(path, "no weights of the model");
    return file.data;
}

static const void *find(const side *s, const char *model, const char *suffix)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", model, suffix);
    const void *found = dlsym(s->library, name);
    if (!found)
        die(s->name, dlerror());
    return found;
}

static size_t bytes_of(const tc_function *f, const tc_index *dims, unsigned tensor)
{
    int64_t sizes[TC_MAX_RANK];
    size_t bytes = tc_dtype_bytes(f->tensors[tensor].dtype);
    f->shape(dims, tensor, sizes);
    for (int i = 0; i < f->tensors[tensor].rank; ++i)
        bytes *= (size_t)sizes[i];
    return bytes;
}

static void fill(void *data, tc_dtype dtype, size_t bytes, int64_t below)
{
    const size_t n = bytes / tc_dtype_bytes(dtype);
    for (size_t i = 0; i < n; ++i) {
        const int64_t value = (int64_t)(next_random() % (uint64_t)below);
        if (dtype == TC_DTYPE_F32)
            ((float *)data)[i] = (float)((double)next_random() / 1073741824.0 - 1.0);
        else if (dtype == TC_DTYPE_BF16) {
            const float any = (float)((double)next_random() / 1073741824.0 - 1.0);
            memcpy((uint16_t *)data + i, (const char *)&any + 2, 2);
        } else if (dtype == TC_DTYPE_I32)
            ((int32_t *)data)[i] = (int32_t)value;
        else if (dtype == TC_DTYPE_I64)
            ((int64_t *)data)[i] = value;
        else
            ((uint8_t *)data)[i] = (uint8_t)(value & 1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void call(side *s, const tc_index *dims, void *const *inputs)
{
    const tc_function *f = s->function;
    void *buffers[2 * MOST];
    memcpy(buffers, inputs, f->input_count * sizeof *inputs);
    memcpy(buffers + f->input_count, s->outputs, f->output_count * sizeof *inputs);
    if (tc_run(&s->context, f, dims, buffers, s->state, s->weights, NULL) != TC_STATUS_OK)
        die(s->name, s->context.error.message);
}

/* The floats of these of 16 bits, in memory that the caller frees. */
static float *widened(const void *from, size_t n)
{
    float *all = block(n * sizeof *all);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
        memcpy(all + i, &bits, sizeof bits);
    }
    return all;
}

/* How far x is from y: infinitely where one of them alone is a NaN, or an infinity. */
static double apart(double x, double y)
{
    if (x == y || (x != x && y != y))
        return 0.0;
    const double error = fabs(x - y);
    return error == error ? error : INFINITY;
}

/* Prints how b differs from a; returns whether within the bound. */
static int compare(const char *what, const char *name, const void *a, const void *b, tc_dtype dtype, size_t bytes)
{
    if (dtype == TC_DTYPE_BF16) {
        float *const x = widened(a, bytes / 2), *const y = widened(b, bytes / 2);
        const int same = compare(what, name, x, y, TC_DTYPE_F32, bytes * 2);
        free(x), free(y);
        return same;
    }
    double largest = 0.0, error = 0.0;
    const size_t n = dtype == TC_DTYPE_F32 ? bytes / sizeof(float) : 0;
    size_t different = 0;
    for (size_t i = 0; i < n; ++i) {
        const double x = ((const float *)a)[i], y = ((const float *)b)[i];
        if (x != x && y != y)
            continue;
        different += memcmp((const float *)a + i, (const float *)b + i, sizeof(float)) != 0;
        largest = fabs(x) > largest && fabs(x) < INFINITY ? fabs(x) : largest;
        error = apart(x, y) > error ? apart(x, y) : error;
    }
    if (dtype != TC_DTYPE_F32)
        different = memcmp(a, b, bytes) != 0;
    const int good = dtype == TC_DTYPE_F32 ? error <= tolerance * (largest > 1.0 ? largest : 1.0) : !different;
    printf("%s %s: largest error %.3g of %.3g, %zu of %zu elements differ in a bit%s\n", what, name, error, largest,
           different, dtype == TC_DTYPE_F32 ? n : bytes / tc_dtype_bytes(dtype), good ? "" : " FAILED");
    return good;
}

static uint64_t upload(tc_cuda *device, const void *from, size_t bytes)
{
    tc_error error;
    uint64_t address;
    if (tc_cuda_allocate(device, &address, bytes, &error) != TC_STATUS_OK ||
        tc_cuda_upload(device, address, from, bytes, NULL, &error) != TC_STATUS_OK ||
        tc_cuda_finish(device, NULL, &error) != TC_STATUS_OK)
        die("device", error.message);
    return address;
}

/* Calls with everything on the device: whether they give the bits of the call before; their times are printed. */
static int resident(tc_cuda *device, side *s, const char *name, const tc_index *dims, void *const *inputs, int repeat)
{
    const tc_function *f = s->function;
    const unsigned count = f->input_count + f->output_count;
    enum { IN_A_ROW = 20 };
    uint64_t there[2 * MOST], state = 0;
    void *buffers[2 * MOST];
    tc_error error;
    int same = 1;
    double *times = malloc((size_t)repeat * sizeof *times), *asked = malloc((size_t)repeat * sizeof *asked);
    double median[2], host[2];
    for (unsigned i = 0; i < count; ++i) {
        const size_t bytes = bytes_of(f, dims, i);
        there[i] = upload(device, i < f->input_count ? inputs[i] : s->outputs[i - f->input_count], bytes);
        buffers[i] = (void *)(uintptr_t)there[i];
    }
    if (s->state)
        state = upload(device, s->before, tc_state_bytes(s->model));
    for (int recorded = 0; recorded < 2; ++recorded) {
        tc_cuda_graphs(device, recorded ? 4 : -1);
        for (int r = -2; r < repeat; ++r) {
            if (s->state)
                tc_cuda_upload(device, state, s->before, tc_state_bytes(s->model), NULL, &error);
            if (tc_cuda_finish(device, NULL, &error) != TC_STATUS_OK)
                die("device", error.message);
            const double start = now();
            const int calls = r < 0 || repeat == 1 ? 1 : IN_A_ROW;
            for (int i = 0; i < calls; ++i)
                if (tc_run_resident(&s->context, f, dims, buffers, (void *)(uintptr_t)state, NULL, NULL) != TC_STATUS_OK)
                    die(s->name, s->context.error.message);
            const double given = now() - start;
            if (tc_cuda_finish(device, NULL, &error) != TC_STATUS_OK)
                die("device", error.message);
            if (r >= 0) {
                times[r] = (now() - start) / calls;
                asked[r] = given / calls;
            }
            /* what many calls in a row make of a state need not be what one makes of it */
            for (unsigned i = 0; r < (s->state ? 0 : 2) && i < f->output_count; ++i) {
                const size_t bytes = bytes_of(f, dims, f->input_count + i);
                void *found = block(bytes);
                if (tc_cuda_download(device, found, there[f->input_count + i], bytes, NULL, &error) != TC_STATUS_OK ||
                    tc_cuda_finish(device, NULL, &error) != TC_STATUS_OK)
                    die("device", error.message);
                same &= !memcmp(found, s->outputs[i], bytes);
                free(found);
            }
        }
        qsort(times, (size_t)repeat, sizeof *times, by_time);
        qsort(asked, (size_t)repeat, sizeof *asked, by_time);
        median[recorded] = times[repeat / 2], host[recorded] = asked[repeat / 2];
    }
    printf("%s: with everything on the device %s bits; %.1f us a call recorded (%.1f us of the processor's), %.1f us (%.1f "
           "us) not\n",
           name, same ? "the same" : "OTHER", median[1], host[1], median[0], host[0]);
    for (unsigned i = 0; i < count; ++i)
        tc_cuda_free(device, there[i], &error);
    tc_cuda_free(device, state, &error);
    free(times);
    free(asked);
    return same;
}

static int run(tc_cuda *device, side *cpu, side *cuda, const char *name, const tc_index *dims,
               const char *below_name, int64_t below, int repeat)
{
    const tc_function *f = cpu->function;
    const unsigned count = f->input_count + f->output_count;
    void *inputs[MOST];
    for (unsigned i = 0; i < count; ++i) {
        const size_t bytes = bytes_of(f, dims, i);
        if (i < f->input_count) {
            inputs[i] = block(bytes);
            fill(inputs[i], f->tensors[i].dtype, bytes,
                 below_name && !strcmp(below_name, f->tensors[i].name) ? below : 2);
        } else {
            cpu->outputs[i - f->input_count] = block(bytes);
            cuda->outputs[i - f->input_count] = block(bytes);
        }
    }
    side *const sides[] = {cpu, cuda};
    const size_t arena = cpu->model->device ? 0 : tc_function_arena_bytes(f, dims, 1, TC_STANCE_DEFAULT);
    cpu->arena = block(arena);
    cpu->context.arena = cpu->arena;
    cpu->context.arena_bytes = arena;
    for (int s = 0; s < 2; ++s) {
        if (sides[s]->state)
            memcpy(sides[s]->before, sides[s]->state, tc_state_bytes(sides[s]->model));
        call(sides[s], dims, inputs);
    }
    int good = 1;
    for (unsigned i = 0; i < f->output_count; ++i) {
        const tc_tensor_info *tensor = &f->tensors[f->input_count + i];
        good &= compare(name, tensor->name, cpu->outputs[i], cuda->outputs[i], tensor->dtype,
                        bytes_of(f, dims, f->input_count + i));
    }
    for (unsigned i = 0; f->uses_state && i < cpu->model->state_count; ++i) {
        const tc_state_info *state = &cpu->model->states[i];
        void *a = block(state->bytes), *b = block(state->bytes);
        tc_state_export(cpu->model, cpu->state, state->name, a, state->bytes);
        tc_state_export(cuda->model, cuda->state, state->name, b, state->bytes);
        good &= compare(name, state->name, a, b, state->dtype, state->bytes);
        free(a), free(b);
    }
    double *times = malloc((size_t)(repeat + 1) * sizeof *times), median = 0;
    if (repeat) {
        void *first[MOST];
        int same = 1;
        for (unsigned i = 0; i < f->output_count; ++i) {
            const size_t bytes = bytes_of(f, dims, f->input_count + i);
            first[i] = block(bytes);
            memcpy(first[i], cuda->outputs[i], bytes);
        }
        for (int r = 0; r < repeat; ++r) {
            if (cuda->state)
                memcpy(cuda->state, cuda->before, tc_state_bytes(cuda->model));
            const double start = now();
            call(cuda, dims, inputs);
            times[r] = now() - start;
            for (unsigned i = 0; i < f->output_count; ++i)
                same &= !memcmp(first[i], cuda->outputs[i], bytes_of(f, dims, f->input_count + i));
        }
        qsort(times, (size_t)repeat, sizeof *times, by_time);
        median = times[repeat / 2];
        printf("%s: %d repetitions give %s bits; a call takes %.1f us with its copies (median)\n", name, repeat,
               same ? "the same" : "OTHER", median);
        good &= same;
        good &= resident(device, cuda, name, dims, inputs, repeat);
        for (unsigned i = 0; i < f->output_count; ++i)
            free(first[i]);
    }
    free(times);
    free(cpu->arena);
    for (unsigned i = 0; i < f->input_count; ++i)
        free(inputs[i]);
    for (unsigned i = 0; i < f->output_count; ++i)
        free(cpu->outputs[i]), free(cuda->outputs[i]);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        die("usage", "compare CPU.so CUDA.so MODEL [options] FUNCTION[,DIM=SIZE...] ...");
    side cpu = {.name = "cpu"}, cuda = {.name = "cuda"};
    side *const sides[] = {&cpu, &cuda};
    for (int i = 0; i < 2; ++i) {
        side *s = sides[i];
        if (!(s->library = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL)))
            die(s->name, dlerror());
        s->model = find(s, argv[3], "_model");
        if (tc_context_init(&s->context, NULL, 0) != TC_STATUS_OK)
            die(s->name, s->context.error.message);
        if (tc_state_bytes(s->model)) {
            s->state = block(tc_state_bytes(s->model));
            s->before = block(tc_state_bytes(s->model));
            tc_state_init(s->model, s->state);
        }
    }
    tc_cuda *device;
    tc_error error;
    size_t memory = 1 << 20;
    const char *below_name = NULL;
    const char *files[] = {NULL, NULL};
    for (int i = 4; i + 1 < argc; ++i) {
        files[0] = !strcmp(argv[i], "--cpu-weights") ? argv[i + 1] : files[0];
        files[1] = !strcmp(argv[i], "--weights") ? argv[i + 1] : files[1];
    }
    if (files[1])
        cuda.weights = weights_of(&cuda, files[1]);
    if (files[0] || files[1])
        cpu.weights = weights_of(&cpu, files[0] ? files[0] : files[1]);
    int64_t below = 2;
    int repeat = 0, good = 1;
    if (tc_cuda_open(&device, 0, &error) != TC_STATUS_OK)
        die("device", error.message);
    const double opened = now();
    if (tc_cuda_load(device, cuda.model, cuda.weights, &error) != TC_STATUS_OK)
        die("device", error.message);
    if (getenv("SHOW_LOADING"))
        printf("%s: loading takes %.1f ms\n", cuda.model->name, (now() - opened) / 1000);
    if (cpu.model->device && cpu.model != cuda.model && tc_cuda_load(device, cpu.model, cpu.weights, &error) != TC_STATUS_OK)
        die("device", error.message);
    tc_context_use_cuda(&cuda.context, device);
    tc_context_use_cuda(&cpu.context, device);
    for (int i = 4; i < argc; ++i) {
        if (!strcmp(argv[i], "--repeat") && i + 1 < argc) {
            repeat = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--tolerance") && i + 1 < argc) {
            tolerance = atof(argv[++i]);
        } else if (strstr(argv[i], "weights") && i + 1 < argc) {
            ++i;
        } else if (!strcmp(argv[i], "--memory") && i + 1 < argc) {
            memory = (size_t)strtoull(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--below") && i + 1 < argc) {
            char *equals = strchr(argv[++i], '=');
            if (!equals)
                die("--below", argv[i]);
            *equals = 0;
            below_name = argv[i];
            below = strtoll(equals + 1, NULL, 10);
        } else {
            char shown[128];
            snprintf(shown, sizeof shown, "%s", argv[i]);
            char *next = strchr(argv[i], ',');
            if (next)
                *next++ = 0;
            for (int s = 0; s < 2; ++s)
                sides[s]->function = find(sides[s], argv[i], "_function");
            const tc_function *f = cpu.function;
            tc_index dims[MOST] = {0};
            while (next) {
                char *equals = strchr(next, '='), *end = strchr(next, ',');
                if (!equals)
                    die("a dim needs its size", next);
                *equals = 0;
                for (unsigned d = 0; d < f->dim_count; ++d)
                    if (!strcmp(f->dims[d].name, next))
                        dims[d] = (tc_index)strtoll(equals + 1, NULL, 10);
                next = end ? end + 1 : NULL;
            }
            size_t need = tc_function_arena_bytes(cuda.function, dims, 1, TC_STANCE_DEFAULT);
            const size_t other = tc_function_arena_bytes(cpu.function, dims, 1, TC_STANCE_DEFAULT);
            need = cpu.model->device && other > need ? other : need;
            if (tc_cuda_reserve(device, need > memory ? need : memory, &error) != TC_STATUS_OK)
                die("device", error.message);
            good &= run(device, &cpu, &cuda, shown, dims, below_name, below, repeat);
        }
    }
    tc_cuda_close(device);
    for (int i = 0; i < 2; ++i)
        free(sides[i]->state), free(sides[i]->before);
    return !good;
}
