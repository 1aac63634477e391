/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes resnet50.safetensors: seeded weights under torchvision's names.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"
#include "sizes.h"

/* gain: the weight of the normalization; a branch that is added to its input has a small one, so that sums stay small */
static void add_conv(seeded_list *list, const char *prefix, const char *conv, const char *norm, int out, int in,
                     int window, float gain)
{
    const float deviation = sqrtf(2.0f / (float)(in * window * window));
    seeded_add(list, 0, deviation, SEEDED_SHAPE(out, in, window, window), "%s%s.weight", prefix, conv);
    seeded_norm(list, out, gain, true, "%s%s", prefix, norm);
}

int main(int argc, char **argv)
{
    seeded_list list = {0};
    int in = WIDTH;
    add_conv(&list, "", "conv1", "bn1", WIDTH, 3, 7, 1);
    for (int stage = 0; stage < STAGES; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            const int middle = WIDTH << stage, out = middle * EXPANSION;
            char prefix[32];
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, i);
            add_conv(&list, prefix, "conv1", "bn1", middle, in, 1, 1);
            add_conv(&list, prefix, "conv2", "bn2", middle, middle, 3, 1);
            add_conv(&list, prefix, "conv3", "bn3", out, middle, 1, 0.25f);
            if (i == 0)
                add_conv(&list, prefix, "downsample.0", "downsample.1", out, in, 1, 0.7f);
            in = out;
        }
    seeded_dense(&list, in, CLASSES, false, "fc");
    return seeded_write(&list, argc, argv);
}
