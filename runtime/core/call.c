/* SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic entry: views are checked against the function, then it is the typed entry's call.
 */
#include "internal.h"

static tc_status fail_view(tc_context *context, const tc_function *f, unsigned tensor, int axis, int64_t value,
                           int64_t want, const char *format)
{
    return tc_refuse(context, TC_STATUS_BAD_VIEW, f,
                     &(tc_detail){f->tensors[tensor].name, NULL, axis, value, want, want}, format);
}

static tc_status check_form(tc_context *context, const tc_function *f, unsigned tensor, const tc_view *view)
{
    const tc_tensor_info *info = &f->tensors[tensor];
    if (view->dtype != info->dtype)
        return fail_view(context, f, tensor, -1, view->dtype, info->dtype, "%s has dtype number %v, not %l");
    if (view->rank != info->rank)
        return fail_view(context, f, tensor, -1, view->rank, info->rank, "%s has rank %v, not %l");
    if (info->rank && !view->shape)
        return fail_view(context, f, tensor, -1, 0, 0, "%s has no shape");
    return TC_STATUS_OK;
}

static tc_status check_shape(tc_context *context, const tc_function *f, unsigned tensor, const tc_view *view,
                             const tc_index *dims)
{
    int64_t shape[TC_MAX_RANK];
    f->shape(dims, tensor, shape);
    for (int axis = 0; axis < view->rank; ++axis)
        if (view->shape[axis] != shape[axis])
            return fail_view(context, f, tensor, axis, view->shape[axis], shape[axis],
                             "%s has size %v on axis %p, not %l");
    int64_t dense = 1;
    for (int axis = view->rank - 1; view->strides && axis >= 0; --axis) {
        if (shape[axis] != 1 && view->strides[axis] != dense)
            return fail_view(context, f, tensor, axis, view->strides[axis], dense,
                             "%s has stride %v on axis %p, not %l");
        if (shape[axis] == 0)
            break; /* an empty tensor: nothing is addressed */
        if (shape[axis] > PTRDIFF_MAX / dense)
            return fail_view(context, f, tensor, axis, shape[axis], PTRDIFF_MAX / dense, "%s is larger than memory");
        dense *= shape[axis];
    }
    return TC_STATUS_OK;
}

static tc_status infer_dims(tc_context *context, const tc_function *f, const tc_view *inputs, tc_index *dims)
{
    for (unsigned i = 0; i < f->dim_count; ++i) {
        const tc_dim_info *dim = &f->dims[i];
        if (dim->input < 0)
            return tc_refuse_name(context, TC_STATUS_BAD_VIEW, f, dim->name,
                                  "dim %s cannot be told from the shapes of the inputs: give dims");
        const tc_index size = inputs[dim->input].shape[dim->axis];
        if (size < dim->offset || (size - dim->offset) % dim->scale)
            return fail_view(context, f, (unsigned)dim->input, dim->axis, size, dim->offset,
                             "%s has an impossible size %v on axis %p");
        dims[i] = (size - dim->offset) / dim->scale;
    }
    return TC_STATUS_OK;
}

tc_status tc_call_with(tc_context *context, const tc_function *f, const tc_view *inputs, const tc_view *outputs,
                       const tc_call_options *options, tc_index *dims, void **buffers)
{
    const tc_call_options none = {0};
    tc_status status = TC_STATUS_OK;
    options = options ? options : &none;
    const unsigned count = f->input_count + f->output_count;
    for (unsigned i = 0; i < count && status == TC_STATUS_OK; ++i) {
        const tc_view *view = i < f->input_count ? &inputs[i] : &outputs[i - f->input_count];
        status = check_form(context, f, i, view);
        buffers[i] = view->data;
    }
    if (status == TC_STATUS_OK && !options->dims)
        status = infer_dims(context, f, inputs, dims);
    for (unsigned i = 0; options->dims && i < f->dim_count; ++i)
        dims[i] = options->dims[i];
    if (status == TC_STATUS_OK)
        status = tc_check_dims(context, f, dims, options->counters);
    for (unsigned i = 0; i < count && status == TC_STATUS_OK; ++i)
        status = check_shape(context, f, i, i < f->input_count ? &inputs[i] : &outputs[i - f->input_count], dims);
    return status == TC_STATUS_OK
               ? tc_run(context, f, dims, buffers, options->state, options->weights, options->counters)
               : status;
}

tc_status tc_call(tc_context *context, const tc_function *f, const tc_view *inputs, size_t input_count,
                  const tc_view *outputs, size_t output_count, const tc_call_options *options)
{
    if (!context)
        return TC_STATUS_NULL_POINTER;
    if (!f || (!inputs && input_count) || (!outputs && output_count))
        return tc_run_null(context, f);
    const int inputs_fit = input_count == f->input_count;
    if (!inputs_fit || output_count != f->output_count) {
        const size_t given = inputs_fit ? output_count : input_count;
        const unsigned taken = inputs_fit ? f->output_count : f->input_count;
        return tc_refuse_range(context, TC_STATUS_BAD_VIEW, f, inputs_fit ? "outputs" : "inputs", (int64_t)given, taken,
                               taken, "got %v %s, takes %l");
    }
    return f->call(context, inputs, outputs, options);
}

static void log_counter(const tc_context *context, const tc_function *f, const char *what, const char *name,
                        uint64_t value)
{
    char line[160];
    tc_text text = tc_text_start(line, sizeof line);
    tc_text_say(&text, f, &(tc_detail){.subject = what, .other = name, .value = (int64_t)value}, "%s%o: %v");
    context->log(context->log_user, TC_LOG_GUARDS, line);
}

void tc_counters_log(const tc_context *context, const tc_function *f, const void *counters)
{
    if (!context || !context->log || !f || !counters)
        return;
    const uint64_t *counter = counters;
    log_counter(context, f, "calls", "", *counter++);
    log_counter(context, f, "calls of the generic variant", "", *counter++);
    for (unsigned i = 0; i < f->dim_count; ++i)
        if (f->dims[i].size_count)
            log_counter(context, f, "misses of the sizes of ", f->dims[i].name, *counter++);
    for (unsigned i = 0; i < f->guard_count; ++i)
        log_counter(context, f, "failures of guard ", f->guards[i], *counter++);
}
