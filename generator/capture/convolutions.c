/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and transposed convolutions in one, two and three dims.
 */
#include "windows.h"

#define TENSOR(x) tc_operand_tensor_(x)

/* What the calls of all dims have in common; `same` and `output_padding` belong to one kind each. */
typedef struct call {
    const char *name, *region;
    tc_site at;
    tc_tensor x, weight, bias;
    int dims, groups;
    tc_window_options options;
    tc_same same;
    const int *output_padding;
    tc_phase_function *by; /* of a transposed one's phases */
    const void *context;
} call;

/* -- convolution --------------------------------------------------------------------------------------------------- */

/* The window of the weight, whose spatial sizes must be constants: reported. */
static bool kernel_sizes(tc_graph *g, const call *c, tc_windows *out)
{
    const tc_type *w = &c->weight->type;
    for (int i = 0; i < c->dims; ++i) {
        int64_t size;
        if (!tc_expr_value(w->shape[i + 2], &size) || size < 1 || size > INT32_MAX) {
            tc_fail(g, NULL, "the window must have constant sizes: %s", tc_type_text(g, w));
            return false;
        }
        out->size[i] = (int)size;
    }
    return true;
}

static bool check_ranks(tc_graph *g, const call *c)
{
    static const char *const hints[] = {"input [n, c, l], weight [o, c/groups, k]",
                                        "input [n, c, h, w], weight [o, c/groups, kh, kw]",
                                        "input [n, c, d, h, w], weight [o, c/groups, kd, kh, kw]"};
    if (c->x->type.rank == c->dims + 2 && c->weight->type.rank == c->dims + 2)
        return true;
    tc_fail(g, c->output_padding ? "the weight of a transposed one begins with [c, o/groups]" : hints[c->dims - 1],
            "needs two tensors of rank %d: %s * %s", c->dims + 2, tc_type_text(g, &c->x->type),
            tc_type_text(g, &c->weight->type));
    return false;
}

/* Pads for ceil(size / stride) results an axis: in w where the padding is constant, else as a node. Poison where that
 * was reported. */
static tc_tensor pad_same(tc_graph *g, const call *c, tc_windows *w)
{
    tc_tensor x = c->x;
    if (!kernel_sizes(g, c, w) || !tc_windows_check_same(g, w))
        return tc_poison();
    for (int i = 0; i < w->dims && !tc_is_poison(x); ++i) {
        const tc_expr *low, *high;
        int64_t before, behind;
        if (!tc_windows_pad_same(g, w, i, c->x->type.shape[2 + i], c->same, &low, &high))
            return tc_poison();
        if (!tc_expr_value(low, &before) || !tc_expr_value(high, &behind))
            x = tc_pad_axis_at(c->at, x, 2 + i, tc_dim_of(low), tc_dim_of(high), tc_operand_int_(0));
        else if (!tc_windows_padding(g, before, &w->low[i]) || !tc_windows_padding(g, behind, &w->high[i]))
            return tc_poison();
    }
    return x;
}

/* With a bias 16-bit operands compute in f32: their product is rounded with the bias, once. */
static tc_tensor in_f32(tc_graph *g, const call *c, tc_tensor body(tc_graph *g, const call *c))
{
    call wide = *c;
    if (!c->bias)
        return body(g, c);
    if (!tc_check_same_dtype(g, &c->x->type, &c->weight->type) || !tc_check_same_dtype(g, &c->x->type, &c->bias->type))
        return tc_poison();
    wide.x = tc_prim_widen(g, c->x);
    wide.weight = tc_prim_widen(g, c->weight);
    wide.bias = tc_prim_widen(g, c->bias);
    return tc_prim_narrow(g, body(g, &wide), c->x->type.dtype);
}

static tc_tensor convolution(tc_graph *g, const call *c)
{
    tc_windows w = {.dims = c->dims};
    int groups = c->groups ? c->groups : 1;
    if (groups < 1) {
        tc_fail(g, NULL, "groups is %d", groups);
        return tc_poison();
    }
    if (!tc_windows_read(g, &c->options, false, &w) || !check_ranks(g, c))
        return tc_poison();
    tc_tensor x = c->same ? pad_same(g, c, &w) : c->x;
    tc_tensor y = tc_prim_convolution(g, x, c->weight, c->dims, w.stride, w.low, w.high, w.dilation, groups);
    return tc_add_channel_bias(g, c->at, y, c->bias);
}

static tc_tensor entered(const call *c, tc_tensor body(tc_graph *g, const call *c))
{
    tc_graph *g = tc_op_enter(c->at, c->name, c->region, "x weight ?bias", 3, (tc_tensor[]){c->x, c->weight, c->bias});
    return g ? tc_op_leave(g, in_f32(g, c, body)) : tc_poison();
}

/* FIELD: how a field of the arguments is the address of its first number. */
#define CONVOLUTION(dims_, FIELD)                                                                                      \
    tc_tensor tc_conv##dims_##d_at(const tc_conv##dims_##d_args *args)                                                 \
    {                                                                                                                  \
        return entered(&(const call){.name = "tc_conv" #dims_ "d",                                                     \
                                     .region = "conv" #dims_ "d",                                                      \
                                     .at = args->at,                                                                   \
                                     .x = args->x,                                                                     \
                                     .weight = args->weight,                                                           \
                                     .bias = args->bias,                                                               \
                                     .dims = dims_,                                                                    \
                                     .groups = args->groups,                                                           \
                                     .same = args->same,                                                               \
                                     .options = {FIELD(stride), FIELD(padding), FIELD(low), FIELD(high),               \
                                                 FIELD(dilation)}},                                                    \
                       convolution);                                                                                   \
    }
#define ONE(field) &args->field
#define SEVERAL(field) args->field
CONVOLUTION(1, ONE)
CONVOLUTION(2, SEVERAL)
CONVOLUTION(3, SEVERAL)

/* -- transposed convolution ------------------------------------------------------------------------------------------
 *
 * out[o] = sum of x[i]*w[t] over o = i*stride + t*dilation - low. The results o = stride*j + phase of one phase need
 * the taps t with t*dilation = phase + low (mod stride) alone: an arithmetic progression, along which i falls by equal
 * steps as t grows. So each phase is an ordinary convolution by its own taps in reverse order, without the zeros that
 * an input spread by the stride would have, and the phases are interleaved. */

enum { MOST_PHASES = 4096 };

/* The taps of one phase along one axis: first, first + step, ... (count of them), and the convolution that they
 * make. */
typedef struct phase {
    int first, count, step;
    int64_t dilation, low, high; /* low and high may be negative: that many results fewer */
} phase;

/* Of axis i. `reach` is how far the results go beyond (inputs - 1) * stride, `output_padding` included. */
static phase phase_of(const tc_windows *w, int i, int number, int64_t reach)
{
    int64_t stride = w->stride[i], dilation = w->dilation[i], offset = (int64_t)number + w->low[i];
    phase p = {.step = (int)(stride / tc_gcd(dilation, stride))};
    for (int t = w->size[i] - 1; t >= 0; --t) {
        if (tc_floor_div(offset - t * dilation, stride) * stride == offset - t * dilation) {
            p.first = t;
            ++p.count;
        }
    }
    if (!p.count)
        return p;
    p.dilation = dilation * p.step / stride;
    int64_t newest = (offset - p.first * dilation) / stride; /* of j = 0, the input that meets the first tap */
    p.low = (p.count - 1) * p.dilation - newest;
    p.high = tc_floor_div(reach - 1, stride) + newest;
    return p;
}

typedef struct transposition {
    tc_graph *g;
    tc_site at;
    tc_phase_function *by;
    const void *context;
    tc_windows w;
    tc_tensor x, weight; /* the weight as an ordinary convolution's: [o, c/groups, ...] */
    int groups;
    int64_t reach[TC_MAX_WINDOW];
    const tc_expr *steps[TC_MAX_WINDOW]; /* results of each phase */
    const tc_expr *sizes[TC_MAX_WINDOW]; /* of the whole */
} transposition;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static tc_tensor plain_phase(tc_graph *g, const tc_phase *p, const void *context)
{
    (void)context;
    if (!p->weight)
        return tc_broadcast_to(g, tc_constant_of(g, p->x->type.dtype, tc_operand_int_(0)), p->x->type.rank, p->shape);
    return tc_prim_convolution(g, p->x, p->weight, p->x->type.rank - 2, tc_windows_ones, p->low, p->high, p->dilation,
                               p->groups);
}

/* [n, o, steps...] of the phases `p`, one an axis. */
static tc_tensor convolve_phase(const transposition *t, const phase *p)
{
    tc_graph *g = t->g;
    tc_tensor weight = t->weight;
    int low[TC_MAX_WINDOW], high[TC_MAX_WINDOW], dilation[TC_MAX_WINDOW];
    tc_phase of = {t->x, NULL, t->groups, low, high, dilation, {t->x->type.shape[0], t->weight->type.shape[0]}};
    for (int i = 0; i < t->w.dims; ++i)
        of.shape[2 + i] = t->steps[i];
    for (int i = 0; i < t->w.dims; ++i) {
        if (!p[i].count)
            return t->by(g, &of, t->context);
        const tc_expr *last = tc_expr_const(&g->dims, p[i].first + (int64_t)(p[i].count - 1) * p[i].step);
        if (t->w.size[i] > 1)
            weight = tc_take_every(g, t->at, weight, 2 + i, p[i].count, last, -p[i].step);
        if (!tc_windows_padding(g, larger(p[i].low, 0), &low[i]) ||
            !tc_windows_padding(g, larger(p[i].high, 0), &high[i]))
            return tc_poison();
        dilation[i] = (int)p[i].dilation;
    }
    of.weight = weight;
    tc_tensor y = t->by(g, &of, t->context);
    for (int i = 0; i < t->w.dims && !tc_is_poison(y); ++i) {
        const tc_expr *start = tc_expr_const(&g->dims, low[i] - p[i].low);
        y = tc_slice_at(t->at, y, 2 + i, tc_dim_of(start), tc_dim_of(tc_expr_add(start, t->steps[i])), 1);
    }
    return y;
}

/* `count` tensors [..., n, ...] to one [..., n*count, ...], element j*count + i from number i's j. */
static tc_tensor interleave(const transposition *t, int axis, int count, tc_tensor *tensors)
{
    if (count == 1)
        return tensors[0];
    for (int i = 0; i < count; ++i)
        tensors[i] = tc_unsqueeze_at(t->at, tensors[i], axis + 1);
    tc_tensor joined = tc_concat_at(t->at, axis + 1, count, tensors);
    if (tc_is_poison(joined))
        return joined;
    const tc_expr *shape[TC_MAX_RANK];
    int rank = joined->type.rank - 1;
    for (int i = 0; i < rank; ++i)
        shape[i] = joined->type.shape[i + (i > axis)];
    shape[axis] = tc_expr_mul_int(joined->type.shape[axis], count);
    return tc_prim_reshape(t->g, joined, rank, shape);
}

/* Sizes of the result, reported where one is not positive. */
static bool transposed_sizes(transposition *t, const int *output_padding)
{
    tc_graph *g = t->g;
    for (int i = 0; i < t->w.dims; ++i) {
        int64_t stride = t->w.stride[i];
        const tc_expr *size = t->x->type.shape[2 + i];
        t->reach[i] = tc_windows_extent(&t->w, i) - t->w.low[i] - t->w.high[i] + output_padding[i];
        if (output_padding[i] >= larger(stride, t->w.dilation[i])) {
            tc_fail(g, NULL, "output_padding %d is not below the stride or the dilation", output_padding[i]);
            return false;
        }
        t->sizes[i] = tc_expr_add_int(tc_expr_mul_int(tc_expr_add_int(size, -1), stride), t->reach[i]);
        t->steps[i] = tc_expr_add_int(size, tc_floor_div(t->reach[i] - 1, stride));
        if (!tc_at_least(g, t->sizes[i], g->dims.one)) {
            tc_fail(g, "less padding", "axis %d of the result would have the size %s", 2 + i,
                    tc_expr_text(t->sizes[i]));
            return false;
        }
    }
    return true;
}

/* The weight [c, o/groups, ...] as that of an ordinary convolution, [o, c/groups, ...]; reported where it is none. */
static tc_tensor turned_weight(tc_graph *g, const call *c, int groups)
{
    const tc_type *w = &c->weight->type;
    int64_t channels;
    if (!tc_expr_value(w->shape[0], &channels) || channels % groups) {
        tc_fail(g, "the weight is [c, o/groups, ...]", "%s with groups = %d", tc_type_text(g, w), groups);
        return tc_poison();
    }
    if (!tc_known_same(g, c->x->type.shape[1], w->shape[0])) {
        tc_fail(g, "the weight is [c, o/groups, ...]", "input channels differ: %s * %s", tc_type_text(g, &c->x->type),
                tc_type_text(g, w));
        return tc_poison();
    }
    const tc_expr *split[TC_MAX_RANK] = {tc_expr_const(&g->dims, groups), tc_expr_const(&g->dims, channels / groups)};
    const tc_expr *joined[TC_MAX_RANK] = {tc_expr_mul_int(w->shape[1], groups), split[1]};
    int perm[TC_MAX_RANK] = {0, 2, 1};
    for (int i = 1; i < w->rank; ++i)
        split[i + 1] = w->shape[i];
    for (int i = 2; i < w->rank; ++i) {
        perm[i + 1] = i + 1;
        joined[i] = w->shape[i];
    }
    tc_tensor parts = tc_prim_reshape(g, c->weight, w->rank + 1, split);
    return tc_prim_reshape(g, tc_prim_transpose(g, parts, perm), w->rank, joined);
}

static tc_tensor transposed(tc_graph *g, const call *c)
{
    transposition t = {.g = g,
                       .at = c->at,
                       .by = c->by ? c->by : plain_phase,
                       .context = c->context,
                       .w = {.dims = c->dims},
                       .x = c->x,
                       .groups = c->groups ? c->groups : 1};
    if (t.groups < 1) {
        tc_fail(g, NULL, "groups is %d", t.groups);
        return tc_poison();
    }
    if (!tc_windows_read(g, &c->options, false, &t.w) || !check_ranks(g, c) || !kernel_sizes(g, c, &t.w) ||
        !tc_windows_not_negative(g, "output_padding", c->dims, c->output_padding) ||
        !transposed_sizes(&t, tc_windows_each(g, c->dims, c->output_padding)))
        return tc_poison();
    t.weight = turned_weight(g, c, t.groups);
    if (tc_is_poison(t.weight))
        return t.weight;
    int count = 1, strides[TC_MAX_WINDOW] = {1, 1, 1};
    for (int i = 0; i < c->dims; ++i) {
        strides[i] = t.w.stride[i];
        if (strides[i] > MOST_PHASES / count) {
            tc_fail(g, "each phase of the strides is a convolution of its own", "stride %s has more than %d phases",
                    tc_windows_text(g, c->dims, t.w.stride), MOST_PHASES);
            return tc_poison();
        }
        count *= strides[i];
    }
    tc_tensor *phases = tc_arena_alloc(&g->arena, (size_t)count * sizeof *phases);
    for (int n = 0; n < count; ++n) {
        phase p[TC_MAX_WINDOW];
        for (int i = c->dims - 1, rest = n; i >= 0; rest /= strides[i], --i)
            p[i] = phase_of(&t.w, i, rest % strides[i], t.reach[i]);
        phases[n] = convolve_phase(&t, p);
    }
    for (int i = c->dims - 1; i >= 0; count /= strides[i], --i)
        for (int n = 0; n < count / strides[i]; ++n)
            phases[n] = interleave(&t, 2 + i, strides[i], phases + n * strides[i]);
    tc_tensor y = phases[0];
    for (int i = 0; i < c->dims && !tc_is_poison(y); ++i)
        y = tc_slice_at(c->at, y, 2 + i, tc_dim_int_(0), tc_dim_of(t.sizes[i]), 1);
    return tc_add_channel_bias(g, c->at, y, c->bias);
}

#define TRANSPOSED(dims_, FIELD)                                                                                       \
    tc_tensor tc_conv_transpose##dims_##d_at(const tc_conv_transpose##dims_##d_args *args)                             \
    {                                                                                                                  \
        return entered(&(const call){.name = "tc_conv_transpose" #dims_ "d",                                           \
                                     .region = "conv_transpose" #dims_ "d",                                            \
                                     .at = args->at,                                                                   \
                                     .x = args->x,                                                                     \
                                     .weight = args->weight,                                                           \
                                     .bias = args->bias,                                                               \
                                     .dims = dims_,                                                                    \
                                     .groups = args->groups,                                                           \
                                     .output_padding = FIELD(output_padding),                                          \
                                     .options = {FIELD(stride), FIELD(padding), FIELD(low), FIELD(high),               \
                                                 FIELD(dilation)}},                                                    \
                       transposed);                                                                                    \
    }
TRANSPOSED(1, ONE)
TRANSPOSED(2, SEVERAL)
TRANSPOSED(3, SEVERAL)

tc_tensor tc_conv_transpose_by(tc_graph *g, const tc_conv_transpose2d_args *args, tc_phase_function *by,
                               const void *context)
{
    return transposed(g, &(const call){.at = args->at,
                                       .x = args->x,
                                       .weight = args->weight,
                                       .dims = 2,
                                       .groups = args->groups,
                                       .output_padding = args->output_padding,
                                       .options = {args->stride, args->padding, args->low, args->high, args->dilation},
                                       .by = by,
                                       .context = context});
}
