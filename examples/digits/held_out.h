/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HELD_OUT_H
#define HELD_OUT_H

#include <stddef.h>
#include <stdint.h>

/* The images and labels of a safetensors file: images f32 [count, 1, 8, 8], labels i64 [count].
 * Owned by the caller; release with held_out_free. */
struct held_out {
    size_t count;
    float *images;
    int64_t *labels;
};

/* 0, or -1 after a message on stderr; nothing is left to free then. */
int held_out_read(struct held_out *data, const char *path);
void held_out_free(struct held_out *data);

#endif
