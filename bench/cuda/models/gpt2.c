/* SPDX-License-Identifier: Apache-2.0
 *
 * GPT-2 small over a whole text, with the logits of every position and no cache: what bench/cuda/torch_speed.py has.
 * The weights are those of examples/gpt2.
 */
#include "../../../examples/layers.h"

#include "../../../examples/gpt2/sizes.h"

#ifndef DTYPE
#define DTYPE TC_F32 /* of what it writes */
#endif

static tc_tensor dense(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_add(tc_matmul(x, tc_weight(g, "weight")), tc_weight(g, "bias"));
    return x;
}

static tc_tensor heads(tc_tensor x, tc_dim length)
{
    return tc_permute(tc_reshape(x, length, HEADS, HEAD), 1, 0, 2);
}

TC_MODEL(gpt2)
{
    tc_dim length = tc_dynamic(g, "length", 1, CAPACITY);
    tc_tensor ids = tc_input(g, "ids", TC_I32, length);
    tc_weights(g, WEIGHTS);
    tc_tensor table = tc_weight(g, "wte.weight");
    tc_tensor x = tc_add(tc_embedding(ids, table), tc_slice(tc_weight(g, "wpe.weight"), 0, 0, length));
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "h.%d", i) {
            tc_tensor part[3];
            tc_split(dense(g, layer_norm(g, x, "ln_1", 1e-5), "attn.c_attn"), 1, 3, part);
            tc_tensor a = tc_scaled_dot_product_attention(heads(part[0], length), heads(part[1], length),
                                                          heads(part[2], length), .causal = true);
            x = tc_add(x, dense(g, tc_reshape(tc_permute(a, 1, 0, 2), length, HIDDEN), "attn.c_proj"));
            tc_tensor inner = tc_gelu_tanh(dense(g, layer_norm(g, x, "ln_2", 1e-5), "mlp.c_fc"));
            x = tc_add(x, dense(g, inner, "mlp.c_proj"));
        }
    tc_output(g, "logits", tc_cast(tc_linear(layer_norm(g, x, "ln_f", 1e-5), table), DTYPE));
}
