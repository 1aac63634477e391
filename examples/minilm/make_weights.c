/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes minilm.safetensors: seeded weights of a BERT-like sentence encoder (6 layers, 384 wide, 12 heads).
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"

#include <math.h>

enum { HIDDEN = 384, INTERMEDIATE = 1536, VOCABULARY = 30522, POSITIONS = 512, LAYERS = 6 };

static void add_linear(seeded_list *list, int layer, const char *name, int out, int in)
{
    seeded_add(list, 0, 1.0f / sqrtf((float)in), SEEDED_SHAPE(out, in), "layer.%d.%s.weight", layer, name);
    seeded_add(list, 0, 0.02f, SEEDED_SHAPE(out), "layer.%d.%s.bias", layer, name);
}

static void add_norm(seeded_list *list, const char *name)
{
    seeded_add(list, 1, 0.1f, SEEDED_SHAPE(HIDDEN), "%s.weight", name);
    seeded_add(list, 0, 0.05f, SEEDED_SHAPE(HIDDEN), "%s.bias", name);
}

int main(int argc, char **argv)
{
    seeded_list list = {0};
    char name[64];
    seeded_add(&list, 0, 0.05f, SEEDED_SHAPE(VOCABULARY, HIDDEN), "embeddings.word.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(POSITIONS, HIDDEN), "embeddings.position.weight");
    add_norm(&list, "embeddings.norm");
    for (int layer = 0; layer < LAYERS; layer++) {
        add_linear(&list, layer, "query", HIDDEN, HIDDEN);
        add_linear(&list, layer, "key", HIDDEN, HIDDEN);
        add_linear(&list, layer, "value", HIDDEN, HIDDEN);
        add_linear(&list, layer, "output", HIDDEN, HIDDEN);
        snprintf(name, sizeof name, "layer.%d.attention_norm", layer);
        add_norm(&list, name);
        add_linear(&list, layer, "up", INTERMEDIATE, HIDDEN);
        add_linear(&list, layer, "down", HIDDEN, INTERMEDIATE);
        snprintf(name, sizeof name, "layer.%d.output_norm", layer);
        add_norm(&list, name);
    }
    return seeded_write(&list, argc, argv);
}
