/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes lstm-vad.safetensors: seeded weights of the detector. The first convolution too is seeded here, no Fourier transform.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"

static void add_conv(seeded_list *list, const char *name, int out, int in, int window)
{
    seeded_add(list, 0, sqrtf(2.0f / (float)(in * window)), SEEDED_SHAPE(out, in, window), "%s.weight", name);
    seeded_add(list, 0, 0.02f, SEEDED_SHAPE(out), "%s.bias", name);
}

int main(int argc, char **argv)
{
    enum { WINDOW = 256, BINS = WINDOW / 2 + 1, HIDDEN = 128 };
    seeded_list list = {0};
    seeded_add(&list, 0, 1.0f / sqrtf(WINDOW), SEEDED_SHAPE(2 * BINS, 1, WINDOW), "stft_conv.weight");
    add_conv(&list, "conv1", 128, BINS, 3);
    add_conv(&list, "conv2", 64, 128, 3);
    add_conv(&list, "conv3", 64, 64, 3);
    add_conv(&list, "conv4", HIDDEN, 64, 3);
    static const char *const parts[] = {"ih", "hh"};
    for (int i = 0; i < 2; i++) {
        seeded_add(&list, 0, 2.0f / sqrtf(HIDDEN), SEEDED_SHAPE(4 * HIDDEN, HIDDEN), "lstm_cell.weight_%s", parts[i]);
        seeded_add(&list, 0, 0.1f, SEEDED_SHAPE(4 * HIDDEN), "lstm_cell.bias_%s", parts[i]);
    }
    add_conv(&list, "final_conv", 1, HIDDEN, 1);
    return seeded_write(&list, argc, argv);
}
