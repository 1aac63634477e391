/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: operations with their weights, found by the names of PyTorch's modules.
 */
#include "internal.h"

/* Opens the layer's scope; NULL where its name is none (reported). */
static tc_graph *open_layer(tc_site at, tc_graph *g, const char *layer, const char *name)
{
    if (!tc_op_enter_graph(g, at, layer, NULL))
        return NULL;
    const bool good = name && *name;
    if (!good)
        tc_fail(g, "the layer's name in state_dict, e.g. \"encoder.fc1\"", "argument 'name' is %s",
                name ? "empty" : "NULL");
    tc_op_leave(g, NULL);
    if (!good)
        return NULL;
    tc_scope_push_at(at, g, "%s", name);
    return g;
}

static tc_tensor close_layer(tc_site at, tc_graph *g, tc_tensor y)
{
    tc_scope_pop_at(at, g);
    return y;
}

static tc_tensor needed(tc_site at, tc_graph *g, const char *name)
{
    return tc_weight_at(at, g, name, 0, NULL);
}

static tc_tensor optional(tc_site at, tc_graph *g, const char *name)
{
    return tc_has_weight_at(at, g, name) ? needed(at, g, name) : NULL;
}

tc_tensor tc_layer_linear_at(tc_site at, tc_graph *g, tc_tensor x, const char *name)
{
    if (!open_layer(at, g, "tc_layer_linear", name))
        return tc_poison();
    const tc_tensor weight = needed(at, g, "weight"), bias = optional(at, g, "bias");
    return close_layer(at, g, tc_linear_at(&(const tc_linear_args){x, weight, bias, .at = at}));
}

tc_tensor tc_layer_embedding_at(tc_site at, tc_graph *g, tc_tensor index, const char *name)
{
    if (!open_layer(at, g, "tc_layer_embedding", name))
        return tc_poison();
    return close_layer(at, g, tc_embedding_at(at, index, needed(at, g, "weight")));
}

/* -- convolutions -------------------------------------------------------------------------------------------------- */

#define PAIR(a)                                                                                                        \
    {                                                                                                                  \
        (a)[0], (a)[1]                                                                                                 \
    }
#define TRIPLE(a)                                                                                                      \
    {                                                                                                                  \
        (a)[0], (a)[1], (a)[2]                                                                                         \
    }

tc_tensor tc_layer_conv1d_at(const tc_layer_conv1d_args *a)
{
    if (!open_layer(a->at, a->g, "tc_layer_conv1d", a->name))
        return tc_poison();
    const tc_tensor weight = needed(a->at, a->g, "weight"), bias = optional(a->at, a->g, "bias");
    return close_layer(a->at, a->g,
                       tc_conv1d_at(&(const tc_conv1d_args){.x = a->x,
                                                            .weight = weight,
                                                            .bias = bias,
                                                            .stride = a->stride,
                                                            .padding = a->padding,
                                                            .low = a->low,
                                                            .high = a->high,
                                                            .dilation = a->dilation,
                                                            .groups = a->groups,
                                                            .same = a->same,
                                                            .at = a->at}));
}

tc_tensor tc_layer_conv2d_at(const tc_layer_conv2d_args *a)
{
    if (!open_layer(a->at, a->g, "tc_layer_conv2d", a->name))
        return tc_poison();
    const tc_tensor weight = needed(a->at, a->g, "weight"), bias = optional(a->at, a->g, "bias");
    return close_layer(a->at, a->g,
                       tc_conv2d_at(&(const tc_conv2d_args){.x = a->x,
                                                            .weight = weight,
                                                            .bias = bias,
                                                            .stride = PAIR(a->stride),
                                                            .padding = PAIR(a->padding),
                                                            .low = PAIR(a->low),
                                                            .high = PAIR(a->high),
                                                            .dilation = PAIR(a->dilation),
                                                            .groups = a->groups,
                                                            .same = a->same,
                                                            .at = a->at}));
}

tc_tensor tc_layer_conv3d_at(const tc_layer_conv3d_args *a)
{
    if (!open_layer(a->at, a->g, "tc_layer_conv3d", a->name))
        return tc_poison();
    const tc_tensor weight = needed(a->at, a->g, "weight"), bias = optional(a->at, a->g, "bias");
    return close_layer(a->at, a->g,
                       tc_conv3d_at(&(const tc_conv3d_args){.x = a->x,
                                                            .weight = weight,
                                                            .bias = bias,
                                                            .stride = TRIPLE(a->stride),
                                                            .padding = TRIPLE(a->padding),
                                                            .low = TRIPLE(a->low),
                                                            .high = TRIPLE(a->high),
                                                            .dilation = TRIPLE(a->dilation),
                                                            .groups = a->groups,
                                                            .same = a->same,
                                                            .at = a->at}));
}

/* -- norms --------------------------------------------------------------------------------------------------------- */

typedef tc_tensor norm(const tc_norm_args *args);

/* The two that a norm may do without: without both, its name may be misspelled. */
static void affine(tc_site at, tc_graph *g, const char *layer, tc_tensor *weight, tc_tensor *bias)
{
    *weight = optional(at, g, "weight");
    *bias = optional(at, g, "bias");
    if (!*weight && !*bias)
        tc_norm_is_bare(at, g, layer);
}

static tc_tensor last_axes(const tc_layer_norm_args *a, const char *layer, norm *function)
{
    if (!open_layer(a->at, a->g, layer, a->name))
        return tc_poison();
    tc_tensor weight, bias;
    affine(a->at, a->g, layer, &weight, &bias);
    return close_layer(a->at, a->g,
                       function(&(
                           const tc_norm_args){.x = a->x, .weight = weight, .bias = bias, .eps = a->eps, .at = a->at}));
}

tc_tensor tc_layer_layer_norm_at(const tc_layer_norm_args *args)
{
    return last_axes(args, "tc_layer_layer_norm", tc_layer_norm_at);
}

tc_tensor tc_layer_rms_norm_at(const tc_layer_norm_args *args)
{
    return last_axes(args, "tc_layer_rms_norm", tc_rms_norm_at);
}

tc_tensor tc_layer_batch_norm_at(const tc_layer_norm_args *a)
{
    if (!open_layer(a->at, a->g, "tc_layer_batch_norm", a->name))
        return tc_poison();
    const tc_tensor mean = needed(a->at, a->g, "running_mean"), variance = needed(a->at, a->g, "running_var");
    const tc_tensor weight = optional(a->at, a->g, "weight"), bias = optional(a->at, a->g, "bias");
    return close_layer(a->at, a->g,
                       tc_batch_norm_at(&(const tc_batch_norm_args){.x = a->x,
                                                                    .mean = mean,
                                                                    .variance = variance,
                                                                    .weight = weight,
                                                                    .bias = bias,
                                                                    .eps = a->eps,
                                                                    .at = a->at}));
}

tc_tensor tc_layer_group_norm_at(const tc_layer_norm_args *a)
{
    if (!open_layer(a->at, a->g, "tc_layer_group_norm", a->name))
        return tc_poison();
    tc_tensor weight, bias;
    affine(a->at, a->g, "tc_layer_group_norm", &weight, &bias);
    return close_layer(a->at, a->g,
                       tc_group_norm_at(&(const tc_group_norm_args){.x = a->x,
                                                                    .weight = weight,
                                                                    .bias = bias,
                                                                    .eps = a->eps,
                                                                    .groups = a->groups,
                                                                    .at = a->at}));
}

/* -- attention ----------------------------------------------------------------------------------------------------- */

/* Reports where the features of a projection are not those of so many heads. */
static bool divides(const tc_layer_attention_args *a, tc_tensor x, const char *option, int heads)
{
    int64_t features;
    if (tc_is_poison(x) || !tc_expr_value(x->type.shape[2], &features) || features % heads == 0)
        return true;
    if (tc_op_enter_graph(a->g, a->at, "tc_layer_attention", NULL)) {
        tc_fail(a->g, "a number that divides the features: each head has as many",
                "%lld features do not divide by %s = %d", (long long)features, option, heads);
        tc_op_leave(a->g, NULL);
    }
    return false;
}

/* x[b, l, heads * d] as [b, heads, l, d]; poison where the sizes do not fit (reported). */
static tc_tensor by_heads(const tc_layer_attention_args *a, tc_tensor x, const char *option, int heads)
{
    const tc_site at = a->at;
    if (!divides(a, x, option, heads))
        return tc_poison();
    const tc_dim shape[] = {tc_size_at(at, x, 0), tc_size_at(at, x, 1), {NULL, heads}, {NULL, -1}};
    return tc_transpose_at(at, tc_reshape_at(at, x, 4, shape), 1, 2);
}

/* The rows of in_proj_weight, or the elements of in_proj_bias, that are projection `part`. */
static tc_tensor third(tc_site at, tc_graph *g, const char *name, int part)
{
    tc_tensor parts[3];
    tc_split_at(at, needed(at, g, name), 0, 3, parts);
    return parts[part];
}

static tc_tensor projected(const tc_layer_attention_args *a, tc_tensor x, int part, const char *name)
{
    if (!tc_has_weight_at(a->at, a->g, "in_proj_weight"))
        return tc_layer_linear_at(a->at, a->g, x, name);
    const tc_tensor weight = third(a->at, a->g, "in_proj_weight", part);
    const tc_tensor bias = tc_has_weight_at(a->at, a->g, "in_proj_bias") ? third(a->at, a->g, "in_proj_bias", part)
                                                                         : NULL;
    return tc_linear_at(&(const tc_linear_args){x, weight, bias, .at = a->at});
}

static bool check_heads(const tc_layer_attention_args *a)
{
    tc_graph *g = a->g;
    if (tc_made(g, a->x) && !tc_is_poison(a->x) && a->x->type.rank != 3)
        tc_fail(g, "batch, sequence, features: what batch_first=True means", "x is %s, not of rank 3",
                tc_type_text(g, &a->x->type));
    else if (a->heads < 1 || a->kv_heads < 0)
        tc_fail(g, ".heads = 8", "heads is %d, kv_heads is %d: name how many there are", a->heads, a->kv_heads);
    else if (a->kv_heads && a->heads % a->kv_heads)
        tc_fail(g, "as many queries share each head of keys and values", "heads = %d do not divide by kv_heads = %d",
                a->heads, a->kv_heads);
    else
        return true;
    return false;
}

tc_tensor tc_layer_attention_at(const tc_layer_attention_args *a)
{
    tc_graph *g = a->g;
    if (!tc_op_enter_graph(g, a->at, "tc_layer_attention", NULL))
        return tc_poison();
    const bool good = check_heads(a);
    tc_op_leave(g, NULL);
    if (!good || !open_layer(a->at, g, "tc_layer_attention", a->name))
        return tc_poison();
    const tc_tensor source = a->memory ? a->memory : a->x;
    const int kv_heads = a->kv_heads ? a->kv_heads : a->heads;
    const char *shared = a->kv_heads ? "kv_heads" : "heads";
    const tc_tensor q = by_heads(a, projected(a, a->x, 0, a->query ? a->query : "q_proj"), "heads", a->heads);
    const tc_tensor k = by_heads(a, projected(a, source, 1, a->key ? a->key : "k_proj"), shared, kv_heads);
    const tc_tensor v = by_heads(a, projected(a, source, 2, a->value ? a->value : "v_proj"), shared, kv_heads);
    tc_tensor y = tc_scaled_dot_product_attention_at(&(const tc_attention_args){.q = q,
                                                                                .k = k,
                                                                                .v = v,
                                                                                .mask = a->mask,
                                                                                .causal = a->causal,
                                                                                .scale = a->scale,
                                                                                .at = a->at});
    y = tc_transpose_at(a->at, y, 1, 2);
    const tc_dim shape[] = {tc_size_at(a->at, y, 0), tc_size_at(a->at, y, 1), {NULL, -1}};
    y = tc_reshape_at(a->at, y, 3, shape);
    return close_layer(a->at, g, tc_layer_linear_at(a->at, g, y, a->output ? a->output : "out_proj"));
}

/* -- feed-forward -------------------------------------------------------------------------------------------------- */

static tc_tensor activated(tc_site at, tc_tensor x, tc_layer_activation activation)
{
    switch (activation) {
    case TC_LAYER_GELU: return tc_gelu_at(at, x);
    case TC_LAYER_GELU_TANH: return tc_gelu_tanh_at(at, x);
    case TC_LAYER_SILU: return tc_silu_at(at, x);
    default: return tc_relu_at(at, x);
    }
}

tc_tensor tc_layer_feed_forward_at(const tc_layer_feed_forward_args *a)
{
    const bool in_scope = a->name && !*a->name;
    if (!in_scope && !open_layer(a->at, a->g, "tc_layer_feed_forward", a->name))
        return tc_poison();
    const char *up = a->up ? a->up : "fc1", *down = a->down ? a->down : "fc2";
    tc_tensor x = tc_layer_linear_at(a->at, a->g, a->x, up);
    if (a->gate) {
        const tc_tensor gate = activated(a->at, tc_layer_linear_at(a->at, a->g, a->x, a->gate), a->activation);
        x = tc_mul_at(a->at, tc_operand_tensor_(gate), tc_operand_tensor_(x));
    } else {
        x = activated(a->at, x, a->activation);
    }
    x = tc_layer_linear_at(a->at, a->g, x, down);
    return in_scope ? x : close_layer(a->at, a->g, x);
}
