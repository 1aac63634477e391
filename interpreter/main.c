/* SPDX-License-Identifier: Apache-2.0
 *
 * tc-interpret: runs a function of graph text on the build machine. Exit codes: 0 ok, 1 the user's error, 2 usage.
 */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "noise.h"
#include "roundings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tc-interpret GRAPH.tcg --function NAME [options] (--out FILE | --pack FILE)\n"
    "       tc-interpret GRAPH.tcg --list\n"
    "\n"
    "Runs one function of a graph text with the reference kernels.\n"
    "\n"
    "  --function NAME      the function to run\n"
    "  --dims A=1,B=2       values of the dims\n"
    "  --inputs FILE        safetensors with the parameters, by name\n"
    "  --weights-dir DIR    where the graph's weight files are (default: the current directory)\n"
    "  --state FILE         safetensors with the states at entry, by name (default: zeros)\n"
    "  --state-out FILE     writes all states of the module after the run, as --state reads them\n"
    "  --out FILE           writes the results, by name, as safetensors\n"
    "  --pack FILE          writes the results' bytes in order, each filled up with zeros to a multiple of 64\n"
    "  --f64                computes floats in double with the host's libm; results are F64\n"
    "  --noise SEED         with --f64: gives every result a random error, as large as one of rounding to its declared dtype\n"
    "  --times N            with --noise: errors N times as large, a power of two; of the other sign where it is negative\n"
    "  --roundings FILE     writes the floats that become integers; with --f64 reads them, and takes their integers where\n"
    "                       both runs have nearly the same float; prints in how many elements that made a difference,\n"
    "                       and in how many their integers differ as their floats do\n"
    "  --bound RTOL,ATOL    floats a, in double b, are nearly the same where |a - b| <= ATOL + RTOL * |b| (default: 0,0)\n"
    "  --check-finite NAME  fails where the weight, or the result, NAME holds NaN or an infinity; may be repeated\n"
    "  --list               prints the functions with their parameters and results\n"
    "  --help               this text\n"
    "\n"
    "Exit codes: 0 ok, 1 an error in the graph or the data, 2 usage.\n";

typedef struct options {
    const char *graph, *function, *dims, *inputs, *weights_dir, *state, *state_out, *out, *pack, *roundings, *bound,
        *noise, *times;
    const char **finite;
    size_t finite_count;
    bool f64, list, help;
} options;

static int usage(const char *message, const char *word)
{
    fprintf(stderr, "tc-interpret: error: %s%s (see --help)\n", message, word);
    return 2;
}

/* 0, or the exit code. finite has room for argc names. */
static int read_options(int argc, char **argv, options *o)
{
    const struct {
        const char *name;
        const char **value;
    } values[] = {{"--function", &o->function},
                  {"--dims", &o->dims},
                  {"--inputs", &o->inputs},
                  {"--weights-dir", &o->weights_dir},
                  {"--state", &o->state},
                  {"--state-out", &o->state_out},
                  {"--out", &o->out},
                  {"--pack", &o->pack},
                  {"--roundings", &o->roundings},
                  {"--bound", &o->bound},
                  {"--noise", &o->noise},
                  {"--times", &o->times}};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        size_t k = 0;
        while (k < sizeof values / sizeof values[0] && strcmp(arg, values[k].name) != 0)
            k++;
        const bool finite = strcmp(arg, "--check-finite") == 0;
        if (finite || k < sizeof values / sizeof values[0]) {
            if (i + 1 == argc)
                return usage("a value is missing after ", arg);
            if (finite)
                o->finite[o->finite_count++] = argv[++i];
            else
                *values[k].value = argv[++i];
        } else if (strcmp(arg, "--f64") == 0) {
            o->f64 = true;
        } else if (strcmp(arg, "--list") == 0) {
            o->list = true;
        } else if (strcmp(arg, "--help") == 0) {
            o->help = true;
        } else if (arg[0] == '-' && arg[1] != '\0') {
            return usage("unknown option ", arg);
        } else if (o->graph != NULL) {
            return usage("a second graph: ", arg);
        } else {
            o->graph = arg;
        }
    }
    if (o->help)
        return 0;
    if (o->graph == NULL)
        return usage("no graph is named", "");
    if (o->list)
        return 0;
    if (o->function == NULL)
        return usage("--function is missing", "");
    if (o->out == NULL && o->pack == NULL && o->state_out == NULL)
        return usage("one of --out, --pack and --state-out is needed", "");
    if (o->noise != NULL && !o->f64)
        return usage("--noise goes with --f64", "");
    if (o->times != NULL && o->noise == NULL)
        return usage("--times goes with --noise", "");
    const int times = o->times != NULL ? atoi(o->times) : 1;
    if (times == 0 || (abs(times) & (abs(times) - 1)) != 0)
        return usage("--times is no power of two: ", o->times);
    if (o->noise != NULL)
        tci_noise_start(strtoull(o->noise, NULL, 10), times);
    return 0;
}

static char *read_file(const char *path, size_t *length, tci_diag *diag)
{
    const tci_loc loc = {path, 0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        tci_fail(diag, loc, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    char *text = NULL;
    size_t capacity = 0;
    *length = 0;
    for (;;) {
        if (*length == capacity) {
            capacity = capacity == 0 ? 65536 : capacity * 2;
            char *larger = realloc(text, capacity);
            if (larger == NULL) {
                tci_fail(diag, loc, "out of memory");
                break;
            }
            text = larger;
        }
        const size_t got = fread(text + *length, 1, capacity - *length, file);
        *length += got;
        if (got == 0)
            break;
    }
    if (ferror(file))
        tci_fail(diag, loc, "cannot be read: %s", strerror(errno));
    fclose(file);
    return text;
}

/* "batch=3,seq=4" into one value a dim of the module; -1 for those that are not given. */
static bool read_dims(const tci_module *module, const char *text, int64_t *dims, tci_diag *diag)
{
    const tci_loc loc = {"--dims", 0};
    for (size_t i = 0; i < module->dim_count; i++)
        dims[i] = -1;
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "=,");
        size_t i = 0;
        while (i < module->dim_count &&
               (strlen(module->dims[i].name) != length || memcmp(module->dims[i].name, text, length) != 0))
            i++;
        if (i == module->dim_count)
            return tci_fail(diag, loc, "the graph has no dim '%.*s'", (int)length, text);
        const tci_dim *dim = &module->dims[i];
        if (text[length] != '=')
            return tci_fail(diag, loc, "'%s=N' is expected", dim->name);
        char *end;
        errno = 0;
        const long long value = strtoll(text + length + 1, &end, 10);
        if (errno != 0 || end == text + length + 1 || (*end != '\0' && *end != ','))
            return tci_fail(diag, loc, "'%s=N' is expected", dim->name);
        if (value < dim->lo || value > dim->hi)
            return tci_fail(diag, loc, "%s = %lld is outside %lld..%lld", dim->name, value, (long long)dim->lo,
                            (long long)dim->hi);
        if (value % dim->divisor != 0)
            return tci_fail(diag, loc, "%s = %lld is no multiple of %lld", dim->name, value, (long long)dim->divisor);
        dims[i] = value;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

static void list(const tci_module *module)
{
    for (size_t i = 0; i < module->function_count; i++) {
        const tci_function *f = &module->functions[i];
        printf("%s%s(", f->entry ? "entry " : "", f->name);
        for (size_t k = 0; k < f->parameter_count; k++)
            printf("%s%s", k == 0 ? "" : ", ", f->parameters[k].name);
        printf(") ->");
        for (size_t k = 0; k < f->result_count; k++)
            printf("%s %s", k == 0 ? "" : ",", f->results[k].name);
        putchar('\n');
    }
}

/* Every state of the module after the run: as assigned, else as it was. */
static bool write_states(const char *path, tci_run_env *env)
{
    const tci_module *module = env->scope.module;
    tci_tensor *values = calloc(module->state_count + 1, sizeof *values);
    tci_named *named = calloc(module->state_count + 1, sizeof *named);
    bool ok = values != NULL && named != NULL ? true : tci_fail(env->scope.diag, (tci_loc){path, 0}, "out of memory");
    for (size_t i = 0; i < module->state_count && ok; i++) {
        const tci_entry *state = &module->states[i];
        size_t k = 0;
        while (k < env->assignment_count && strcmp(env->assignments[k].name, state->name) != 0)
            k++;
        if (k < env->assignment_count)
            values[i] = tci_tensor_share(&env->assignments[k].value);
        else
            ok = env->load(env->user, true, state->name, state->loc, &values[i], env->scope.diag);
        named[i] = (tci_named){state->name, &values[i]};
    }
    ok = ok && tci_data_write(path, named, module->state_count, env->scope.diag);
    for (size_t i = 0; values != NULL && i < module->state_count; i++)
        tci_tensor_release(&values[i]);
    free(values);
    free(named);
    return ok;
}

static bool check_finite(tci_run_env *env, const tci_function *f, const char *name, const tci_tensor *results)
{
    const tci_module *module = env->scope.module;
    for (size_t i = 0; i < f->result_count; i++)
        if (strcmp(f->results[i].name, name) == 0)
            return tci_data_check_finite(&env->scope, "result", name, &results[i], f->results[i].loc);
    const tci_entry *weight = tci_find_entry(module->weights, module->weight_count, name);
    if (weight == NULL)
        return tci_fail(env->scope.diag, (tci_loc){"--check-finite", 0}, "no weight and no result '%s'", name);
    tci_tensor tensor;
    if (!env->load(env->user, false, name, weight->loc, &tensor, env->scope.diag))
        return false;
    const bool ok = tci_data_check_finite(&env->scope, "weight", name, &tensor, weight->loc);
    tci_tensor_release(&tensor);
    return ok;
}

/* Runs the function and writes what was asked for, nothing after an error. */
static bool run_function(const options *o, tci_run_env *env, tci_data *data)
{
    tci_diag *diag = env->scope.diag;
    const tci_function *f = tci_module_find_function(env->scope.module, o->function);
    if (f == NULL)
        return tci_fail(diag, (tci_loc){o->graph, 0}, "no function '%s'", o->function);
    tci_tensor *arguments = calloc(f->parameter_count + 1, sizeof *arguments);
    tci_tensor *results = calloc(f->result_count + 1, sizeof *results);
    tci_named *named = calloc(f->result_count + 1, sizeof *named);
    bool ok = arguments != NULL && results != NULL && named != NULL
                  ? true
                  : tci_fail(diag, (tci_loc){o->graph, 0}, "out of memory");
    for (size_t i = 0; i < f->parameter_count && ok; i++)
        ok = tci_data_input(data, &f->parameters[i], &arguments[i]);
    ok = ok && tci_execute(env, f, "", arguments, results);
    for (size_t i = 0; i < o->finite_count && ok; i++)
        ok = check_finite(env, f, o->finite[i], results);
    for (size_t i = 0; i < f->result_count && ok; i++)
        named[i] = (tci_named){f->results[i].name, &results[i]};
    ok = ok && (o->out == NULL || tci_data_write(o->out, named, f->result_count, diag)) &&
         (o->pack == NULL || tci_data_pack(o->pack, named, f->result_count, diag)) &&
         (o->state_out == NULL || write_states(o->state_out, env));
    for (size_t i = 0; arguments != NULL && i < f->parameter_count; i++)
        tci_tensor_release(&arguments[i]);
    for (size_t i = 0; results != NULL && i < f->result_count; i++)
        tci_tensor_release(&results[i]);
    free(arguments);
    free(results);
    free(named);
    return ok;
}

/* Of --roundings: where the function finds them, and what they made of it. */
static bool run_with_roundings(const options *o, tci_run_env *env, tci_data *data)
{
    tci_roundings r = {.follow = o->f64};
    const tci_loc loc = {o->roundings, 0};
    if (o->bound != NULL && sscanf(o->bound, "%lf,%lf", &r.rtol, &r.atol) != 2)
        return tci_fail(env->scope.diag, (tci_loc){"--bound", 0}, "RTOL,ATOL is expected");
    r.file = fopen(o->roundings, r.follow ? "rb" : "wb");
    if (r.file == NULL)
        return tci_fail(env->scope.diag, loc, "cannot be opened: %s", strerror(errno));
    env->scope.roundings = &r;
    bool ok = run_function(o, env, data);
    const bool wrong = ferror(r.file);
    if ((fclose(r.file) != 0 || wrong) && ok)
        ok = tci_fail(env->scope.diag, loc, "cannot be written: %s", strerror(errno));
    if (ok && r.follow)
        printf("%lld %lld %s\n", (long long)r.taken, (long long)r.apart, r.ended ? "ended" : "whole");
    if (ok && r.apart > 0)
        printf("%s:%d\n", r.first.file, r.first.line);
    env->scope.roundings = NULL;
    return ok;
}

static bool run_module(const options *o, const tci_module *module, tci_diag *diag)
{
    int64_t *dims = calloc(module->dim_count + 1, sizeof *dims);
    if (dims == NULL)
        return tci_fail(diag, (tci_loc){o->graph, 0}, "out of memory");
    tci_data data;
    tci_run_env env = {.scope = {.module = module, .dims = dims, .f64 = o->f64, .diag = diag},
                       .load = tci_data_load,
                       .user = &data};
    bool ok = read_dims(module, o->dims, dims, diag);
    if (ok) {
        ok = tci_data_init(&data, &env.scope, o->weights_dir, o->inputs, o->state) &&
             (o->roundings != NULL ? run_with_roundings(o, &env, &data) : run_function(o, &env, &data));
        tci_run_env_finish(&env);
        tci_data_finish(&data);
    }
    free(dims);
    return ok;
}

int main(int argc, char **argv)
{
    options o = {.weights_dir = "."};
    o.finite = calloc((size_t)argc + 1, sizeof *o.finite);
    if (o.finite == NULL)
        return 3;
    const int code = read_options(argc, argv, &o);
    if (code != 0 || o.help) {
        if (o.help && code == 0)
            fputs(help, stdout);
        free(o.finite);
        return code;
    }
    tci_diag diag = {0};
    tci_module module = {0};
    size_t length = 0;
    char *text = read_file(o.graph, &length, &diag);
    bool ok = !diag.failed && tci_module_parse(&module, o.graph, text, length, &diag);
    if (ok && o.list)
        list(&module);
    else if (ok)
        ok = run_module(&o, &module, &diag);
    tci_module_finish(&module);
    free(text);
    free(o.finite);
    if (!ok)
        fprintf(stderr, "%s\n", diag.text);
    return ok ? 0 : 1;
}
