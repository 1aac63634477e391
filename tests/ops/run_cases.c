/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the functions of a compiled model on many cases and compares them with the interpreter, in one process.
 *
 *   run_cases GRAPH.tcg CASES [GIVEN.safetensors [RESULTS]]
 *
 * GRAPH is the model after simplify; its weight files are absolute paths. Every line of CASES is a test point:
 *
 *   bits FUNCTION WORD…      random inputs of every fill: for every instruction set of this processor, teams of 1, 2 and
 *                            5, the variant chosen and the generic one, the bits of the interpreter; every buffer lies
 *                            between guard zones; inputs are as before
 *   shape FUNCTION WORD…     the same as bits on one fill
 *   outside FUNCTION WORD…   indices just outside, and far outside, of their range: the status, and outputs as before
 *   near FUNCTION WORD…      of a device, where products are not exact: inputs of about 1 give f32 within 5 % of the
 *                            largest element of an output (of 1, where all are less), and the same bits in each of
 *                            four calls by a variant
 *   given FUNCTION WORD…     the same as bits on the inputs FUNCTION.in.NAME of GIVEN; the interpreter's outputs go to
 *                            RESULTS: for each a line "FUNCTION.out.NAME BYTES" and so many bytes
 *
 * WORD: DIM=SIZE; INPUT<BOUND (its integers are indices below BOUND); INPUT! (its values are finite); @KEY (stands for
 * FUNCTION in GIVEN and RESULTS).
 *
 * The table run_functions names the model's functions. Teams have the size asked for whatever the work is worth. A model
 * for CUDA is called on the first device instead, which has one team and one set of instructions; its memory is filled
 * with a pattern before each call.
 */
#include "autotune/data.h"
#include "autotune/guard.h"
#include "interpreter/data.h"
#include "interpreter/ops.h"
#include "tests/tap.h"

#include <tensor_compile/cuda.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>
#include <tensor_compile/safetensors.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const tc_function *const run_functions[];

enum { MOST = 64, MOST_VARIANTS = 64, ANY_BITS = TC_FILL_COUNT, FILLS };

#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) [TC_DTYPE_##upper] = TC_DATA_##upper,
static const tc_data_type data_types[] = {
#include "generator/dtypes.def"
};
#undef TC_DTYPE
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) [TC_DTYPE_##upper] = TCI_##upper,
static const tci_dtype graph_types[] = {
#include "generator/dtypes.def"
};
#undef TC_DTYPE

typedef struct runner {
    tci_module graph;
    tc_safetensors given;
    FILE *results; /* NULL: nobody wants them */
    tc_pool *pools[3];
    tc_cuda *cuda; /* NULL: the model is the processor's */
} runner;

static const tc_index teams[] = {1, 2, 5};
enum { TEAMS = sizeof teams / sizeof teams[0] };

/* One function at one size. values: contents of inputs, then the outputs that are wanted. */
typedef struct sized {
    const tc_function *f;
    const tci_function *graph;
    int64_t graph_dims[MOST];
    tc_index dims[MOST];
    unsigned count; /* of tensors */
    tc_param params[MOST];
    int64_t shapes[MOST][TC_MAX_RANK];
    unsigned char *values[MOST];
    int near;                     /* outputs are compared as `near` says */
    unsigned char *earlier[MOST]; /* outputs of the call before, with `near` */
    char key[200];
    char why[400];
} sized;

/* -- the function under test ----------------------------------------------------------------------------------------- */

static uint64_t much_work(const tc_index *dims)
{
    (void)dims;
    return UINT64_MAX;
}

static unsigned last_variant;

static unsigned select_last(const tc_index *dims)
{
    (void)dims;
    return last_variant;
}

/* f with teams of any size and, where generic, with its last variant at every size. */
static tc_function adjusted(const tc_function *f, int generic, tc_variant variants[MOST_VARIANTS])
{
    tc_function changed = *f;
    for (unsigned i = 0; i < f->variant_count; ++i) {
        variants[i] = f->variants[i];
        variants[i].work = much_work;
    }
    changed.variants = variants;
    if (generic) {
        last_variant = f->variant_count - 1;
        changed.select = select_last;
    }
    return changed;
}

typedef struct call {
    tc_cpu cpu;
    int team, generic, at_end;
} call;

static size_t bytes_of(const tc_param *param)
{
    return (size_t)param->elements * tc_data_size(param->type);
}

static int buffers_intact(sized *s, const tc_guard *guards)
{
    for (unsigned t = 0; t < s->count; ++t) {
        if (!tc_guard_intact(&guards[t]))
            return snprintf(s->why, sizeof s->why, "%s: written beyond its end", s->params[t].name), 0;
        if (t < s->f->input_count && memcmp(guards[t].data, s->values[t], bytes_of(&s->params[t])) != 0)
            return snprintf(s->why, sizeof s->why, "the input %s is changed", s->params[t].name), 0;
    }
    return tc_guard_intact(&guards[s->count]) ||
           (snprintf(s->why, sizeof s->why, "the arena was written beyond its end"), 0);
}

static int outputs_equal(sized *s, const tc_guard *guards)
{
    for (unsigned t = s->f->input_count; t < s->count; ++t) {
        const tc_param *param = &s->params[t];
        const ptrdiff_t at = tc_data_differ(guards[t].data, s->values[t], param);
        if (at >= 0) {
            uint64_t got = 0, want = 0;
            const size_t size = tc_data_size(param->type), from = (size_t)at * size;
            memcpy(&got, (const unsigned char *)guards[t].data + from, size);
            memcpy(&want, s->values[t] + from, size);
            snprintf(s->why, sizeof s->why, "%s[%td]: got 0x%llx, want 0x%llx", param->name, at,
                     (unsigned long long)got, (unsigned long long)want);
            return 0;
        }
    }
    return 1;
}

/* Within 5 % of the largest element. */
static int is_near(sized *s, unsigned t, const float *got)
{
    const float *want = (const float *)(const void *)s->values[t];
    double largest = 1.0;
    for (ptrdiff_t i = 0; i < s->params[t].elements; ++i)
        largest = isfinite(want[i]) && fabs(want[i]) > largest ? fabs(want[i]) : largest;
    for (ptrdiff_t i = 0; i < s->params[t].elements; ++i) {
        const int same = want[i] == got[i] || (isnan(want[i]) && isnan(got[i]));
        if (!same && !(fabs((double)want[i] - got[i]) <= 0.05 * largest))
            return snprintf(s->why, sizeof s->why, "%s[%td]: got %g, want %g, the largest is %g", s->params[t].name, i,
                            got[i], want[i], largest),
                   0;
    }
    return 1;
}

/* Near what is wanted, and the bits of the call before, where there was one. */
static int outputs_near(sized *s, const tc_guard *guards)
{
    for (unsigned t = s->f->input_count; t < s->count; ++t) {
        const size_t bytes = bytes_of(&s->params[t]);
        if (s->params[t].type == TC_DATA_F32 && !is_near(s, t, (const float *)guards[t].data))
            return 0;
        if (!s->earlier[t]) {
            s->earlier[t] = malloc(bytes + 1);
            if (!s->earlier[t])
                return snprintf(s->why, sizeof s->why, "no memory"), 0;
        } else if (memcmp(s->earlier[t], guards[t].data, bytes) != 0)
            return snprintf(s->why, sizeof s->why, "%s: other bits in another call", s->params[t].name), 0;
        memcpy(s->earlier[t], guards[t].data, bytes);
    }
    return 1;
}

static void forget_earlier(sized *s)
{
    for (unsigned t = 0; t < s->count; ++t) {
        free(s->earlier[t]);
        s->earlier[t] = NULL;
    }
}

static int outputs_untouched(sized *s, const tc_guard *guards)
{
    for (unsigned t = s->f->input_count; t < s->count; ++t)
        for (size_t i = 0; i < guards[t].size; ++i)
            if (((const unsigned char *)guards[t].data)[i] != TC_GUARD_PATTERN)
                return snprintf(s->why, sizeof s->why, "%s: written although the call fails", s->params[t].name), 0;
    return 1;
}

/* guards: one a tensor and the arena's, to be finished by the caller. */
static int start(sized *s, const tc_function *f, const call *how, tc_guard *guards, void **buffers)
{
    for (unsigned t = 0; t < s->count; ++t) {
        const size_t bytes = bytes_of(&s->params[t]);
        if (!tc_guard_init(&guards[t], bytes, tc_data_size(s->params[t].type), how->at_end))
            return 0;
        buffers[t] = guards[t].data;
        if (t < f->input_count && bytes != 0)
            memcpy(buffers[t], s->values[t], bytes);
    }
    return tc_guard_init(&guards[s->count], tc_run_arena_bytes(f, s->dims, teams[how->team]), TC_ALIGNMENT,
                         how->at_end);
}

/* The device's arena, of exactly the bytes needed, for the context. */
static int use_device(const runner *r, tc_context *context, const tc_model *model, size_t bytes)
{
    uint64_t weights;
    unsigned char *pattern = malloc(bytes + 1);
    tc_context_use_cuda(context, r->cuda);
    tc_device *device = context->device;
    int good = pattern && tc_cuda_reserve(r->cuda, bytes, &context->error) == TC_STATUS_OK;
    if (good && bytes) {
        memset(pattern, TC_GUARD_PATTERN, bytes);
        device->refused = NULL;
        if (device->enter(device, model, &weights)) {
            device->upload(device, device->arena, pattern, bytes);
            device->wait(device);
            device->leave(device);
        }
        good = !device->refused;
    }
    free(pattern);
    return good;
}

/* One call. want: TC_STATUS_OK, and outputs as s->values has them, or another status. */
static int run_call(runner *r, sized *s, const call *how, tc_status want)
{
    tc_variant variants[MOST_VARIANTS];
    const tc_function f = adjusted(s->f, how->generic, variants);
    tc_guard guards[MOST + 1] = {{0}};
    void *buffers[MOST];
    int good = 0;
    if (!start(s, &f, how, guards, buffers)) {
        snprintf(s->why, sizeof s->why, "no memory");
    } else {
        tc_context context;
        tc_context_init(&context, guards[s->count].size ? guards[s->count].data : NULL, guards[s->count].size);
        if (!r->cuda)
            tc_context_limit_cpu(&context, how->cpu);
        if (r->pools[how->team])
            tc_context_use_pool(&context, r->pools[how->team]);
        const int ready = !r->cuda || use_device(r, &context, f.model, guards[s->count].size);
        const tc_status status = ready ? tc_run(&context, &f, s->dims, buffers, NULL, NULL, NULL) : TC_STATUS_DEVICE;
        if (status != want)
            snprintf(s->why, sizeof s->why, "%s: %s", tc_status_string(status), context.error.message);
        else
            good = buffers_intact(s, guards) &&
                   (want != TC_STATUS_OK ? outputs_untouched(s, guards)
                    : s->near            ? outputs_near(s, guards)
                                         : outputs_equal(s, guards));
    }
    for (unsigned t = 0; t <= s->count; ++t)
        tc_guard_finish(&guards[t]);
    return good;
}

/* One call by the chosen variant and one by the generic one on the device, with `near` several. Returns as run_all. */
static int run_on_device(runner *r, sized *s, const char *title, tc_status want)
{
    int calls = 0;
    const int times = s->near ? 4 : 1, variants = s->f->variant_count > 1 ? 2 : 1;
    for (int i = 0; i < times * variants; ++i, ++calls) {
        const call how = {.generic = i / times, .at_end = i / times};
        if (i % times == 0)
            forget_earlier(s);
        if (!run_call(r, s, &how, want)) {
            char place[sizeof s->why];
            memcpy(place, s->why, sizeof place);
            snprintf(s->why, sizeof s->why, "%s, %s variant: %.300s", title, how.generic ? "generic" : "chosen", place);
            return 0;
        }
    }
    return calls;
}

/* Every instruction set, team and variant. Returns the number of calls, 0 where one is wrong. */
static int run_all(runner *r, sized *s, const char *title, tc_status want)
{
    int calls = 0;
    if (r->cuda)
        return run_on_device(r, s, title, want);
    const unsigned cpus = tc_cpu_detect();
    for (unsigned c = 0; c < s->f->cpu_count; ++c)
        for (int team = 0; team < TEAMS; ++team)
            for (int generic = 0; generic < (s->f->variant_count > 1 ? 2 : 1); ++generic) {
                const call how = {s->f->cpus[c], team, generic, (calls + team) % 2 == 0};
                if (!(cpus >> s->f->cpus[c] & 1))
                    continue;
                ++calls;
                if (!run_call(r, s, &how, want)) {
                    char place[sizeof s->why];
                    memcpy(place, s->why, sizeof place);
                    snprintf(s->why, sizeof s->why, "%s, %s, team of %td, %s variant: %.300s", title,
                             tc_cpu_name(how.cpu), teams[team], generic ? "generic" : "chosen", place);
                    return 0;
                }
            }
    if (calls == 0)
        snprintf(s->why, sizeof s->why, "this processor runs none of its instruction sets");
    return calls;
}

/* -- the interpreter --------------------------------------------------------------------------------------------------- */

/* The outputs of s->values from its inputs. */
static int interpret(runner *r, sized *s)
{
    tci_diag diag = {0};
    tci_data weights;
    tci_run_env env = {.scope = {.module = &r->graph, .dims = s->graph_dims, .diag = &diag}, .load = tci_data_load,
                       .user = &weights};
    tci_tensor arguments[MOST] = {{0}}, results[MOST] = {{0}};
    const tci_function *g = s->graph;
    int good = tci_data_init(&weights, &env.scope, "/", NULL, NULL) && g->parameter_count == s->f->input_count &&
               g->result_count == s->f->output_count;
    for (size_t i = 0; good && i < g->parameter_count; ++i)
        tci_tensor_borrow(&arguments[i], graph_types[s->f->tensors[i].dtype], s->f->tensors[i].rank, s->shapes[i],
                          s->values[i]);
    good = good && tci_execute(&env, g, "", arguments, results);
    for (size_t i = 0; good && i < g->result_count; ++i) {
        tci_tensor dense = {0};
        const tc_param *param = &s->params[g->parameter_count + i];
        good = tci_tensor_dense(&dense, &results[i], (tci_loc){0}, &diag) &&
               tci_tensor_elements(&dense) == param->elements && !strcmp(g->results[i].name, param->name);
        if (good && param->elements > 0)
            memcpy(s->values[g->parameter_count + i], dense.data, bytes_of(param));
        tci_tensor_release(&dense);
    }
    for (size_t i = 0; i < MOST; ++i)
        tci_tensor_release(&results[i]);
    tci_run_env_finish(&env);
    tci_data_finish(&weights);
    if (!good)
        snprintf(s->why, sizeof s->why, "the interpreter: %.300s", diag.failed ? diag.text : "another interface");
    return good;
}

/* -- cases -------------------------------------------------------------------------------------------------------------- */

static void release(sized *s)
{
    forget_earlier(s);
    for (unsigned t = 0; t < s->count; ++t)
        free(s->values[t]);
}

static int take_word(sized *s, const runner *r, char *word)
{
    if (*word == '@')
        return snprintf(s->key, sizeof s->key, "%s", word + 1) > 0;
    char *end = word + strcspn(word, "=<!");
    const char mark = *end;
    *end = '\0';
    const long long value = mark == '!' ? 1 : strtoll(end + 1, NULL, 10);
    int known = 0;
    if (mark == '=') {
        for (size_t i = 0; i < r->graph.dim_count; ++i)
            if (!strcmp(r->graph.dims[i].name, word))
                s->graph_dims[i] = value;
        for (unsigned i = 0; i < s->f->dim_count; ++i)
            if (!strcmp(s->f->dims[i].name, word))
                s->dims[i] = (tc_index)value, known = 1;
    }
    for (unsigned t = 0; mark != '=' && t < s->f->input_count; ++t)
        if (!strcmp(s->params[t].name, word)) {
            s->params[t].finite |= mark == '!';
            s->params[t].bound = mark == '<' ? value : s->params[t].bound;
            known = 1;
        }
    return known;
}

/* The rest of a line, from strtok. */
static int prepare(sized *s, const runner *r, const char *name)
{
    *s = (sized){0};
    char symbol[300]; /* of a function other than the model's own: with the model's name before it */
    snprintf(symbol, sizeof symbol, "%s_%s", r->graph.model, name);
    for (int i = 0; run_functions[i]; ++i)
        if (!strcmp(run_functions[i]->name, strcmp(name, r->graph.model) ? symbol : name))
            s->f = run_functions[i];
    s->graph = tci_module_find_function(&r->graph, name);
    if (!s->f || !s->graph || s->f->input_count + s->f->output_count > MOST || s->f->variant_count > MOST_VARIANTS ||
        r->graph.dim_count > MOST)
        return snprintf(s->why, sizeof s->why, "no such function"), 0;
    snprintf(s->key, sizeof s->key, "%s", name);
    for (size_t i = 0; i < MOST; ++i)
        s->graph_dims[i] = -1;
    s->count = s->f->input_count + s->f->output_count;
    for (unsigned t = 0; t < s->count; ++t)
        s->params[t] = (tc_param){.name = s->f->tensors[t].name, .type = data_types[s->f->tensors[t].dtype]};
    for (char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n"))
        if (!take_word(s, r, word))
            return snprintf(s->why, sizeof s->why, "no dim and no input %.100s", word), 0;
    for (unsigned t = 0; t < s->count; ++t) {
        tc_param *param = &s->params[t];
        s->f->shape(s->dims, t, s->shapes[t]);
        param->elements = 1;
        for (int d = 0; d < s->f->tensors[t].rank; ++d)
            param->elements *= (ptrdiff_t)s->shapes[t][d];
        s->values[t] = malloc(bytes_of(param) + 1);
        if (!s->values[t])
            return snprintf(s->why, sizeof s->why, "no memory"), 0;
    }
    return 1;
}

static void fill_inputs(sized *s, int fill)
{
    for (unsigned t = 0; t < s->f->input_count; ++t) {
        tc_param param = s->params[t];
        if (fill == ANY_BITS && tci_dtype_is_float(graph_types[s->f->tensors[t].dtype]) && !param.finite)
            param.type = tc_data_size(param.type) == 8   ? TC_DATA_I64 /* every pattern of its bits alike */
                         : tc_data_size(param.type) == 4 ? TC_DATA_I32
                                                         : TC_DATA_I16;
        tc_data_fill(s->values[t], &param, fill == ANY_BITS ? TC_FILL_EXTREME : (tc_fill)fill,
                     (uint64_t)(1 + fill + 8 * t));
    }
}

static int run_fill(runner *r, sized *s, int fill)
{
    fill_inputs(s, fill);
    return interpret(r, s) ? run_all(r, s, fill == ANY_BITS ? "any bits" : tc_fill_names[fill], TC_STATUS_OK) : 0;
}

static int case_bits(runner *r, sized *s)
{
    int calls = 0;
    for (int fill = 0; fill < FILLS; ++fill) {
        const int done = run_fill(r, s, fill);
        if (!done)
            return 0;
        calls += done;
    }
    return calls;
}

static int case_shape(runner *r, sized *s)
{
    return run_fill(r, s, TC_FILL_PLAIN);
}

static int case_near(runner *r, sized *s)
{
    if (!r->cuda)
        return snprintf(s->why, sizeof s->why, "a processor's model is exact"), 0;
    s->near = 1;
    return run_fill(r, s, TC_FILL_PLAIN);
}

static int case_outside(runner *r, sized *s)
{
    int calls = 0;
    fill_inputs(s, TC_FILL_PLAIN);
    for (unsigned t = 0; t < s->f->input_count; ++t) {
        const tc_param *param = &s->params[t];
        if (!param->bound)
            continue;
        const int64_t values[] = {-1, param->bound, param->type == TC_DATA_I32 ? INT32_MIN : INT64_MIN,
                                  param->type == TC_DATA_I32 ? INT32_MAX : INT64_MAX};
        const ptrdiff_t places[] = {0, param->elements / 2, param->elements - 1};
        for (int v = 0; v < 4; ++v)
            for (int p = 0; p < 3; ++p) {
                const size_t size = tc_data_size(param->type);
                unsigned char kept[8], *at = s->values[t] + (size_t)places[p] * size;
                memcpy(kept, at, size);
                memcpy(at, &values[v], size); /* little-endian: the low bytes */
                char title[64];
                snprintf(title, sizeof title, "%s[%td] = %lld", param->name, places[p], (long long)values[v]);
                const int done = run_all(r, s, title, TC_STATUS_INDEX_OUT_OF_RANGE);
                memcpy(at, kept, size);
                if (!done)
                    return 0;
                calls += done;
            }
    }
    return calls;
}

static int case_given(runner *r, sized *s)
{
    for (unsigned t = 0; t < s->f->input_count; ++t) {
        char key[400];
        snprintf(key, sizeof key, "%s.in.%s", s->key, s->params[t].name);
        const tc_safetensor *given = tc_safetensors_find(&r->given, key);
        if (!given || given->bytes != bytes_of(&s->params[t]))
            return snprintf(s->why, sizeof s->why, "%s: missing among the given, or of another size", key), 0;
        memcpy(s->values[t], given->data, given->bytes);
    }
    if (!interpret(r, s))
        return 0;
    for (unsigned t = s->f->input_count; r->results && t < s->count; ++t) {
        fprintf(r->results, "%s.out.%s %zu\n", s->key, s->params[t].name, bytes_of(&s->params[t]));
        fwrite(s->values[t], 1, bytes_of(&s->params[t]), r->results);
    }
    return run_all(r, s, "given", TC_STATUS_OK);
}

static int run_line(runner *r, char *line)
{
    static sized s;
    char title[300];
    snprintf(title, sizeof title, "%.*s", (int)strcspn(line, "\n"), line);
    const char *kind = strtok(line, " \n"), *name = strtok(NULL, " \n");
    if (!kind || !name)
        return tc_ok(0, "a case: %s", title);
    int (*const run)(runner *, sized *) = !strcmp(kind, "bits")      ? case_bits
                                          : !strcmp(kind, "shape")   ? case_shape
                                          : !strcmp(kind, "near")    ? case_near
                                          : !strcmp(kind, "outside") ? case_outside
                                          : !strcmp(kind, "given")   ? case_given
                                                                     : NULL;
    const clock_t begin = clock();
    const int calls = run && prepare(&s, r, name) ? run(r, &s) : 0;
    if (!tc_ok(calls, "%s", title))
        tc_note("%s", s.why);
    tc_note("%d calls, %.1f ms", calls, 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
    release(&s);
    return calls > 0;
}

static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *length = (size_t)ftell(file);
        rewind(file);
        text = malloc(*length + 1);
        if (text && fread(text, 1, *length, file) == *length)
            text[*length] = '\0';
    }
    if (file)
        fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    static runner r;
    tci_diag diag = {0};
    size_t length = 0;
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "run_cases GRAPH.tcg CASES [GIVEN.safetensors [RESULTS]]\n");
        return 2;
    }
    char *text = read_text(argv[1], &length);
    FILE *cases = fopen(argv[2], "r");
    if (!text || !cases || !tci_module_parse(&r.graph, argv[1], text, length, &diag) ||
        (argc > 3 && tc_safetensors_open(&r.given, argv[3]) != TC_STATUS_OK) ||
        (argc > 4 && !(r.results = fopen(argv[4], "wb")))) {
        fprintf(stderr, "%s\n", diag.failed ? diag.text : "a file cannot be read");
        return 2;
    }
    for (int team = 0; team < TEAMS; ++team)
        r.pools[team] = teams[team] > 1 ? tc_pool_create(teams[team]) : NULL;
    const tc_model *model = run_functions[0]->model;
    tc_error error;
    if (model->device && (tc_cuda_open(&r.cuda, 0, &error) != TC_STATUS_OK ||
                          tc_cuda_load(r.cuda, model, NULL, &error) != TC_STATUS_OK)) {
        fprintf(stderr, "%s\n", error.message);
        return 2;
    }
    char line[1024];
    while (fgets(line, sizeof line, cases))
        run_line(&r, line);
    for (int team = 0; team < TEAMS; ++team)
        tc_pool_destroy(r.pools[team]);
    tc_cuda_close(r.cuda);
    fclose(cases);
    if (r.results && fclose(r.results) != 0)
        return 2;
    tci_module_finish(&r.graph);
    tc_safetensors_close(&r.given);
    free(text);
    return tc_done();
}
