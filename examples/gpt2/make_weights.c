/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes gpt2.safetensors: seeded weights under Hugging Face's names.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"
#include "sizes.h"

#include <math.h>

static void add_dense(seeded_list *list, int layer, const char *name, int in, int out)
{
    seeded_add(list, 0, 1.0f / sqrtf((float)in), SEEDED_SHAPE(in, out), "h.%d.%s.weight", layer, name);
    seeded_add(list, 0, 0.02f, SEEDED_SHAPE(out), "h.%d.%s.bias", layer, name);
}

static void add_norm(seeded_list *list, const char *name)
{
    seeded_add(list, 1, 0.1f, SEEDED_SHAPE(HIDDEN), "%s.weight", name);
    seeded_add(list, 0, 0.05f, SEEDED_SHAPE(HIDDEN), "%s.bias", name);
}

int main(int argc, char **argv)
{
    seeded_list list = {0};
    char name[32];
    seeded_add(&list, 0, 0.05f, SEEDED_SHAPE(VOCABULARY, HIDDEN), "wte.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(CAPACITY, HIDDEN), "wpe.weight");
    for (int layer = 0; layer < LAYERS; layer++) {
        snprintf(name, sizeof name, "h.%d.ln_1", layer);
        add_norm(&list, name);
        add_dense(&list, layer, "attn.c_attn", HIDDEN, 3 * HIDDEN);
        add_dense(&list, layer, "attn.c_proj", HIDDEN, HIDDEN);
        snprintf(name, sizeof name, "h.%d.ln_2", layer);
        add_norm(&list, name);
        add_dense(&list, layer, "mlp.c_fc", HIDDEN, INNER);
        add_dense(&list, layer, "mlp.c_proj", INNER, HIDDEN);
    }
    add_norm(&list, "ln_f");
    return seeded_write(&list, argc, argv);
}
