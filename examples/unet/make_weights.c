/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes unet.safetensors: seeded weights.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"
#include "sizes.h"

static void add_unit(seeded_list *list, const char *name, int level, const char *place, int out, int in)
{
    const float deviation = sqrtf(2.0f / (float)(9 * in));
    seeded_add(list, 0, deviation, SEEDED_SHAPE(out, in, 3, 3), "%s.%d.%s.conv.weight", name, level, place);
    seeded_norm(list, out, 1, true, "%s.%d.%s.norm", name, level, place);
}

static void add_pair(seeded_list *list, const char *name, int level, int out, int in)
{
    add_unit(list, name, level, "first", out, in);
    add_unit(list, name, level, "second", out, out);
}

int main(int argc, char **argv)
{
    seeded_list list = {0};
    for (int level = 0; level < LEVELS; level++)
        add_pair(&list, "down", level, WIDTH << level, level ? WIDTH << (level - 1) : 3);
    for (int level = LEVELS - 2; level >= 0; level--)
        add_pair(&list, "up", level, WIDTH << level, 3 * (WIDTH << level));
    seeded_add(&list, 0, 1.0f / sqrtf((float)WIDTH), SEEDED_SHAPE(CLASSES, WIDTH, 1, 1), "out.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(CLASSES), "out.bias");
    return seeded_write(&list, argc, argv);
}
