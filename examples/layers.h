/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of the examples' models that several of them have. Each is within a scope of its name, so that its weights are
 * called as those of PyTorch's module of that name: NAME.weight, NAME.bias, …
 */
#ifndef LAYERS_H
#define LAYERS_H

#include <tensor_compile/model.h>

/* Of [n, channels, …], with the statistics that were recorded in training. */
static inline tc_tensor batch_norm(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_batch_norm(x, tc_weight(g, "running_mean"), tc_weight(g, "running_var"), tc_weight(g, "weight"),
                          tc_weight(g, "bias"));
    return x;
}

/* Over the last axis. */
static inline tc_tensor layer_norm(tc_graph *g, tc_tensor x, const char *name, double eps)
{
    TC_SCOPE(g, "%s", name)
        x = tc_layer_norm(x, tc_weight(g, "weight"), tc_weight(g, "bias"), .eps = eps);
    return x;
}

#endif
