/* SPDX-License-Identifier: Apache-2.0
 *
 * Status names, messages and the error detail, without stdio.
 */
#include "internal.h"

const char *tc_status_string(tc_status status)
{
    static const char *const text[TC_STATUS_COUNT] = {
        [TC_STATUS_OK] = "ok",
        [TC_STATUS_NULL_POINTER] = "a required pointer is NULL",
        [TC_STATUS_DIM_OUT_OF_RANGE] = "a dim is out of range",
        [TC_STATUS_GUARD_FAILED] = "the dims break a guard of the model",
        [TC_STATUS_MISALIGNED] = "a pointer is misaligned",
        [TC_STATUS_OVERLAP] = "buffers overlap",
        [TC_STATUS_ARENA_TOO_SMALL] = "the arena is too small",
        [TC_STATUS_INDEX_OUT_OF_RANGE] = "an index is out of range",
        [TC_STATUS_UNSUPPORTED_CPU] = "the processor has no instruction set of the model",
        [TC_STATUS_GENERIC_REFUSED] = "no specialized variant fits",
        [TC_STATUS_NOT_BUILT] = "the model was built without it",
        [TC_STATUS_BAD_STATE] = "the state buffer is not initialised for this model",
        [TC_STATUS_BAD_WEIGHTS] = "the weights are not this model's, truncated or damaged",
        [TC_STATUS_BAD_VIEW] = "a tensor view does not fit the function",
        [TC_STATUS_BAD_ARGUMENT] = "an argument is invalid",
        [TC_STATUS_SYSTEM] = "the operating system refused",
        [TC_STATUS_NO_DEVICE] = "the device that the model was compiled for is not there",
        [TC_STATUS_DEVICE] = "the device's driver refused",
    };
    return (unsigned)status < TC_STATUS_COUNT ? text[status] : "unknown status";
}

size_t tc_dtype_bytes(tc_dtype dtype)
{
    static const unsigned char bytes[TC_DTYPE_COUNT] =
        {[TC_DTYPE_F32] = 4, [TC_DTYPE_I32] = 4,  [TC_DTYPE_I64] = 8, [TC_DTYPE_BOOL] = 1, [TC_DTYPE_F64] = 8,
         [TC_DTYPE_F16] = 2, [TC_DTYPE_BF16] = 2, [TC_DTYPE_I8] = 1,  [TC_DTYPE_U8] = 1,   [TC_DTYPE_I16] = 2,
         [TC_DTYPE_U16] = 2, [TC_DTYPE_U32] = 4,  [TC_DTYPE_U64] = 8};
    return (unsigned)dtype < TC_DTYPE_COUNT ? bytes[dtype] : 0;
}

tc_text tc_text_start(char *storage, size_t bytes)
{
    storage[0] = 0;
    return (tc_text){storage, storage + bytes - 1};
}

void tc_text_put(tc_text *text, const char *string)
{
    while (*string && text->at < text->end)
        *text->at++ = *string++;
    *text->at = 0;
}

void tc_text_put_int(tc_text *text, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits - 1;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    *at = 0;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--at = '-';
    tc_text_put(text, at);
}

int tc_bytes_equal(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t p, q;
        __builtin_memcpy(&p, x + i, sizeof p);
        __builtin_memcpy(&q, y + i, sizeof q);
        if (p != q)
            return 0;
    }
    return 1;
}

int tc_names_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        ++a, ++b;
    return *a == *b;
}

void tc_text_say(tc_text *text, const tc_function *function, const tc_detail *detail, const char *format)
{
    if (function) {
        tc_text_put(text, function->name);
        tc_text_put(text, ": ");
    }
    for (; *format; ++format) {
        if (*format != '%') {
            tc_text_put(text, (const char[]){*format, 0});
            continue;
        }
        switch (*++format) {
        case 's': tc_text_put(text, detail->subject); break;
        case 'o': tc_text_put(text, detail->other); break;
        case 'p': tc_text_put_int(text, detail->position); break;
        case 'v': tc_text_put_int(text, detail->value); break;
        case 'l': tc_text_put_int(text, detail->low); break;
        default: tc_text_put_int(text, detail->high); break;
        }
    }
}

tc_status tc_refuse(tc_context *context, tc_status status, const tc_function *function, const tc_detail *detail,
                    const char *format)
{
    tc_error *error = &context->error;
    tc_text text = tc_text_start(error->message, sizeof error->message);
    error->status = status;
    error->function = function ? function->name : NULL;
    error->subject = detail->subject;
    error->other = detail->other;
    error->position = detail->position;
    error->value = detail->value;
    error->low = detail->low;
    error->high = detail->high;
    tc_text_say(&text, function, detail, format);
    if (context->log && (context->log_topics & TC_LOG_ERRORS))
        context->log(context->log_user, TC_LOG_ERRORS, error->message);
    return status;
}

tc_status tc_refuse_range(tc_context *context, tc_status status, const tc_function *function, const char *subject,
                          int64_t value, int64_t low, int64_t high, const char *format)
{
    return tc_refuse(context, status, function, &(tc_detail){subject, NULL, -1, value, low, high}, format);
}

tc_status tc_refuse_name(tc_context *context, tc_status status, const tc_function *function, const char *subject,
                         const char *format)
{
    return tc_refuse(context, status, function, &(tc_detail){.subject = subject, .position = -1}, format);
}
