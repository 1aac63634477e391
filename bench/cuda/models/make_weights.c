/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes seeded weights of the models that are measured here alone: make_mlp, make_gated and make_bert (the encoder of
 * examples/minilm with BERT-base's sizes), by -DMLP, -DGATED, -DBERT.
 */
#include "../../../examples/seeded_weights.h"

int main(int argc, char **argv)
{
    seeded_list list = {0};
#if defined(MLP)
    seeded_dense(&list, 784, 512, false, "a");
    seeded_dense(&list, 512, 512, false, "b");
    seeded_dense(&list, 512, 10, false, "c");
#elif defined(GATED)
    seeded_add(&list, 1, 0.1f, SEEDED_SHAPE(4096), "weight");
    seeded_add(&list, 0, 0.1f, SEEDED_SHAPE(4096), "bias");
    seeded_add(&list, 1, 0.1f, SEEDED_SHAPE(4096), "gate");
#else
    enum { HIDDEN = 768, LAYERS = 12 };
    seeded_add(&list, 0, 0.05f, SEEDED_SHAPE(30522, HIDDEN), "embeddings.word.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(512, HIDDEN), "embeddings.position.weight");
    seeded_norm(&list, HIDDEN, 1, false, "embeddings.norm");
    for (int layer = 0; layer < LAYERS; layer++) {
        static const char *const square[] = {"query", "key", "value", "output"};
        for (int i = 0; i < 4; i++)
            seeded_dense(&list, HIDDEN, HIDDEN, false, "layer.%d.%s", layer, square[i]);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.attention_norm", layer);
        seeded_dense(&list, HIDDEN, 4 * HIDDEN, false, "layer.%d.up", layer);
        seeded_dense(&list, 4 * HIDDEN, HIDDEN, false, "layer.%d.down", layer);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.output_norm", layer);
    }
#endif
    return seeded_write(&list, argc, argv);
}
