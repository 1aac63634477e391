/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes minilm.safetensors: seeded weights of a BERT-like sentence encoder (6 layers, 384 wide, 12 heads).
 *
 *   make_weights OUT.safetensors
 */
#include "../seeded_weights.h"

enum { HIDDEN = 384, INTERMEDIATE = 1536, VOCABULARY = 30522, POSITIONS = 512, LAYERS = 6 };

int main(int argc, char **argv)
{
    seeded_list list = {0};
    seeded_add(&list, 0, 0.05f, SEEDED_SHAPE(VOCABULARY, HIDDEN), "embeddings.word.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(POSITIONS, HIDDEN), "embeddings.position.weight");
    seeded_norm(&list, HIDDEN, 1, false, "embeddings.norm");
    for (int layer = 0; layer < LAYERS; layer++) {
        static const char *const square[] = {"query", "key", "value", "output"};
        for (int i = 0; i < 4; i++)
            seeded_dense(&list, HIDDEN, HIDDEN, false, "layer.%d.%s", layer, square[i]);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.attention_norm", layer);
        seeded_dense(&list, HIDDEN, INTERMEDIATE, false, "layer.%d.up", layer);
        seeded_dense(&list, INTERMEDIATE, HIDDEN, false, "layer.%d.down", layer);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.output_norm", layer);
    }
    return seeded_write(&list, argc, argv);
}
