/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include "ops.h"
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tc_dtype file_dtypes[TCI_DTYPE_COUNT] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) [TCI_##upper] = TC_DTYPE_##upper,
#include "dtypes.def"
#undef TC_DTYPE
    [TCI_WIDE] = TC_DTYPE_F64,
};

static bool open_file(tc_safetensors *file, const char *path, tci_diag *diag)
{
    return tc_safetensors_open(file, path) == TC_STATUS_OK || tci_fail(diag, (tci_loc){path, 0}, "%s", file->message);
}

bool tci_data_init(tci_data *data, const tci_scope *scope, const char *weights_dir, const char *inputs_path,
                   const char *state_path)
{
    const size_t files = scope->module->file_count;
    *data = (tci_data){.scope = scope, .weights_dir = weights_dir, .has_state = state_path != NULL};
    data->weights = calloc(files + 1, sizeof *data->weights);
    data->opened = calloc(files + 1, sizeof *data->opened);
    if (data->weights == NULL || data->opened == NULL)
        return tci_fail(scope->diag, (tci_loc){scope->module->path, 0}, "out of memory");
    return (inputs_path == NULL || open_file(&data->inputs, inputs_path, scope->diag)) &&
           (state_path == NULL || open_file(&data->state, state_path, scope->diag));
}

void tci_data_finish(tci_data *data)
{
    tc_safetensors_close(&data->inputs);
    tc_safetensors_close(&data->state);
    for (size_t i = 0; data->weights != NULL && data->opened != NULL && i < data->scope->module->file_count; i++)
        if (data->opened[i])
            tc_safetensors_close(&data->weights[i]);
    free(data->weights);
    free(data->opened);
}

/* context: the dtype of the second tensor. */
static void widen(const void *context, size_t n, char *const *p, const ptrdiff_t *step)
{
    const tci_dtype *dtype = context;
    for (size_t i = 0; i < n; i++)
        *(double *)(void *)(p[0] + (ptrdiff_t)i * step[0]) = tci_wide_of(*dtype, p[1] + (ptrdiff_t)i * step[1]);
}

/* Most weights: the same of f32. */
static void widen_f32(const void *context, size_t n, char *const *p, const ptrdiff_t *step)
{
    (void)context;
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, p[1] + (ptrdiff_t)i * step[1], sizeof x);
        *(double *)(void *)(p[0] + (ptrdiff_t)i * step[0]) = x;
    }
}

static void normalize_bool(const void *context, size_t n, char *const *p, const ptrdiff_t *step)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        p[0][(ptrdiff_t)i * step[0]] = p[1][(ptrdiff_t)i * step[1]] != 0;
}

static bool missing(tci_diag *diag, tci_loc loc, const char *what, const char *name, const char *where)
{
    return tci_fail(diag, loc, "%s \"%s\" is not in %s", what, name, where);
}

/* A tensor of a file as the declared type: mapped memory where it can be used as it is, else a copy. */
static bool convert(const tci_data *data, const tc_safetensor *from, const tci_type *type, const char *what,
                    const char *name, tci_loc loc, tci_tensor *to)
{
    tci_diag *diag = data->scope->diag;
    const tci_dtype storage = tci_storage(data->scope, type->dtype);
    const bool wide = storage == TCI_WIDE && from->dtype == TC_DTYPE_F64;
    if (from->dtype != file_dtypes[type->dtype] && !wide)
        return tci_fail(diag, loc, "%s \"%s\" is %s in the file, declared as %s", what, name, from->dtype_name,
                        tci_dtype_name(type->dtype));
    tci_tensor stored;
    int64_t shape[TC_SAFETENSORS_MAX_RANK];
    for (int d = 0; d < from->rank; d++)
        shape[d] = from->shape[d];
    tci_tensor_borrow(&stored, wide ? TCI_WIDE : type->dtype, from->rank, shape, from->data);
    const bool aligned = (uintptr_t)from->data % tci_dtype_size(stored.dtype) == 0;
    if (stored.dtype == storage && storage != TCI_BOOL && aligned) {
        *to = stored;
    } else {
        if (!tci_tensor_make(to, storage, from->rank, shape, loc, diag))
            return false;
        const tci_tensor *const both[2] = {to, &stored};
        if (stored.dtype != storage)
            tci_for_each_run(2, both, stored.dtype == TCI_F32 ? widen_f32 : widen, &stored.dtype);
        else if (storage == TCI_BOOL)
            tci_for_each_run(2, both, normalize_bool, NULL);
        else
            memcpy(to->data, stored.data, from->bytes);
    }
    char text[256];
    snprintf(text, sizeof text, "%s \"%s\"", what, name);
    if (tci_check_type(data->scope, type, to, text, loc))
        return true;
    tci_tensor_release(to);
    return false;
}

static bool zeros(const tci_data *data, const tci_type *type, tci_loc loc, tci_tensor *tensor)
{
    int64_t shape[TCI_MAX_RANK];
    const tci_scope *scope = data->scope;
    for (size_t d = 0; d < type->shape.count; d++)
        if (!tci_expr_evaluate(scope->module, type->shape.items[d], scope->dims, &shape[d], loc, scope->diag))
            return false;
    if (!tci_tensor_make(tensor, tci_storage(scope, type->dtype), (int)type->shape.count, shape, loc, scope->diag))
        return false;
    memset(tensor->data, 0, (size_t)tci_tensor_elements(tensor) * tci_dtype_size(tensor->dtype));
    return true;
}

static bool open_weights(tci_data *data, int number, tci_loc loc)
{
    const char *file = data->scope->module->files[number];
    if (data->opened[number])
        return true;
    const size_t length = strlen(data->weights_dir) + strlen(file) + 2;
    char *path = malloc(length);
    if (path == NULL)
        return tci_fail(data->scope->diag, loc, "out of memory");
    if (file[0] == '/')
        snprintf(path, length, "%s", file);
    else
        snprintf(path, length, "%s/%s", data->weights_dir, file);
    data->opened[number] = open_file(&data->weights[number], path, data->scope->diag);
    free(path);
    return data->opened[number];
}

bool tci_data_load(void *user, bool state, const char *name, tci_loc loc, tci_tensor *tensor, tci_diag *diag)
{
    tci_data *data = user;
    const tci_module *module = data->scope->module;
    const char *what = state ? "state" : "weight";
    const tci_entry *entry = state ? tci_find_entry(module->states, module->state_count, name)
                                   : tci_find_entry(module->weights, module->weight_count, name);
    if (entry == NULL)
        return tci_fail(diag, loc, "%s \"%s\" is not declared", what, name);
    if (state && !data->has_state)
        return zeros(data, &entry->type, entry->loc, tensor);
    if (!state && !open_weights(data, entry->file, loc))
        return false;
    const tc_safetensor *found = tc_safetensors_find(state ? &data->state : &data->weights[entry->file], name);
    if (found == NULL)
        return missing(diag, entry->loc, what, name, state ? "the file of --state" : module->files[entry->file]);
    return convert(data, found, &entry->type, what, name, entry->loc, tensor);
}

bool tci_data_input(tci_data *data, const tci_entry *parameter, tci_tensor *tensor)
{
    const tc_safetensor *found = tc_safetensors_find(&data->inputs, parameter->name);
    if (found == NULL)
        return missing(data->scope->diag, parameter->loc, "input", parameter->name, "the file of --inputs");
    return convert(data, found, &parameter->type, "input", parameter->name, parameter->loc, tensor);
}

bool tci_data_check_finite(const tci_scope *scope, const char *what, const char *name, const tci_tensor *tensor,
                           tci_loc loc)
{
    tci_tensor dense;
    if (!tci_dtype_is_float(tensor->dtype))
        return true;
    if (!tci_tensor_dense(&dense, tensor, loc, scope->diag))
        return false;
    const int64_t count = tci_tensor_elements(&dense);
    bool ok = true;
    for (int64_t i = 0; i < count && ok; i++) {
        const double value = tci_wide_of(dense.dtype, dense.data + (size_t)i * tci_dtype_size(dense.dtype));
        if (isfinite(value))
            continue;
        char where[192];
        ok = tci_fail(scope->diag, loc, "%s \"%s\" is %s at %s; a padded convolution needs finite weights", what, name,
                      isnan(value) ? "nan"
                      : value > 0  ? "inf"
                                   : "-inf",
                      tci_index_describe(&dense, i, where, sizeof where));
    }
    tci_tensor_release(&dense);
    return ok;
}

bool tci_data_write(const char *path, const tci_named *tensors, size_t count, tci_diag *diag)
{
    tc_safetensor *out = calloc(count + 1, sizeof *out);
    tci_tensor *dense = calloc(count + 1, sizeof *dense);
    bool ok = out != NULL && dense != NULL ? true : tci_fail(diag, (tci_loc){path, 0}, "out of memory");
    for (size_t i = 0; i < count && ok; i++) {
        ok = tci_tensor_dense(&dense[i], tensors[i].tensor, (tci_loc){path, 0}, diag);
        out[i] = (tc_safetensor){.name = tensors[i].name,
                                 .dtype = file_dtypes[dense[i].dtype],
                                 .rank = dense[i].rank,
                                 .data = dense[i].data};
        for (int d = 0; d < dense[i].rank; d++)
            out[i].shape[d] = (tc_index)dense[i].shape[d];
        out[i].bytes = ok ? (size_t)tci_tensor_elements(&dense[i]) * tci_dtype_size(dense[i].dtype) : 0;
    }
    if (ok && tc_safetensors_write(path, out, count) != TC_STATUS_OK)
        ok = tci_fail(diag, (tci_loc){path, 0}, "cannot be written: %s", strerror(errno));
    for (size_t i = 0; dense != NULL && i < count; i++)
        tci_tensor_release(&dense[i]);
    free(out);
    free(dense);
    return ok;
}

bool tci_data_pack(const char *path, const tci_named *tensors, size_t count, tci_diag *diag)
{
    tci_output output;
    if (!tci_output_open(&output, path, diag))
        return false;
    static const char zero[64];
    for (size_t i = 0; i < count; i++) {
        tci_tensor dense;
        if (!tci_tensor_dense(&dense, tensors[i].tensor, (tci_loc){path, 0}, diag)) {
            tci_output_discard(&output);
            return false;
        }
        const size_t bytes = (size_t)tci_tensor_elements(&dense) * tci_dtype_size(dense.dtype);
        fwrite(dense.data, 1, bytes, output.file);
        fwrite(zero, 1, (64 - bytes % 64) % 64, output.file);
        tci_tensor_release(&dense);
    }
    return tci_output_commit(&output, diag);
}
