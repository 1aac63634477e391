/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of quantized tensors: exact in i32, and requantized; matrices of a few bits a number.
 */
#include "compose.h"
#include "quantization.h"
#include "windows.h"

/* -- integers ------------------------------------------------------------------------------------------------------ */

/* An operand and its zero, of one short dtype. */
static bool check_short(tc_graph *g, const char *name, tc_tensor x, tc_tensor zero)
{
    if (!tc_is_short_integer(x->type.dtype)) {
        tc_fail(g, "i8, u8, i16 or u16", "%s is %s, no short integers", name, tc_type_text(g, &x->type));
        return false;
    }
    if (!zero || zero->type.dtype == x->type.dtype)
        return true;
    tc_fail(g, "zero has the dtype of its operand", "%s_zero is %s for %s", name, tc_type_text(g, &zero->type),
            tc_type_text(g, &x->type));
    return false;
}

/* A number a row or column of a matrix: one number, a vector that becomes a column or stays a row, or what
 * broadcasts. */
static tc_tensor beside(tc_site at, tc_tensor p, const tc_type *x, bool rows)
{
    if (p->type.rank == 1 && x->rank > 1 && rows && !tc_expr_is(p->type.shape[0], 1))
        return tc_unsqueeze_at(at, p, 1);
    return p->type.rank == 1 && tc_expr_is(p->type.shape[0], 1) ? tc_reshape_at(at, p, 0, NULL) : p;
}

/* x - zero in i32, of x's shape: reported where zero would make it larger. */
static tc_tensor centered(tc_graph *g, tc_site at, const char *name, tc_tensor x, tc_tensor zero)
{
    tc_tensor y = tc_prim_cast(g, x, TC_I32);
    if (!zero || tc_is_poison(zero))
        return zero ? zero : y;
    bool fits = zero->type.rank <= x->type.rank;
    for (int i = 1; fits && i <= zero->type.rank; ++i) {
        const tc_expr *size = zero->type.shape[zero->type.rank - i];
        fits = tc_expr_is(size, 1) || tc_same_dim(g, size, x->type.shape[x->type.rank - i]);
    }
    if (!fits) {
        tc_fail(g, "one number, or one a row of a, a column of b, an output channel of w",
                "%s_zero %s does not fit %s %s", name, tc_type_text(g, &zero->type), name, tc_type_text(g, &x->type));
        return tc_poison();
    }
    return SUB(y, tc_prim_cast(g, zero, TC_I32));
}

static tc_tensor matmul_integer(tc_graph *g, tc_site at, tc_tensor a, tc_tensor a_zero, tc_tensor b, tc_tensor b_zero)
{
    if (!check_short(g, "a", a, a_zero) || !check_short(g, "b", b, b_zero))
        return tc_poison();
    tc_tensor x = centered(g, at, "a", a, a_zero ? beside(at, a_zero, &a->type, true) : NULL);
    tc_tensor y = centered(g, at, "b", b, b_zero ? beside(at, b_zero, &b->type, false) : NULL);
    return tc_matmul_at(at, x, y);
}

tc_tensor tc_matmul_integer_at(const tc_matmul_integer_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_matmul_integer", "matmul_integer", "a b ?a_zero ?b_zero", 4,
                              (tc_tensor[]){args->a, args->b, args->a_zero, args->b_zero});
    return g ? tc_op_leave(g, matmul_integer(g, args->at, args->a, args->a_zero, args->b, args->b_zero)) : tc_poison();
}

/* A number an output channel, [o], as [o, 1, ...] for weights of this rank; one number as it is. */
static tc_tensor before_window(tc_graph *g, tc_tensor p, int rank)
{
    const tc_expr *shape[TC_MAX_RANK];
    if (p->type.rank != 1 || tc_expr_is(p->type.shape[0], 1))
        return p->type.rank ? tc_prim_reshape(g, p, 0, NULL) : p;
    for (int i = 0; i < rank; ++i)
        shape[i] = i ? g->dims.one : p->type.shape[0];
    return tc_prim_reshape(g, p, rank, shape);
}

/* Whether p (NULL too) is one number or a vector of them. */
static bool one_or_vector(tc_graph *g, const char *what, tc_tensor p)
{
    if (!p || p->type.rank < 2)
        return true;
    tc_fail(g, "one number, or one an output channel", "%s is %s", what, tc_type_text(g, &p->type));
    return false;
}

static tc_tensor one_of(tc_graph *g, const char *what, tc_tensor p)
{
    if (!p || !p->type.rank)
        return p;
    if (p->type.rank == 1 && tc_expr_is(p->type.shape[0], 1))
        return tc_prim_reshape(g, p, 0, NULL);
    tc_fail(g, NULL, "%s is one number, not %s", what, tc_type_text(g, &p->type));
    return tc_poison();
}

/* The convolution of integers of one dtype. */
static tc_tensor convolved(const tc_conv_integer_args *a, tc_tensor x, tc_tensor w, tc_tensor bias)
{
    const int dims = x->type.rank - 2;
    if (dims == 1)
        return tc_conv1d_at(&(tc_conv1d_args){x, w, bias, a->stride[0], a->padding[0], a->low[0], a->high[0],
                                              a->dilation[0], a->groups, a->same, a->at});
#define TWO(field)                                                                                                     \
    {                                                                                                                  \
        a->field[0], a->field[1]                                                                                       \
    }
#define THREE(field)                                                                                                   \
    {                                                                                                                  \
        a->field[0], a->field[1], a->field[2]                                                                          \
    }
    if (dims == 2)
        return tc_conv2d_at(&(tc_conv2d_args){x, w, bias, TWO(stride), TWO(padding), TWO(low), TWO(high), TWO(dilation),
                                              a->groups, a->same, a->at});
    return tc_conv3d_at(&(tc_conv3d_args){x, w, bias, THREE(stride), THREE(padding), THREE(low), THREE(high),
                                          THREE(dilation), a->groups, a->same, a->at});
}

static bool fits_channels(tc_graph *g, tc_tensor bias, const tc_type *w)
{
    return bias->type.rank == 1 && tc_same_dim(g, bias->type.shape[0], w->shape[0]);
}

/* x as short integers with the padding around it, which is zero; a's padding becomes 0. */
static tc_tensor padded(tc_graph *g, tc_conv_integer_args *a, tc_tensor zero)
{
    tc_windows w = {.dims = a->x->type.rank - 2};
    const tc_window_options options = {a->stride, a->padding, a->low, a->high, NULL};
    const tc_expr *low[TC_MAX_RANK] = {g->dims.zero, g->dims.zero}, *high[TC_MAX_RANK] = {g->dims.zero, g->dims.zero};
    bool any = false;
    if (!tc_windows_read(g, &options, false, &w))
        return tc_poison();
    for (int i = 0; i < w.dims; ++i) {
        low[2 + i] = tc_expr_const(&g->dims, w.low[i]);
        high[2 + i] = tc_expr_const(&g->dims, w.high[i]);
        any = any || w.low[i] || w.high[i];
    }
    for (int i = 0; i < TC_MAX_WINDOW; ++i)
        a->padding[i] = a->low[i] = a->high[i] = 0;
    return any ? tc_prim_pad(g, a->x, zero, low, high) : a->x;
}

/* The bias of a convolution of x for that of x - zero: less zero times the sum of each output's weights. */
static tc_tensor without_zero(tc_graph *g, tc_site at, tc_tensor w, tc_tensor zero, tc_tensor bias)
{
    int axes[TC_MAX_RANK];
    for (int i = 1; i < w->type.rank; ++i)
        axes[i - 1] = i;
    tc_tensor share = MUL(tc_prim_reduce(g, w, "sum", w->type.rank - 1, axes), zero);
    return bias ? SUB(bias, share) : tc_neg_at(at, share);
}

static tc_tensor conv_integer(tc_graph *g, const tc_conv_integer_args *a)
{
    const tc_site at = a->at;
    const int dims = a->x->type.rank - 2;
    if (!check_short(g, "x", a->x, a->x_zero) || !check_short(g, "w", a->w, a->w_zero) ||
        !one_or_vector(g, "w_zero", a->w_zero))
        return tc_poison();
    if (dims < 1 || dims > 3 || a->w->type.rank != dims + 2) {
        tc_fail(g, "input [n, c, h, w], weight [o, c/groups, kh, kw], or one or three dims of a window",
                "no convolution of 1 to 3 dims: %s * %s", tc_type_text(g, &a->x->type), tc_type_text(g, &a->w->type));
        return tc_poison();
    }
    const tc_dtype wide = a->bias ? a->bias->type.dtype : TC_I32;
    if (wide != TC_I32 && wide != TC_I64) {
        tc_fail(g, NULL, "the bias is i32 or i64, not %s", tc_type_text(g, &a->bias->type));
        return tc_poison();
    }
    tc_tensor x_zero = one_of(g, "x_zero", a->x_zero), bias = a->bias;
    tc_tensor w = centered(g, at, "w", a->w, a->w_zero ? before_window(g, a->w_zero, dims + 2) : NULL);
    if (tc_is_poison(w) || (x_zero && tc_is_poison(x_zero)))
        return tc_poison();
    tc_conv_integer_args plain = *a;
    const bool folded = x_zero && !a->same && (!bias || fits_channels(g, bias, &w->type));
    tc_tensor x = folded ? padded(g, &plain, x_zero) : centered(g, at, "x", a->x, x_zero);
    if (tc_is_poison(x))
        return x;
    w = tc_prim_cast(g, w, wide);
    if (folded)
        bias = without_zero(g, at, w, tc_prim_cast(g, x_zero, wide), bias);
    return convolved(&plain, tc_prim_cast(g, x, wide), w, bias);
}

tc_tensor tc_conv_integer_at(const tc_conv_integer_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_conv_integer", "conv_integer", "x w ?bias ?x_zero ?w_zero", 5,
                              (tc_tensor[]){args->x, args->w, args->bias, args->x_zero, args->w_zero});
    return g ? tc_op_leave(g, conv_integer(g, args)) : tc_poison();
}

/* -- quantized results --------------------------------------------------------------------------------------------- */

static bool check_scales(tc_graph *g, tc_tensor a, tc_tensor b, tc_tensor y)
{
    return tc_check_float(g, &a->type) && tc_check_same_dtype(g, &a->type, &b->type) &&
           tc_check_same_dtype(g, &a->type, &y->type);
}

/* round(x * (a * b / y)) + zero; a and b broadcast to x. */
static tc_tensor rescaled(tc_graph *g, tc_site at, tc_tensor x, tc_tensor a, tc_tensor b, tc_tensor y, tc_tensor zero,
                          tc_dtype otherwise)
{
    const tc_dtype dtype = zero ? zero->type.dtype : otherwise;
    if (tc_is_poison(x) || tc_is_poison(y) || (zero && tc_is_poison(zero)))
        return tc_poison();
    if (!tc_is_short_integer(dtype)) {
        tc_fail(g, "i8, u8, i16 or u16", "zero is %s", tc_type_text(g, &zero->type));
        return tc_poison();
    }
    return tc_requantize_by(g, at, x, tc_cast_at(at, DIV(MUL(a, b), y), TC_F32), zero, dtype);
}

static tc_tensor qlinear_matmul(tc_graph *g, const tc_qlinear_matmul_args *args)
{
    const tc_site at = args->at;
    const tc_quantized *a = &args->a, *b = &args->b;
    if (!check_scales(g, a->scale, b->scale, args->scale))
        return tc_poison();
    tc_read_by(g, ".a", a->x, a->scale, a->zero);
    tc_read_by(g, ".b", b->x, b->scale, b->zero);
    tc_tensor x = matmul_integer(g, at, a->x, a->zero, b->x, b->zero), y = one_of(g, "scale", args->scale);
    tc_tensor zero = one_of(g, "zero", args->zero), rows = beside(at, a->scale, &a->x->type, true);
    return rescaled(g, at, x, rows, beside(at, b->scale, &b->x->type, false), y, zero, a->x->type.dtype);
}

tc_tensor tc_qlinear_matmul_at(const tc_qlinear_matmul_args *args)
{
    const tc_quantized *a = &args->a, *b = &args->b;
    tc_graph *g = tc_op_enter(args->at, "tc_qlinear_matmul", "qlinear_matmul",
                              "a a.scale ?a.zero b b.scale ?b.zero scale ?zero", 8,
                              (tc_tensor[]){a->x, a->scale, a->zero, b->x, b->scale, b->zero, args->scale, args->zero});
    return g ? tc_op_leave(g, tc_written_by(g, qlinear_matmul(g, args), args->scale, args->zero)) : tc_poison();
}

static tc_tensor qlinear_conv(tc_graph *g, const tc_qlinear_conv_args *args)
{
    const tc_site at = args->at;
    const tc_quantized *x = &args->x, *w = &args->w;
    if (!check_scales(g, x->scale, w->scale, args->scale) || !one_or_vector(g, "w.scale", w->scale))
        return tc_poison();
    tc_read_by(g, ".x", x->x, x->scale, x->zero);
    tc_conv_integer_args product = {.x = x->x,
                                    .w = w->x,
                                    .bias = args->bias,
                                    .x_zero = x->zero,
                                    .w_zero = w->zero,
                                    .groups = args->groups,
                                    .same = args->same,
                                    .at = at};
    for (int i = 0; i < 3; ++i) {
        product.stride[i] = args->stride[i];
        product.padding[i] = args->padding[i];
        product.low[i] = args->low[i];
        product.high[i] = args->high[i];
        product.dilation[i] = args->dilation[i];
    }
    tc_tensor y = conv_integer(g, &product), scale = one_of(g, "scale", args->scale),
              zero = one_of(g, "zero", args->zero);
    tc_tensor inputs = one_of(g, "x.scale", x->scale);
    if (tc_is_poison(inputs))
        return inputs;
    /* of the rank of weights without their first axis, so that a vector stands along the channels */
    return rescaled(g, at, y, inputs, before_window(g, w->scale, x->x->type.rank - 1), scale, zero, x->x->type.dtype);
}

tc_tensor tc_qlinear_conv_at(const tc_qlinear_conv_args *args)
{
    const tc_quantized *x = &args->x, *w = &args->w;
    tc_graph *g = tc_op_enter(args->at, "tc_qlinear_conv", "qlinear_conv",
                              "x x.scale ?x.zero w w.scale ?w.zero ?bias scale ?zero", 9,
                              (tc_tensor[]){x->x, x->scale, x->zero, w->x, w->scale, w->zero, args->bias, args->scale,
                                            args->zero});
    return g ? tc_op_leave(g, tc_written_by(g, qlinear_conv(g, args), args->scale, args->zero)) : tc_poison();
}

/* -- a few bits a number ------------------------------------------------------------------------------------------- */

/* p, flat or [n, per_row], as [n, per_row]. */
static tc_tensor by_rows(tc_graph *g, const char *what, tc_tensor p, const tc_expr *n, int64_t per_row)
{
    const tc_expr *shape[] = {n, tc_expr_const(&g->dims, per_row)};
    const tc_expr *elements = tc_element_count(g, &p->type);
    if ((p->type.rank != 1 && p->type.rank != 2) || !tc_same_dim(g, elements, tc_expr_mul(n, shape[1]))) {
        tc_fail(g, "flat or a matrix", "%s is %s, not %lld numbers for each of %s rows", what,
                tc_type_text(g, &p->type), (long long)per_row, tc_expr_text(n));
        return tc_poison();
    }
    return tc_prim_reshape(g, p, 2, shape);
}

/* u8[n, bytes] of numbers as [n, count]. */
static tc_tensor unpacked(tc_site at, tc_tensor x, int bits, int64_t count)
{
    if (bits < 8)
        x = tc_unpack_bits_at(at, x, bits, false);
    return tc_is_poison(x) ? x : tc_slice_at(at, x, -1, tc_dim_int_(0), tc_dim_int_(count), 1);
}

/* The zero of each block as [n, blocks]. */
static tc_tensor zeros_of(tc_graph *g, const tc_matmul_nbits_args *args, const tc_expr *n, int64_t blocks, int bits,
                          tc_dtype wide)
{
    const tc_site at = args->at;
    if (args->zero->type.dtype != TC_U8)
        return tc_prim_widen(g, by_rows(g, "zero", args->zero, n, blocks));
    tc_tensor packed = by_rows(g, "zero", args->zero, n, (blocks * bits + 7) / 8);
    return tc_is_poison(packed) ? packed : tc_cast_at(at, unpacked(at, packed, bits, blocks), wide);
}

static tc_tensor matmul_nbits(tc_graph *g, const tc_matmul_nbits_args *args)
{
    const tc_site at = args->at;
    const tc_type *x = &args->x->type, *w = &args->w->type;
    const int bits = args->bits ? args->bits : 4, block = args->block ? args->block : 32;
    const tc_dtype wide = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    int64_t k, blocks, bytes;
    if (!tc_check_float(g, x) || !tc_check_same_dtype(g, x, &args->scale->type) ||
        (args->bias && !tc_check_same_dtype(g, x, &args->bias->type)))
        return tc_poison();
    if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || block * bits % 8) {
        tc_fail(g, ".bits 2, 4 or 8; blocks of whole bytes", "blocks of %d numbers of %d bits", block, bits);
        return tc_poison();
    }
    if (!x->rank || !tc_expr_value(x->shape[x->rank - 1], &k) || w->dtype != TC_U8 || w->rank != 3 ||
        !tc_expr_value(w->shape[1], &blocks) || !tc_expr_value(w->shape[2], &bytes) ||
        blocks != (k + block - 1) / block || bytes != (int64_t)block * bits / 8) {
        tc_fail(g, "x[..., k], w u8[n, ceil(k / block), block * bits / 8]",
                "no rows and matrix in blocks of %d numbers of %d bits: %s and %s", block, bits, tc_type_text(g, x),
                tc_type_text(g, w));
        return tc_poison();
    }
    if (args->zero && args->zero->type.dtype != TC_U8 && !tc_check_same_dtype(g, x, &args->zero->type))
        return tc_poison();
    const tc_expr *n = w->shape[0], *packed[] = {n, tc_expr_const(&g->dims, blocks * bytes)};
    const tc_expr *in_blocks[] = {n, w->shape[1], tc_expr_const(&g->dims, block)};
    const tc_expr *rows[] = {n, tc_expr_const(&g->dims, blocks * block)};
    tc_tensor scale = by_rows(g, "scale", args->scale, n, blocks);
    tc_tensor zero = args->zero ? zeros_of(g, args, n, blocks, bits, wide) : NULL;
    if (tc_is_poison(scale) || (zero && tc_is_poison(zero)))
        return tc_poison();
    tc_tensor q = unpacked(at, tc_prim_reshape(g, args->w, 2, packed), bits, blocks * block);
    q = tc_prim_cast(g, tc_prim_reshape(g, q, 3, in_blocks), wide);
    q = zero ? SUB(q, tc_unsqueeze_at(at, zero, 2)) : SUB(q, 1 << (bits - 1));
    q = MUL(q, tc_unsqueeze_at(at, tc_prim_widen(g, scale), 2));
    q = tc_slice_at(at, tc_prim_reshape(g, q, 2, rows), 1, tc_dim_int_(0), tc_dim_int_(k), 1);
    tc_tensor y = tc_prim_dot(g, tc_prim_widen(g, args->x), q, 0, x->rank - 1, 1);
    if (args->bias)
        y = ADD(y, tc_prim_widen(g, args->bias));
    return tc_prim_narrow(g, y, x->dtype);
}

tc_tensor tc_matmul_nbits_at(const tc_matmul_nbits_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_matmul_nbits", "matmul_nbits", "x w scale ?zero ?bias", 5,
                              (tc_tensor[]){args->x, args->w, args->scale, args->zero, args->bias});
    return g ? tc_op_leave(g, matmul_nbits(g, args)) : tc_poison();
}
