/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete Fourier transforms as contractions with matrices of sines and cosines, which are constants where the length
 * is one. A constant length is factored, so that the matrices are small: with n = b*n1 + n2 and k = k1 + a*k2,
 *
 *     y[k1 + a*k2] = sum over n2 of w_b^(n2*k2) w_l^(n2*k1) sum over n1 of w_a^(n1*k1) x[b*n1 + n2],  l = a*b.
 */
#include "compose.h"

enum { LONGEST_DIRECT = 32 };

typedef struct dft {
    tc_graph *g;
    tc_site at;
    tc_dtype dtype;
    bool inverse;
} dft;

/* -- sines and cosines ------------------------------------------------------------------------------------------- */

/* [3, l]: cos, and of a forward transform -sin, sin of 2 pi r / l. */
static tc_tensor table(const dft *d, const tc_expr *l)
{
    tc_graph *g = d->g;
    const tc_site at = d->at;
    tc_tensor r = tc_cast_at(at, tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {l}}), TC_F64);
    tc_tensor length = tc_size_value(g, TC_F64, l), angle = DIV(MUL(r, 6.28318530717958647692), length);
    tc_tensor c = tc_cos_at(at, angle), s = tc_sin_at(at, angle), less = tc_neg_at(at, s);
    tc_tensor rows[] = {c, d->inverse ? s : less, d->inverse ? less : s};
    return tc_cast_at(at, tc_stack_at(at, 0, 3, rows), d->dtype);
}

/* The table at number `which`, i64[...], and at `turns` of the same shape, modulo l. */
static tc_tensor looked_up(const dft *d, const tc_expr *l, tc_tensor which, tc_tensor turns)
{
    tc_graph *g = d->g;
    const tc_site at = d->at;
    tc_tensor length = tc_size_value(g, TC_I64, l), r = REM(turns, length), index = ADD(MUL(which, length), r);
    const tc_expr *three = tc_expr_mul_int(l, 3);
    tc_tensor last = tc_size_value(g, TC_I64, tc_expr_add_int(three, -1)),
              flat = tc_prim_reshape(g, table(d, l), 1, &three);
    return tc_prim_gather(g, flat, MINIMUM(MAXIMUM(index, 0), last), 0);
}

/* [n, c, k, 2]: what part of a number (c = 1: the real one) at n gives each part of the sum at k. */
static tc_tensor matrix(const dft *d, const tc_expr *l, const tc_expr *n, int64_t parts, const tc_expr *k)
{
    tc_graph *g = d->g;
    const tc_site at = d->at;
    const tc_type type = {.dtype = TC_I64,
                          .rank = 4,
                          .shape = {n, tc_expr_const(&g->dims, parts), k, tc_expr_const(&g->dims, 2)}};
    tc_tensor in = tc_prim_iota(g, 1, &type), out = tc_prim_iota(g, 3, &type);
    /* the same part: cos; the imaginary part of a real one: the second row; the real part of an imaginary one: the
     * third */
    tc_tensor crossed = tc_bit_xor_at(at, TC_OPERAND(in), TC_OPERAND(out)), which = MUL(crossed, ADD(in, 1));
    tc_tensor place = tc_prim_iota(g, 0, &type), turns = MUL(place, tc_prim_iota(g, 2, &type));
    return looked_up(d, l, which, turns);
}

/* -- transforms of x[m, n, c] to [m, k, 2] ----------------------------------------------------------------------- */

static tc_tensor direct(const dft *d, tc_tensor x, const tc_expr *l, const tc_expr *k)
{
    tc_graph *g = d->g;
    const tc_expr *const *shape = x->type.shape;
    int64_t parts = 1;
    tc_expr_value(shape[2], &parts);
    const tc_expr *terms = tc_expr_mul_int(shape[1], parts), *sums = tc_expr_mul_int(k, 2);
    tc_tensor w = tc_prim_reshape(g, matrix(d, l, shape[1], parts, k), 2, (const tc_expr *const[]){terms, sums});
    tc_tensor rows = tc_prim_reshape(g, x, 2, (const tc_expr *const[]){shape[0], terms});
    tc_tensor y = tc_prim_dot(g, rows, w, 0, 1, 0);
    return tc_is_poison(y)
               ? y
               : tc_prim_reshape(g, y, 3, (const tc_expr *const[]){shape[0], k, tc_expr_const(&g->dims, 2)});
}

/* x[m, b, a, 2] times w_l^(n2*k1), of n2 along b and k1 along a. */
static tc_tensor twiddled(const dft *d, tc_tensor x, const tc_expr *l)
{
    tc_graph *g = d->g;
    const tc_site at = d->at;
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {x->type.shape[1], x->type.shape[2]}};
    tc_tensor n2 = tc_prim_iota(g, 0, &plane), turns = MUL(n2, tc_prim_iota(g, 1, &plane)), zero = MUL(turns, 0);
    tc_tensor c = looked_up(d, l, zero, turns), s = looked_up(d, l, ADD(zero, 1), turns);
    tc_tensor re = tc_select_at(at, x, 3, tc_dim_int_(0)), im = tc_select_at(at, x, 3, tc_dim_int_(1));
    tc_tensor re_c = MUL(re, c), im_s = MUL(im, s), re_s = MUL(re, s), im_c = MUL(im, c);
    tc_tensor parts[2];
    parts[0] = SUB(re_c, im_s);
    parts[1] = ADD(re_s, im_c);
    return tc_stack_at(at, 3, 2, parts);
}

/* The largest factor up to the square root; 1 where the length is short or a prime. */
static int64_t factor(int64_t l)
{
    int64_t a = 1;
    for (int64_t i = 2; l > LONGEST_DIRECT && i <= l / i; ++i)
        a = l % i == 0 ? i : a;
    return a;
}

static tc_tensor transformed(const dft *d, tc_tensor x, const tc_expr *l, const tc_expr *k)
{
    tc_graph *g = d->g;
    int64_t length;
    if (tc_is_poison(x))
        return x;
    const int64_t a = tc_expr_value(l, &length) ? factor(length) : 1, b = a > 1 ? length / a : 1;
    if (a == 1)
        return direct(d, x, l, k);
    const tc_expr *const many_a = tc_expr_const(&g->dims, a), *const many_b = tc_expr_const(&g->dims, b);
    const tc_expr *const m = x->type.shape[0], *const c = x->type.shape[2], *const two = tc_expr_const(&g->dims, 2);
    const int rows_last[] = {0, 2, 1, 3};
    x = tc_prim_reshape(g, x, 4, (const tc_expr *const[]){m, many_a, many_b, c});
    x = tc_prim_transpose(g, x, rows_last);
    x = tc_prim_reshape(g, x, 3, (const tc_expr *const[]){tc_expr_mul(m, many_b), many_a, c});
    x = direct(d, x, many_a, many_a);
    x = twiddled(d, tc_prim_reshape(g, x, 4, (const tc_expr *const[]){m, many_b, many_a, two}), l);
    x = tc_prim_transpose(g, x, rows_last);
    x = tc_prim_reshape(g, x, 3, (const tc_expr *const[]){tc_expr_mul(m, many_a), many_b, two});
    x = transformed(d, x, many_b, many_b);
    x = tc_prim_reshape(g, x, 4, (const tc_expr *const[]){m, many_a, many_b, two});
    x = tc_prim_reshape(g, tc_prim_transpose(g, x, rows_last), 3, (const tc_expr *const[]){m, l, two});
    return k == l ? x : tc_slice_at(d->at, x, 1, tc_dim_int_(0), tc_dim_of(k), 1);
}

/* -- calls ------------------------------------------------------------------------------------------------------- */

/* x[m, n, c] cut or filled with zeros to n along axis 1. */
static tc_tensor fitted(const dft *d, tc_tensor x, const tc_expr *n)
{
    const tc_expr *have = x->type.shape[1], *kept = tc_expr_min(have, n);
    const tc_dim zero = tc_dim_int_(0), more = tc_dim_of(tc_expr_sub(n, kept));
    x = tc_slice_at(d->at, x, 1, zero, tc_dim_of(kept), 1);
    return tc_pad_axis_at(d->at, x, 1, zero, more, tc_operand_int_(0));
}

/* The other half of a spectrum [m, l/2 + 1, 2] of real numbers: conjugates, backwards. */
static tc_tensor completed(const dft *d, tc_tensor x, const tc_expr *l)
{
    const tc_site at = d->at;
    const tc_expr *half = x->type.shape[1], *others = tc_expr_sub(l, half);
    const tc_dim one = tc_dim_int_(1), end = tc_dim_of(tc_expr_add_int(others, 1));
    tc_tensor back = tc_prim_reverse(d->g, tc_slice_at(at, x, 1, one, end, 1), 1, (const int[]){1});
    tc_tensor parts[2];
    parts[0] = tc_select_at(at, back, 2, tc_dim_int_(0));
    parts[1] = tc_neg_at(at, tc_select_at(at, back, 2, tc_dim_int_(1)));
    tc_tensor both[] = {x, tc_stack_at(at, 2, 2, parts)};
    return tc_concat_at(at, 1, 2, both);
}

static bool check(tc_graph *g, const tc_dft_args *args, int64_t *parts)
{
    const tc_type *x = &args->x->type;
    if (x->rank < 2 || !tc_expr_value(x->shape[x->rank - 1], parts) || *parts < 1 || *parts > 2) {
        tc_fail(g, "real numbers: tc_unsqueeze(x, -1)", "the last axis of %s is neither 1 nor 2", tc_type_text(g, x));
        return false;
    }
    if (args->onesided && *parts != (args->inverse ? 2 : 1)) {
        tc_fail(g, NULL,
                args->inverse ? ".onesided and .inverse of real numbers: %s" : ".onesided of complex numbers: %s",
                tc_type_text(g, x));
        return false;
    }
    if (args->size && args->size_count != 1) {
        tc_fail(g, "TC_SIZES(l)", "%d lengths", args->size_count);
        return false;
    }
    return tc_check_float(g, x);
}

/* x[m, n, c] to [m, k, 2], [m, k, 1] of real numbers. */
static tc_tensor of_rows(const dft *d, const tc_dft_args *args, tc_tensor x, const tc_expr *l)
{
    tc_graph *g = d->g;
    const tc_site at = d->at;
    const tc_expr *half = tc_expr_add_int(tc_expr_floordiv(l, tc_expr_const(&g->dims, 2)), 1);
    const bool back = args->onesided && args->inverse;
    x = fitted(d, x, back ? half : l);
    if (back && !tc_is_poison(x))
        x = completed(d, x, l);
    tc_tensor y = transformed(d, x, l, args->onesided && !back ? half : l);
    if (args->inverse && !tc_is_poison(y)) {
        tc_tensor length = tc_size_value(g, d->dtype, l);
        y = DIV(y, length);
    }
    return back ? tc_slice_at(at, y, 2, tc_dim_int_(0), tc_dim_int_(1), 1) : y;
}

static tc_tensor dft_of(tc_graph *g, const tc_dft_args *args)
{
    tc_tensor x = args->x;
    const int rank = x->type.rank, axis = tc_axis(g, args->axis, rank);
    int64_t parts;
    if (axis < 0 || !check(g, args, &parts))
        return tc_poison();
    if (axis == rank - 1) {
        tc_fail(g, "the last axis holds the parts of numbers", "axis %d of %s", args->axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *n = x->type.shape[axis], *l = args->size ? tc_dim_expr(g, args->size[0]) : n;
    if (!args->size && args->onesided && args->inverse)
        l = tc_expr_mul_int(tc_expr_add_int(n, -1), 2);
    if (!tc_at_least(g, l, g->dims.one) || !tc_at_least(g, n, g->dims.one)) {
        tc_fail(g, NULL, "a transform of the length %s of axis %d of %s", tc_expr_text(l), axis,
                tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_dtype dtype = x->type.dtype;
    x = tc_movedim_at(args->at, tc_prim_widen(g, x), axis, rank - 2);
    tc_type type = x->type;
    const tc_expr *rows = g->dims.one;
    for (int i = 0; i < rank - 2; ++i)
        rows = tc_expr_mul(rows, type.shape[i]);
    x = tc_prim_reshape(g, x, 3, (const tc_expr *const[]){rows, n, type.shape[rank - 1]});
    const dft d = {.g = g, .at = args->at, .dtype = x->type.dtype, .inverse = args->inverse};
    tc_tensor y = of_rows(&d, args, x, l);
    if (tc_is_poison(y))
        return y;
    type.shape[rank - 2] = y->type.shape[1];
    type.shape[rank - 1] = y->type.shape[2];
    y = tc_prim_reshape(g, y, rank, type.shape);
    return tc_prim_narrow(g, tc_movedim_at(args->at, y, rank - 2, axis), dtype);
}

tc_tensor tc_dft_at(const tc_dft_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_dft", "dft", "x", 1, &args->x);
    return g ? tc_op_leave(g, dft_of(g, args)) : tc_poison();
}

/* -- short times ------------------------------------------------------------------------------------------------- */

/* The length of the windows; 0 where the options or the axes of x are none, which was reported. */
static int read_windows(tc_graph *g, const tc_stft_args *args, int rank, const char *axes)
{
    const tc_tensor x = args->x, window = args->window;
    int64_t size = 0;
    if (window && (window->type.rank != 1 || !tc_expr_value(window->type.shape[0], &size) ||
                   window->type.dtype != x->type.dtype)) {
        tc_fail(g, "one constant axis, in x's dtype", "the window is %s for x %s", tc_type_text(g, &window->type),
                tc_type_text(g, &x->type));
        return 0;
    }
    const int length = args->length ? args->length : (int)size;
    if (x->type.rank != rank || length < 1 || args->step < 1 || size > length) {
        tc_fail(g, axes, "windows of %d every %d of %s", length, args->step, tc_type_text(g, &x->type));
        return 0;
    }
    return length;
}

/* The window in f32 or f64, with zeros behind its end. */
static tc_tensor whole_window(tc_graph *g, const tc_stft_args *args, int length)
{
    int64_t size = 0;
    tc_expr_value(args->window->type.shape[0], &size);
    const tc_dim zero = tc_dim_int_(0), more = tc_dim_int_(length - size);
    return tc_pad_axis_at(args->at, tc_prim_widen(g, args->window), 0, zero, more, tc_operand_int_(0));
}

static tc_tensor stft(tc_graph *g, const tc_stft_args *args)
{
    const tc_site at = args->at;
    tc_tensor x = args->x;
    const int length = read_windows(g, args, 3,
                                    "x[b, n, 1] or x[b, n, 2]; .step and .length, or a window no longer than that");
    if (!length)
        return tc_poison();
    const tc_dtype dtype = x->type.dtype;
    tc_tensor frames = tc_sliding_at(at, tc_prim_widen(g, x), 1, length, args->step); /* [b, f, c, length] */
    if (tc_is_poison(frames))
        return frames;
    if (args->window) {
        tc_tensor whole = whole_window(g, args, length);
        frames = MUL(frames, whole);
    }
    const bool real = tc_expr_is(x->type.shape[2], 1);
    frames = tc_prim_transpose(g, frames, (const int[]){0, 1, 3, 2});
    tc_tensor y = tc_dft_at(
        &(const tc_dft_args){.x = frames, .axis = 2, .onesided = real && !args->twosided, .at = at});
    return tc_is_poison(y) ? y : tc_prim_narrow(g, y, dtype);
}

tc_tensor tc_stft_at(const tc_stft_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_stft", "stft", "x ?window", 2, (tc_tensor[]){args->x, args->window});
    return g ? tc_op_leave(g, stft(g, args)) : tc_poison();
}

/* x[b, c, length, f]: the sums of what windows have at each place, [b, c, n]. */
static tc_tensor added_up(tc_graph *g, const tc_stft_args *args, tc_tensor x, int length, const tc_expr *n)
{
    if (tc_is_poison(x))
        return x;
    const tc_expr *const *shape = x->type.shape;
    const tc_expr *columns[] = {shape[0], tc_expr_mul(shape[1], shape[2]), shape[3]};
    x = tc_prim_reshape(g, x, 3, columns);
    const tc_unfold_args fold = {.x = x,
                                 .kernel = {1, length},
                                 .stride = {1, args->step},
                                 .padding = {0, 0},
                                 .low = {0, 0},
                                 .high = {0, 0},
                                 .dilation = {1, 1},
                                 .at = args->at};
    return tc_squeeze_at(args->at, tc_fold_at(&fold, tc_dim_int_(1), tc_dim_of(n)), 2);
}

static tc_tensor istft(tc_graph *g, const tc_stft_args *args)
{
    const tc_site at = args->at;
    const int length = read_windows(g, args, 4,
                                    "x[b, f, k, 2] of tc_stft; .step and .length, or a window no longer than that");
    if (!length)
        return tc_poison();
    const tc_tensor x = args->x;
    const tc_expr *frames = x->type.shape[1], *bins = tc_expr_const(&g->dims, args->twosided ? length : length / 2 + 1);
    if (!tc_same_dim(g, x->type.shape[2], bins) || !tc_at_least(g, frames, g->dims.one)) {
        tc_fail(g, "x[b, f, k, 2] of tc_stft", "%s holds no spectra of windows of %d", tc_type_text(g, &x->type),
                length);
        return tc_poison();
    }
    const tc_expr *n = tc_expr_add_int(tc_expr_mul_int(tc_expr_add_int(frames, -1), args->step), length);
    const tc_dim whole_length = tc_dim_int_(length);
    tc_tensor z = tc_dft_at(&(const tc_dft_args){.x = tc_prim_widen(g, x),
                                                 .axis = 2,
                                                 .size = &whole_length,
                                                 .size_count = 1,
                                                 .inverse = true,
                                                 .onesided = !args->twosided,
                                                 .at = at});
    if (tc_is_poison(z))
        return z;
    const tc_type weights = {.dtype = z->type.dtype,
                             .rank = 4,
                             .shape = {g->dims.one, g->dims.one, tc_expr_const(&g->dims, length), frames}};
    z = tc_prim_transpose(g, z, (const int[]){0, 3, 2, 1});
    tc_tensor weight = args->window ? whole_window(g, args, length) : tc_size_value(g, weights.dtype, g->dims.one);
    weight = tc_prim_broadcast(g, weight, 4, weights.shape, (const int[]){2});
    tc_tensor windowed = MUL(z, weight), squares = MUL(weight, weight);
    tc_tensor signal = added_up(g, args, windowed, length, n), sum = added_up(g, args, squares, length, n);
    tc_tensor y = tc_transpose_at(at, DIV(signal, sum), 1, 2);
    return tc_is_poison(y) ? y : tc_prim_narrow(g, y, x->type.dtype);
}

tc_tensor tc_istft_at(const tc_stft_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_istft", "istft", "x ?window", 2, (tc_tensor[]){args->x, args->window});
    return g ? tc_op_leave(g, istft(g, args)) : tc_poison();
}
