/* SPDX-License-Identifier: Apache-2.0
 *
 * Every layer of layers.h, with the weights that make_data.py took from PyTorch's modules.
 */
#include <tensor_compile/model.h>

TC_MODEL(layers)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8), length = tc_dynamic(g, "length", 1, 16);
    tc_weights(g, "layers.safetensors");

    tc_tensor x = tc_input(g, "x", TC_F32, batch, length, 8);
    tc_output(g, "linear", tc_layer_linear(g, x, "linear"));
    tc_output(g, "plain", tc_layer_linear(g, x, "plain"));
    tc_output(g, "layer_norm", tc_layer_layer_norm(g, x, "norm", .eps = 1e-3));
    tc_output(g, "bare_norm", tc_layer_layer_norm(g, x, "bare"));
    tc_output(g, "rms_norm", tc_layer_rms_norm(g, x, "rms", .eps = 1e-6));
    tc_output(g, "causal", tc_layer_attention(g, x, "attention", .heads = 2, .causal = true));
    tc_tensor memory = tc_input(g, "memory", TC_F32, batch, 5, 8), keep = tc_input(g, "keep", TC_BOOL, length, 5);
    tc_output(g, "cross", tc_layer_attention(g, x, "attention", .heads = 4, .memory = memory, .mask = keep));
    tc_output(g, "grouped", tc_layer_attention(g, x, "grouped", .heads = 4, .kv_heads = 2, .output = "o_proj"));
    tc_output(g, "forward", tc_layer_feed_forward(g, x, "forward", .activation = TC_LAYER_GELU));
    TC_SCOPE(g, "forward") tc_output(g, "forward_in_scope", tc_layer_feed_forward(g, x, "", .activation = TC_LAYER_GELU));
    tc_output(g, "gated", tc_layer_feed_forward(g, x, "gated", .up = "up", .down = "down", .gate = "gate",
                                                .activation = TC_LAYER_SILU));
    tc_output(g, "lstm", tc_layer_lstm(g, x, "lstm", .layers = 2, .bidirectional = true, .batch_first = true));
    TC_SCOPE(g, "inner") {
        tc_output(g, "gru", tc_layer_gru(g, x, "gru", .batch_first = true));
    }
    tc_output(g, "embedding", tc_layer_embedding(g, tc_input(g, "index", TC_I64, batch, 3), "table"));

    tc_tensor image = tc_input(g, "image", TC_F32, batch, 4, 9, 7);
    tc_output(g, "conv2d", tc_layer_conv2d(g, image, "conv2d", .stride = 2, .padding = {1, 0}));
    tc_output(g, "grouped_conv", tc_layer_conv2d(g, image, "depthwise", .padding = 1, .groups = 4));
    tc_output(g, "batch_norm", tc_layer_batch_norm(g, image, "batch_norm"));
    tc_output(g, "group_norm", tc_layer_group_norm(g, image, "group_norm", .groups = 2));
    tc_output(g, "conv1d", tc_layer_conv1d(g, tc_select(image, 2, 0), "conv1d", .dilation = 2));
    tc_output(g, "conv3d", tc_layer_conv3d(g, tc_unsqueeze(image, 1), "conv3d", .padding = {0, 1, 1}));

    tc_tensor rows[3];
    for (int i = 0; i < 3; ++i)
        rows[i] = tc_layer_linear(g, tc_select(x, 1, 0), tc_name(g, "head.%d", i));
    tc_output(g, "stacked", tc_stack_list(1, 3, rows));
    tc_output(g, "joined", tc_concat_list(1, 3, rows));
}
