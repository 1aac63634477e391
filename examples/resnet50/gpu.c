/* SPDX-License-Identifier: Apache-2.0
 *
 * The same network on an NVIDIA GPU, by `meson setup -Dcuda=true`: seeded pictures in batches of three sizes, with
 * everything on the device. Without a GPU it says what is missing.
 */
#include "model.h" /* made from model.c with --target cuda */

#include "../gpu.h"
#include "sizes.h"

enum { LARGEST = 32, PICTURE = 3 * SIZE * SIZE, CALLS = 20 };

int main(void)
{
    static const tc_index batches[] = {1, 8, LARGEST};
    static tc_context context;
    static float logits[LARGEST * CLASSES], first[CLASSES];
    tc_cuda *cuda = open_gpu(&context, &resnet50_model, resnet50_arena_bytes(LARGEST, 1));
    float *image = aligned_memory(sizeof(float) * LARGEST * PICTURE);
    int same = 1;
    fill(image, (size_t)LARGEST * PICTURE, 1);
    float *d_image = gpu_memory(&context, cuda, image, sizeof(float) * LARGEST * PICTURE);
    float *d_logits = gpu_memory(&context, cuda, NULL, sizeof logits);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const resnet50_args args = {.batch = batches[i], .image = d_image, .logits = d_logits};
        double start = 0;
        for (int call = -2; call < CALLS; call++) { /* the first two are recorded and warm */
            if (call == 0) {
                must(&context, tc_cuda_finish(cuda, NULL, &context.error));
                start = seconds_now();
            }
            must(&context, resnet50_cuda(&context, &args, NULL));
        }
        must(&context, tc_cuda_finish(cuda, NULL, &context.error));
        const double taken = (seconds_now() - start) / CALLS;
        printf("batch %2d: %8.3f ms a picture\n", (int)batches[i], 1e3 * taken / (double)batches[i]);
        from_gpu(&context, cuda, logits, d_logits, sizeof(float) * (size_t)batches[i] * CLASSES);
        if (i == 0)
            memcpy(first, logits, sizeof first);
        same &= !memcmp(first, logits, sizeof first);
    }
    const size_t class = index_of_largest(first, CLASSES);
    printf("the first picture is of class %zu (logit %.4f), with the same bits in %s batch\n", class,
           (double)first[class], same ? "every" : "NOT every");
    tc_cuda_close(cuda);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
