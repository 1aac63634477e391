/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes seeded weights of the models that are measured here alone: make_mlp, make_gated, make_vit, make_llama and
 * make_bert (the encoder of examples/minilm with BERT-base's sizes), by -DMLP, -DGATED, -DVIT, -DLLAMA, -DBERT.
 */
#include "../../../examples/seeded_weights.h"
#if defined(LLAMA)
#include "llama_sizes.h"
#endif

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
#elif defined(VIT)
    enum { HIDDEN = 768, LAYERS = 12 };
    seeded_add(&list, 0, 1.0f / 28, SEEDED_SHAPE(HIDDEN, 3, 16, 16), "patch.weight");
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(HIDDEN), "patch.bias");
    seeded_add(&list, 0, 0.5f, SEEDED_SHAPE(1, 1, HIDDEN), "class");
    seeded_add(&list, 0, 0.5f, SEEDED_SHAPE(1, 197, HIDDEN), "position");
    for (int layer = 0; layer < LAYERS; layer++) {
        static const char *const square[] = {"query", "key", "value", "output"};
        for (int i = 0; i < 4; i++)
            seeded_dense(&list, HIDDEN, HIDDEN, false, "layer.%d.%s", layer, square[i]);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.norm1", layer);
        seeded_norm(&list, HIDDEN, 1, false, "layer.%d.norm2", layer);
        seeded_dense(&list, HIDDEN, 4 * HIDDEN, false, "layer.%d.up", layer);
        seeded_dense(&list, 4 * HIDDEN, HIDDEN, false, "layer.%d.down", layer);
    }
    seeded_norm(&list, HIDDEN, 1, false, "norm");
    seeded_dense(&list, HIDDEN, 1000, false, "head");
#elif defined(LLAMA)
    enum { KEYS = KV_HEADS * HEAD };
    static const struct { const char *name; int out, in; } dense[] = {
        {"query", HIDDEN, HIDDEN}, {"key", KEYS, HIDDEN}, {"value", KEYS, HIDDEN}, {"output", HIDDEN, HIDDEN},
        {"gate", INTERMEDIATE, HIDDEN}, {"up", INTERMEDIATE, HIDDEN}, {"down", HIDDEN, INTERMEDIATE}};
    list.bf16 = true;
    seeded_add(&list, 0, 0.02f, SEEDED_SHAPE(VOCABULARY, HIDDEN), "embedding");
    seeded_add(&list, 0, 0.7f, SEEDED_SHAPE(CAPACITY, HEAD), "cosines");
    seeded_add(&list, 0, 0.7f, SEEDED_SHAPE(CAPACITY, HEAD), "sines");
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < 7; i++)
            seeded_add(&list, 0, 1.0f / sqrtf((float)dense[i].in), SEEDED_SHAPE(dense[i].out, dense[i].in), "layer.%d.%s",
                       layer, dense[i].name);
        seeded_add(&list, 1, 0.1f, SEEDED_SHAPE(HIDDEN), "layer.%d.norm1", layer);
        seeded_add(&list, 1, 0.1f, SEEDED_SHAPE(HIDDEN), "layer.%d.norm2", layer);
    }
    seeded_add(&list, 1, 0.1f, SEEDED_SHAPE(HIDDEN), "norm");
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
