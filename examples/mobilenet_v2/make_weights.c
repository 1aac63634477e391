/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes mobilenet_v2.safetensors: seeded weights under torchvision's names.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"
#include "sizes.h"

/* in: the channels that one output sums over */
static void add_conv(seeded_list *list, const char *conv, const char *norm, int out, int in, int window, float gain)
{
    const float deviation = sqrtf(2.0f / (float)(in * window * window));
    seeded_add(list, 0, deviation, SEEDED_SHAPE(out, in, window, window), "%s.weight", conv);
    seeded_norm(list, out, gain, true, "%s", norm);
}

static void add_unit(seeded_list *list, const char *prefix, int out, int in, int window)
{
    char conv[48], norm[48];
    snprintf(conv, sizeof conv, "%s.0", prefix);
    snprintf(norm, sizeof norm, "%s.1", prefix);
    add_conv(list, conv, norm, out, in, window, 1);
}

static void add_block(seeded_list *list, int block, int in, int expansion, int out)
{
    char name[40], norm[40];
    int next = 0;
    if (expansion > 1) {
        snprintf(name, sizeof name, "features.%d.conv.%d", block, next++);
        add_unit(list, name, in * expansion, in, 1);
    }
    snprintf(name, sizeof name, "features.%d.conv.%d", block, next++);
    add_unit(list, name, in * expansion, 1, 3);
    snprintf(name, sizeof name, "features.%d.conv.%d", block, next);
    snprintf(norm, sizeof norm, "features.%d.conv.%d", block, next + 1);
    add_conv(list, name, norm, out, in * expansion, 1, 0.7f);
}

int main(int argc, char **argv)
{
    seeded_list list = {0};
    char name[32];
    int block = 0, in = STEM;
    snprintf(name, sizeof name, "features.%d", block++);
    add_unit(&list, name, STEM, 3, 3);
    for (int i = 0; i < GROUPS; i++)
        for (int j = 0; j < groups[i].count; j++) {
            add_block(&list, block++, in, groups[i].expansion, groups[i].channels);
            in = groups[i].channels;
        }
    snprintf(name, sizeof name, "features.%d", block);
    add_unit(&list, name, HEAD, in, 1);
    seeded_dense(&list, HEAD, CLASSES, false, "classifier.1");
    return seeded_write(&list, argc, argv);
}
