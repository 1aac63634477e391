/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

struct tci_noise tci_noise;

/* Of 16 bits. unit: that of the last place of 1; least, most: the smallest normal number and the largest. */
struct tci_format {
    double unit, least, most;
};

static const struct tci_format f16 = {0x1p-10, 0x1p-14, 65504}, bf16 = {0x1p-7, 0x1p-126, 0x1.fep127};

void tci_noise_start(uint64_t seed, int times)
{
    tci_noise = (struct tci_noise){.on = true,
                                   .rounds = seed % 2 != 0,
                                   .scale = times * 0x1p-52,
                                   .draws = seed * 0x9e3779b97f4a7c15u};
    uint64_t factor = 1, term = 0;
    for (int i = 0; i < TCI_AHEAD; i++) {
        tci_noise.factors[i] = factor *= TCI_FACTOR;
        tci_noise.terms[i] = term = term * TCI_FACTOR + TCI_TERM;
    }
}

static bool is_sum(tci_op op)
{
    return op == TCI_OP_reduce || op == TCI_OP_reduce_where || op == TCI_OP_window_reduce || op == TCI_OP_cumulative ||
           op == TCI_OP_scatter || op == TCI_OP_dot || op == TCI_OP_dot_where || op == TCI_OP_convolution;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double nearest(double x, const struct tci_format *to)
{
    const double unit = larger(tci_power_below(x), to->least) * to->unit;
    return rint(x / unit) * unit;
}

/* x is finite; beyond the range of the format it becomes infinite. */
static double noisy(double x, const struct tci_format *to)
{
    const double found = nearest(x, to);
    if (fabs(found) > to->most)
        return copysign(INFINITY, x);
    if (found == x || found == 0)
        return found;
    const double moved = x + larger(tci_power_below(x), to->least) * (to->unit / 2) * tci_draw();
    return tci_noise.rounds ? nearest(moved, to) : moved;
}

/* The same of f32. */
static double noisy_f32(double x)
{
    const double found = (float)x;
    if (found == x || found == 0 || fabs(found) > FLT_MAX)
        return found;
    const double moved = x + larger(tci_power_below(x), FLT_MIN) * 0x1p-24 * tci_draw();
    return tci_noise.rounds ? (float)moved : moved;
}

static void noisy_all(const tci_tensor *tensor, tci_dtype dtype)
{
    double *x = (double *)(void *)tensor->data;
    const int64_t count = tci_tensor_elements(tensor);
    for (int64_t i = 0; i < count; i++)
        if (fabs(x[i]) <= DBL_MAX)
            x[i] = dtype == TCI_F64    ? tci_noisy_f64(x[i])
                   : dtype == TCI_F16  ? noisy(x[i], &f16)
                   : dtype == TCI_BF16 ? noisy(x[i], &bf16)
                                       : noisy_f32(x[i]);
}

/* The largest errors of functions on f32 in units of the last place, as docs/numerics.md has them; 0: correctly rounded. */
static double function_error(tci_op op)
{
    switch ((int)op) {
    case TCI_OP_exp: return 1.0128;
    case TCI_OP_log: return 0.9338;
    case TCI_OP_expm1: return 1.4616;
    case TCI_OP_log1p: return 1.5422;
    case TCI_OP_tanh: return 2.6059;
    case TCI_OP_sin: return 1.5762;
    case TCI_OP_cos: return 1.5776;
    case TCI_OP_pow: return 0.91;
    case TCI_OP_erf: return 6.2345;
    case TCI_OP_erfc: return 3.9;
    case TCI_OP_lgamma: return 2.95;
    default: return 0;
    }
}

/* Adds the error of a function, in units of f32; that of f64 is less than every error of it. What f32 holds, such as exp(0),
 * has none. */
static void add_errors(const tci_node *node, const tci_tensor *tensor)
{
    const double error = node->types[0].dtype == TCI_F64 ? 0 : function_error(node->op) * 0x1p-23;
    double *x = (double *)(void *)tensor->data;
    for (int64_t i = 0; i < tci_tensor_elements(tensor) && error > 0; i++) {
        const double size = node->op == TCI_OP_lgamma ? fmax(fabs(x[i]), 1) : x[i];
        if (fabs(x[i]) <= DBL_MAX && (double)(float)x[i] != x[i])
            x[i] += tci_power_below(size) * error * tci_draw();
    }
}

void tci_noise_begin(const tci_node *node)
{
    const tci_dtype dtype = node->result_count ? node->types[0].dtype : TCI_WIDE;
    if (tci_noise.on && is_sum(node->op) && tci_dtype_is_float(dtype))
        tci_noise.sums = dtype == TCI_F64 ? TCI_SUMS_F64 : TCI_SUMS_F32; /* 16-bit floats are summed in f32 */
}

void tci_noise_end(const tci_node *node, const tci_tensor *out)
{
    tci_noise.sums = TCI_SUMS_WIDE;
    const bool rounds = !tci_primitives[node->op].moves || node->op == TCI_OP_cast;
    for (size_t r = 0; r < node->result_count && tci_noise.on && rounds && out != NULL; r++) {
        if (out[r].dtype != TCI_WIDE)
            continue;
        add_errors(node, &out[r]);
        noisy_all(&out[r], node->types[r].dtype);
    }
}
