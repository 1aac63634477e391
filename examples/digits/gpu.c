/* SPDX-License-Identifier: Apache-2.0
 *
 * The same network on an NVIDIA GPU, by `meson setup -Dcuda=true`: classifies the digits that it has never seen and
 * prints the share that it gets right. Without a GPU it says what is missing.
 */
#include "held_out.h"
#include "model.h" /* made from model.c with --target cuda */

#include <stdio.h>
#include <stdlib.h>
#include <tensor_compile/cuda.h>

enum { PIXELS = 64, CLASSES = 10, BATCH = 32 };

/* A device with the model and the memory that its calls work in; NULL where there is none. */
static tc_cuda *open_device(tc_context *context) {
    tc_cuda *cuda;
    tc_error *error = &context->error;
    if (tc_cuda_open(&cuda, 0, error) == TC_STATUS_OK && tc_cuda_load(cuda, &digits_model, NULL, error) == TC_STATUS_OK &&
        tc_cuda_reserve(cuda, DIGITS_ARENA_BYTES, error) == TC_STATUS_OK) {
        tc_context_use_cuda(context, cuda);
        return cuda;
    }
    tc_cuda_close(cuda);
    return NULL;
}

static int is_best(const float *p, int label) {
    for (int c = 0; c < CLASSES; ++c)
        if (p[c] > p[label])
            return 0;
    return 1;
}

int main(int argc, char **argv) {
    static tc_context context;
    static float p[BATCH * CLASSES];
    struct held_out data;
    int right = 0, status = EXIT_SUCCESS;

    if (held_out_read(&data, argc > 1 ? argv[1] : "held-out.safetensors"))
        return EXIT_FAILURE;
    tc_context_init(&context, NULL, 0); /* no memory of the processor's is needed */
    tc_cuda *cuda = open_device(&context);
    for (size_t at = 0; cuda && at < data.count && status == EXIT_SUCCESS; at += BATCH) {
        const size_t batch = data.count - at < BATCH ? data.count - at : BATCH;
        const digits_args args = {.batch = (tc_index)batch, .image = data.images + at * PIXELS, .probabilities = p};
        if (digits(&context, &args) != TC_STATUS_OK)
            status = EXIT_FAILURE;
        for (size_t i = 0; i < batch; ++i)
            right += is_best(p + i * CLASSES, (int)data.labels[at + i]);
    }
    if (cuda && status == EXIT_SUCCESS) {
        printf("%d of %zu held-out digits right: %.2f %%\n", right, data.count, 100.0 * right / (double)data.count);
    } else {
        fprintf(stderr, "digits: %s\n", context.error.message);
        status = EXIT_FAILURE;
    }
    tc_cuda_close(cuda);
    held_out_free(&data);
    return status;
}
