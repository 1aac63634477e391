/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the core.
 */
#ifndef TC_CORE_INTERNAL_H
#define TC_CORE_INTERNAL_H

#include <tensor_compile/driver.h>

/* A call may have several threads. Not on processors of one core without atomic instructions (ARMv6-M, RISC-V without A). */
#if defined(__GCC_ATOMIC_INT_LOCK_FREE) && __GCC_ATOMIC_INT_LOCK_FREE < 2
#define TC_TEAMS 0
#else
#define TC_TEAMS 1
#endif

/* The compiler's own: the core includes no libc header beyond the freestanding ones. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);

/* A line of text in the making; what does not fit is dropped, the terminator always fits. */
typedef struct tc_text {
    char *at, *end; /* end: the last byte of the storage */
} tc_text;

tc_text tc_text_start(char *storage, size_t bytes);
void tc_text_put(tc_text *text, const char *string);
void tc_text_put_int(tc_text *text, int64_t value);

/* n: a multiple of 8. Every call compares the layout of its state. */
int tc_bytes_equal(const void *a, const void *b, size_t n);
int tc_names_equal(const char *a, const char *b);

/* What a failure says besides its status; unset fields are 0, position -1 for none. */
typedef struct tc_detail {
    const char *subject, *other;
    int64_t position, value, low, high;
} tc_detail;

/* Appends "FUNCTION: ", unless it is NULL, and `format`: %s subject, %o other, %p position, %v value, %l low, %h high. */
void tc_text_say(tc_text *text, const tc_function *function, const tc_detail *detail, const char *format);

/* Fills context->error, logs it and returns status. `format` becomes the message, as tc_text_say writes it. */
tc_status tc_refuse(tc_context *context, tc_status status, const tc_function *function, const tc_detail *detail,
                    const char *format);

/* The same of a value of `subject` that is not in low..high. */
tc_status tc_refuse_range(tc_context *context, tc_status status, const tc_function *function, const char *subject,
                          int64_t value, int64_t low, int64_t high, const char *format);

/* The same of a name alone. */
tc_status tc_refuse_name(tc_context *context, tc_status status, const tc_function *function, const char *subject,
                         const char *format);

/* Ranges, divisors and guards of dims. */
tc_status tc_check_dims(tc_context *context, const tc_function *function, const tc_index *dims, uint64_t *counters);

/* Bytes of a tensor of the function for dims within their ranges; -1 beyond the address space. */
int64_t tc_tensor_bytes(const tc_function *function, const tc_index *dims, unsigned tensor);

/* The call of a model that was compiled for a device, whose arguments are checked. */
tc_status tc_run_on_device(tc_frame *frame, void *stream);

/* The failure of a call whose index check found one outside its range. */
tc_status tc_refuse_index(const tc_frame *frame);

/* Of arguments in a device's memory: kernels read 16 bytes at a time. */
enum { TC_RESIDENT_ALIGNMENT = 16 };

/* The header of a state buffer. */
enum { TC_STATE_HEADER = 64 };
int tc_state_ready(const tc_model *model, const void *state);

/* The header of external weights: where the payload starts. */
enum { TC_WEIGHTS_HEADER = 128 };
int tc_weights_fit(const tc_model *model, const void *weights);

/* alignment: a power of two. */
static inline int tc_aligned(const void *p, size_t alignment)
{
    return ((uintptr_t)p & (alignment - 1)) == 0;
}

#endif
