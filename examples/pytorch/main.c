/* SPDX-License-Identifier: Apache-2.0
 *
 * A PyTorch module in a C program: classifies digits that the network has never seen. net.h and the object come from
 * net.pt2, which torch.export.save wrote; neither PyTorch nor Python is in the program.
 */
#include "../digits/held_out.h"
#include "net.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 10 };

static int best(const float *probabilities)
{
    int winner = 0;
    for (int c = 1; c < CLASSES; c++)
        if (probabilities[c] > probabilities[winner])
            winner = c;
    return winner;
}

int main(int argc, char **argv)
{
    static tc_context context;
    static _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
    struct held_out data;
    int right = 0;

    if (held_out_read(&data, argc > 1 ? argv[1] : "../digits/held-out.safetensors"))
        return EXIT_FAILURE;
    tc_context_init(&context, arena, sizeof arena);
    for (size_t i = 0; i < data.count; i++) {
        float probabilities[CLASSES];
        tc_status status = net(&context, &(net_args){
                                             .batch = 1, .image = data.images + 64 * i, .probabilities = probabilities});
        if (status != TC_STATUS_OK) {
            fprintf(stderr, "net: %s\n", tc_status_string(status));
            return EXIT_FAILURE;
        }
        right += best(probabilities) == data.labels[i];
    }
    printf("%d of %zu held-out digits right: %.2f %%\n", right, data.count, 100.0 * right / (double)data.count);
    held_out_free(&data);
    return EXIT_SUCCESS;
}
