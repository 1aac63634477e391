/* SPDX-License-Identifier: Apache-2.0
 *
 * Values for checking, and the comparison of docs/numerics.md.
 */
#ifndef TC_AUTOTUNE_DATA_H
#define TC_AUTOTUNE_DATA_H

#include <stddef.h>
#include <stdint.h>

/* The dtypes of generator/dtypes.def. */
typedef enum {
    TC_DATA_F32,
    TC_DATA_I32,
    TC_DATA_I64,
    TC_DATA_BOOL,
    TC_DATA_F64,
    TC_DATA_F16,
    TC_DATA_BF16,
    TC_DATA_I8,
    TC_DATA_U8,
    TC_DATA_I16,
    TC_DATA_U16,
    TC_DATA_U32,
    TC_DATA_U64
} tc_data_type;

/* A buffer of a kernel. finite: its values are never NaN or infinite (weights of a padded convolution).
 * aligned: starts at a multiple of 64 (packed, temp, scratch), else at its element's size.
 * scratch: what a call leaves in it is of no account.
 * bound: integers are in 0..bound-1 (indices); 0: any.
 * words: of a column, of panels of bytes behind which their order stands (loops/sorted_words.py); 0: nothing does.
 * constant: of the model, such as weights: no call writes it, and others lie elsewhere. */
typedef struct {
    const char *name;
    tc_data_type type;
    ptrdiff_t elements;
    uint8_t finite, aligned, written, scratch;
    int64_t bound;
    ptrdiff_t words;
    uint8_t constant;
} tc_param;

/* TC_FILL_PLAIN: values of about 1 of both signs, small integers. TC_FILL_WIDE: exponents of all sizes, denormals and
 * -0; integers of all magnitudes. TC_FILL_EXTREME: also NaN and infinities where the parameter is not finite, and the
 * bounds of integers; 0, 1 and -1 are frequent among them. */
typedef enum { TC_FILL_PLAIN, TC_FILL_WIDE, TC_FILL_EXTREME, TC_FILL_COUNT } tc_fill;

extern const char *const tc_fill_names[TC_FILL_COUNT];

size_t tc_data_size(tc_data_type type);

/* The same seed gives the same values everywhere. */
void tc_data_fill(void *values, const tc_param *param, tc_fill fill, uint64_t seed);

/* Number of the first element that differs (same bits, or both NaN, is equal); -1 where none does. */
ptrdiff_t tc_data_differ(const void *got, const void *want, const tc_param *param);

#endif
