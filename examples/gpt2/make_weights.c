/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes gpt2.safetensors: seeded weights under Hugging Face's names.
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"
#include "sizes.h"

int main(int argc, char **argv)
{
    seeded_list list = {0};
    seeded_add(&list, 0, 0.05f, SEEDED_SHAPE(VOCABULARY, HIDDEN), "wte.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(CAPACITY, HIDDEN), "wpe.weight");
    for (int layer = 0; layer < LAYERS; layer++) {
        seeded_norm(&list, HIDDEN, 1, false, "h.%d.ln_1", layer);
        seeded_dense(&list, HIDDEN, 3 * HIDDEN, true, "h.%d.attn.c_attn", layer);
        seeded_dense(&list, HIDDEN, HIDDEN, true, "h.%d.attn.c_proj", layer);
        seeded_norm(&list, HIDDEN, 1, false, "h.%d.ln_2", layer);
        seeded_dense(&list, HIDDEN, INNER, true, "h.%d.mlp.c_fc", layer);
        seeded_dense(&list, INNER, HIDDEN, true, "h.%d.mlp.c_proj", layer);
    }
    seeded_norm(&list, HIDDEN, 1, false, "ln_f");
    return seeded_write(&list, argc, argv);
}
