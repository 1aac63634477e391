/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: an operation of ops.h together with its weights, which have the names of PyTorch's modules. model.h includes
 * this header.
 *
 *     x = tc_layer_linear(g, x, "fc1");          x fc1.weight^T + fc1.bias
 *
 * `name` is a scope (TC_SCOPE): open scopes and the prefix of tc_call come before it, dots may be in it, and messages,
 * explain and profile carry it. A bias, or the weight of a norm, is used where the files have one, as a module made
 * with bias=False or elementwise_affine=False saves none; every other weight must be there. Options are those of the
 * operation.
 */
#ifndef TENSOR_COMPILE_LAYERS_H
#define TENSOR_COMPILE_LAYERS_H

#include "model.h"

/* Whether the declared files have a weight of this name (open scopes and the prefix of tc_call come before it). */
#define tc_has_weight(g, name) tc_has_weight_at(TC_HERE, g, name)
bool tc_has_weight_at(tc_site at, tc_graph *g, const char *name);

/* torch.nn.Linear: NAME.weight [out, in], NAME.bias [out]. x[..., in] -> [..., out]. */
#define tc_layer_linear(g, x, name) tc_layer_linear_at(TC_HERE, g, x, name)
tc_tensor tc_layer_linear_at(tc_site at, tc_graph *g, tc_tensor x, const char *name);

/* torch.nn.Embedding: NAME.weight [count, features]. index[...] -> [..., features]. */
#define tc_layer_embedding(g, index, name) tc_layer_embedding_at(TC_HERE, g, index, name)
tc_tensor tc_layer_embedding_at(tc_site at, tc_graph *g, tc_tensor index, const char *name);

/* tc_layer_conv1d(g, x, "conv", .stride = 2, .padding = 1, .dilation = 2, .groups = 8, .same = TC_SAME), and so on of 2
 * and 3 dims: torch.nn.Conv1d to Conv3d, NAME.weight [out, in/groups, window...], NAME.bias. Options as of tc_conv2d.
 */
typedef struct tc_layer_conv1d_args {
    tc_graph *g;
    tc_tensor x;
    const char *name;
    int stride, padding, low, high, dilation, groups;
    tc_same same;
    tc_site at; /* set by the macro, here and below */
} tc_layer_conv1d_args;
typedef struct tc_layer_conv2d_args {
    tc_graph *g;
    tc_tensor x;
    const char *name;
    int stride[2], padding[2], low[2], high[2], dilation[2], groups;
    tc_same same;
    tc_site at;
} tc_layer_conv2d_args;
typedef struct tc_layer_conv3d_args {
    tc_graph *g;
    tc_tensor x;
    const char *name;
    int stride[3], padding[3], low[3], high[3], dilation[3], groups;
    tc_same same;
    tc_site at;
} tc_layer_conv3d_args;
#define tc_layer_conv1d(...) tc_layer_conv1d_at(&(const tc_layer_conv1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_layer_conv2d(...)                                                                                           \
    tc_layer_conv2d_at(&(const tc_layer_conv2d_args){TC_WINDOWS_2_, .g = __VA_ARGS__, .at = TC_HERE})
#define tc_layer_conv3d(...)                                                                                           \
    tc_layer_conv3d_at(&(const tc_layer_conv3d_args){TC_WINDOWS_3_, .g = __VA_ARGS__, .at = TC_HERE})
tc_tensor tc_layer_conv1d_at(const tc_layer_conv1d_args *args);
tc_tensor tc_layer_conv2d_at(const tc_layer_conv2d_args *args);
tc_tensor tc_layer_conv3d_at(const tc_layer_conv3d_args *args);

/* tc_layer_layer_norm(g, x, "norm", .eps = 1e-6), tc_layer_rms_norm, tc_layer_batch_norm (with running_mean and
 * running_var), tc_layer_group_norm(g, x, "norm", .groups = 32): torch.nn.LayerNorm, RMSNorm, BatchNorm1d to
 * BatchNorm3d (of eval()) and GroupNorm. Layer and RMS norms normalize as many last axes as their weight has, without a
 * weight the last one. eps left out is the operation's. One with neither weight nor bias is warned of where the files
 * have a weight of a similar name that nothing reads. */
typedef struct tc_layer_norm_args {
    tc_graph *g;
    tc_tensor x;
    const char *name;
    double eps;
    int groups; /* of group_norm */
    tc_site at;
} tc_layer_norm_args;
#define tc_layer_layer_norm(...) tc_layer_layer_norm_at(&(const tc_layer_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_layer_rms_norm(...) tc_layer_rms_norm_at(&(const tc_layer_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_layer_batch_norm(...) tc_layer_batch_norm_at(&(const tc_layer_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_layer_group_norm(...) tc_layer_group_norm_at(&(const tc_layer_norm_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_layer_layer_norm_at(const tc_layer_norm_args *args);
tc_tensor tc_layer_rms_norm_at(const tc_layer_norm_args *args);
tc_tensor tc_layer_batch_norm_at(const tc_layer_norm_args *args);
tc_tensor tc_layer_group_norm_at(const tc_layer_norm_args *args);

/* tc_layer_attention(g, x, "attn", .heads = 8, .kv_heads = 2, .memory = y, .mask = m, .causal = true, .scale = 0.125,
 * .query = "wq", .key = "wk", .value = "wv", .output = "wo")
 *
 * Attention of x[b, l, features] to itself, or to memory[b, s, ...]: projections, tc_scaled_dot_product_attention over
 * heads that lie side by side, the output's projection; [b, l, out]. As torch.nn.MultiheadAttention with
 * batch_first=True saves it (NAME.in_proj_weight, NAME.in_proj_bias, NAME.out_proj.weight, ...), where there is an
 * in_proj_weight; else with a linear layer each, by default q_proj, k_proj, v_proj and out_proj. heads must be named
 * and divide the features; kv_heads divide heads, left out they are as many. A bool mask keeps where it is TRUE:
 * PyTorch's attn_mask of this module drops there, its function's keeps. */
typedef struct tc_layer_attention_args {
    tc_graph *g;
    tc_tensor x;
    const char *name;
    int heads, kv_heads;
    tc_tensor memory, mask;
    bool causal;
    double scale;
    const char *query, *key, *value, *output;
    tc_site at;
} tc_layer_attention_args;
#define tc_layer_attention(...) tc_layer_attention_at(&(const tc_layer_attention_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_layer_attention_at(const tc_layer_attention_args *args);

/* tc_layer_feed_forward(g, x, "mlp", .up = "fc1", .down = "fc2", .gate = "gate", .activation = TC_LAYER_GELU)
 * down(activation(up(x))), or with a gate down(activation(gate(x)) * up(x)), of linear layers below NAME: up and down
 * are "fc1" and "fc2" where they are left out. NAME may be "", where they are in the open scope itself, as linear1 and
 * linear2 of torch.nn.TransformerEncoderLayer are. The activation left out is relu. */
typedef enum tc_layer_activation {
    TC_LAYER_RELU,
    TC_LAYER_GELU,
    TC_LAYER_GELU_TANH,
    TC_LAYER_SILU
} tc_layer_activation;
typedef struct tc_layer_feed_forward_args {
    tc_graph *g;
    tc_tensor x;
    const char *name, *up, *down, *gate;
    tc_layer_activation activation;
    tc_site at;
} tc_layer_feed_forward_args;
#define tc_layer_feed_forward(...)                                                                                     \
    tc_layer_feed_forward_at(&(const tc_layer_feed_forward_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_layer_feed_forward_at(const tc_layer_feed_forward_args *args);

/* tc_layer_lstm(g, x, "lstm", .layers = 2, .bidirectional = true, .h_n = &h, ...), tc_layer_gru, tc_layer_rnn:
 * torch.nn.LSTM, GRU and RNN. tc_lstm(x, "lstm", ...) and so on already take their weights by name; these are the same.
 */
#define tc_layer_lstm(g, ...) tc_lstm(__VA_ARGS__)
#define tc_layer_gru(g, ...) tc_gru(__VA_ARGS__)
#define tc_layer_rnn(g, ...) tc_rnn(__VA_ARGS__)

#endif
