/* SPDX-License-Identifier: Apache-2.0 */
#include "held_out.h"

#include <tensor_compile/safetensors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64 };

int held_out_read(struct held_out *data, const char *path) {
    tc_safetensors file;
    memset(data, 0, sizeof *data);
    if (tc_safetensors_open(&file, path) != TC_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", path, file.message);
        return -1;
    }
    const tc_safetensor *labels = tc_safetensors_find(&file, "labels");
    const size_t count = labels ? labels->bytes / sizeof *data->labels : 0, image_bytes = count * PIXELS * sizeof(float);
    data->count = count;
    data->images = malloc(image_bytes + 1);
    data->labels = malloc(count * sizeof *data->labels + 1);
    const int done = data->images && data->labels &&
        tc_safetensors_read(&file, "images", TC_DTYPE_F32, data->images, image_bytes) == TC_STATUS_OK &&
        tc_safetensors_read(&file, "labels", TC_DTYPE_I64, data->labels, count * sizeof *data->labels) == TC_STATUS_OK;
    if (!done) {
        fprintf(stderr, "%s: %s\n", path, file.message);
        held_out_free(data);
    }
    tc_safetensors_close(&file);
    return done ? 0 : -1;
}

void held_out_free(struct held_out *data) {
    free(data->images);
    free(data->labels);
    memset(data, 0, sizeof *data);
}
