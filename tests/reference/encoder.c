/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

enum { HIDDEN = 24, HEADS = 3, HEAD = HIDDEN / HEADS };

static tc_tensor linear(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    return x;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_layer_norm(x, tc_weight(g, "weight"), tc_weight(g, "bias"), .eps = 1e-5);
    return x;
}

static tc_tensor heads(tc_tensor x, tc_dim batch, tc_dim length)
{
    return tc_permute(tc_reshape(x, batch, length, HEADS, HEAD), 0, 2, 1, 3);
}

/* One layer of a transformer's encoder over embedded words. */
TC_MODEL(encoder)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8), length = tc_dynamic(g, "length", 1, 33);
    tc_tensor ids = tc_input(g, "ids", TC_I64, batch, length);
    tc_tensor mask = tc_input(g, "mask", TC_BOOL, batch, 1, 1, length);
    tc_weights(g, "encoder.safetensors");
    tc_tensor x = tc_embedding(ids, tc_weight(g, "words"));
    tc_tensor a = tc_scaled_dot_product_attention(heads(linear(g, x, "query"), batch, length),
                                                  heads(linear(g, x, "key"), batch, length),
                                                  heads(linear(g, x, "value"), batch, length), .mask = mask);
    a = tc_reshape(tc_permute(a, 0, 2, 1, 3), batch, length, HIDDEN);
    x = norm(g, tc_add(x, linear(g, a, "output")), "norm1");
    x = norm(g, tc_add(x, linear(g, tc_gelu(linear(g, x, "up")), "down")), "norm2");
    tc_output(g, "y", tc_mean(x, 1));
}
