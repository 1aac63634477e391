/* SPDX-License-Identifier: Apache-2.0
 *
 * Types, dynamic sizes and guards: each body makes one tensor "y", whose type and guards are compared.
 */
#include "harness.h"
#include "tap.h"

#define F(name, ...) tc_input(g, name, TC_F32, __VA_ARGS__)
#define Y(...) tc_output(g, "y", __VA_ARGS__)
#define N tc_dynamic(g, "n", 1, 512)
#define M tc_dynamic(g, "m", 1, 512)
#define H tc_dynamic(g, "h", 4, 512)
#define D8 tc_dynamic(g, "k", 8, 64, .divisor = 8)

/* name, type of y, guards (each ended by a semicolon), body */
#define CASES                                                                                                         \
    /* names are the library's from the call on: the caller's memory may change */                                    \
    X(names_in_a_loop, "f32[3]", "", char name[4] = "a0"; tc_tensor sum = tc_input(g, "s", TC_F32, 3);                 \
      for (; name[1] < '8'; ++name[1]) sum = tc_add(sum, tc_input(g, name, TC_F32, 3)); Y(sum))                       \
    /* one number is every axis' */                                                                                   \
    X(each_padding, "f32[1,2,16,16]", "", Y(tc_conv2d(F("x", 1, 3, 16, 16), F("w", 2, 3, 3, 3), .padding = 1)))       \
    X(each_braces, "f32[1,2,16,14]", "", Y(tc_conv2d(F("x", 1, 3, 16, 16), F("w", 2, 3, 3, 3), .padding = {1, 0})))   \
    X(each_stride, "f32[1,2,4,4]", "", Y(tc_conv2d(F("x", 1, 3, 16, 16), F("w", 2, 3, 3, 3), .stride = 4,             \
      .padding = 1)))                                                                                                 \
    X(each_dilation, "f32[1,2,6,6,6]", "", Y(tc_conv3d(F("x", 1, 3, 8, 8, 8), F("w", 2, 3, 2, 2, 2), .dilation = 2))) \
    X(each_sides, "f32[1,2,9,9]", "", Y(tc_conv2d(F("x", 1, 3, 8, 8), F("w", 2, 3, 3, 3), .low = 1, .high = 2)))       \
    X(each_transposed, "f32[1,2,12,12]", "", Y(tc_conv_transpose2d(F("x", 1, 3, 6, 6), F("w", 3, 2, 3, 3), .stride = 2,\
      .padding = 1, .output_padding = 1)))                                                                            \
    X(each_pool, "f32[1,3,8,8]", "", Y(tc_max_pool2d(F("x", 1, 3, 16, 16), .kernel = 2)))                             \
    X(each_pool3d, "f32[1,3,4,4,4]", "", Y(tc_avg_pool3d(F("x", 1, 3, 8, 8, 8), .kernel = 3, .stride = 2,               \
      .padding = 1)))                                                                                                 \
    X(each_unfold, "f32[1,27,36]", "", Y(tc_unfold(F("x", 1, 3, 8, 8), .kernel = 3)))                                 \
    X(each_fold, "f32[1,3,8,8]", "", Y(tc_fold(F("x", 1, 27, 36), 8, 8, .kernel = 3)))                                \
    X(each_scale, "f32[1,3,16,16]", "", Y(tc_interpolate(F("x", 1, 3, 8, 8), .scale = 2)))                            \
    X(each_size, "f32[1,3,7,7]", "", Y(tc_interpolate(F("x", 1, 3, 8, 8), TC_SIZES(7))))                              \
    X(each_integer, "i32[1,2,8,8]", "", Y(tc_conv_integer(tc_input(g, "x", TC_I8, 1, 3, 8, 8),                        \
      tc_input(g, "w", TC_I8, 2, 3, 3, 3), .padding = 1)))                                                            \
    X(add, "f32[2,3,4]", "", Y(tc_add(F("a", 2, 1, 4), F("b", 3, 1))))                                                \
    X(add_number, "i64[3]", "", Y(tc_add(1, tc_input(g, "a", TC_I64, 3))))                                            \
    X(add_dynamic, "f32[n]", "n == m;", tc_dim n = N; Y(tc_add(F("a", n), F("b", M))))                                \
    X(add_same, "f32[n,n]", "", tc_dim n = N; Y(tc_add(F("a", n, 1), F("b", 1, n))))                                  \
    X(guard_once, "f32[n]", "n == m;", tc_dim n = N; tc_dim m = M; tc_tensor a = F("a", n); tc_tensor b = F("b", m);  \
      tc_tensor c = tc_add(a, b); Y(tc_mul(c, tc_sub(b, a))))                                                         \
    X(guard_follows, "f32[2*n]", "n == m;", tc_dim n = N; tc_dim m = M; tc_require_equal(g, n, m);                    \
      Y(tc_add(F("a", tc_dim_mul(n, 2)), F("b", tc_dim_add(n, m)))))                                                  \
    X(require_const, "f32[4]", "n == 4;", tc_dim n = N; tc_require_equal(g, n, 4); Y(tc_add(F("a", n), F("b", 4))))   \
    X(less, "bool[3]", "", Y(tc_lt(F("a", 3), 0)))                                                                    \
    X(where, "f32[2,3]", "", Y(tc_where(tc_input(g, "p", TC_BOOL, 2, 1), F("a", 3), 0)))                              \
    X(cast, "i32[3]", "", Y(tc_cast(F("a", 3), TC_I32)))                                                              \
    X(bitcast, "u32[n]", "", tc_dim n = N; Y(tc_bitcast(F("a", n), TC_U32)))                                          \
    X(bitcast_floats, "bf16[3]", "", Y(tc_bitcast(tc_input(g, "a", TC_F16, 3), TC_BF16)))                             \
    X(bitcast_bool, "i8[3]", "", Y(tc_bitcast(tc_input(g, "a", TC_BOOL, 3), TC_I8)))                                  \
    X(sum_all, "f32[]", "", Y(tc_sum(F("a", 2, 3))))                                                                  \
    X(sum_axis, "f32[2]", "", Y(tc_sum(F("a", 2, 3), -1)))                                                            \
    X(sum_axes, "f32[3]", "", Y(tc_sum(F("a", 2, 3, 4), 0, -1)))                                                      \
    X(sum_keep, "f32[1,3,1]", "", Y(tc_sum_keepdims(F("a", 2, 3, 4), 2, 0)))                                          \
    X(mean_dynamic, "f32[3]", "", tc_dim n = N; Y(tc_mean(F("a", n, 3), 0)))                                          \
    X(var, "f32[2,1]", "", Y(tc_var_keepdims(F("a", 2, 3), 1)))                                                       \
    X(argmax, "i64[2]", "", Y(tc_argmax(F("a", 2, 3), -1)))                                                           \
    X(argmax_keep, "i64[2,1]", "", Y(tc_argmax_keepdims(F("a", 2, 3), -1)))                                           \
    X(sum_where, "f32[2]", "", Y(tc_sum_where(F("a", 2, 3), tc_input(g, "p", TC_BOOL, 3), -1)))                       \
    X(mean_where, "f32[1,3]", "", tc_dim n = N;                                                                       \
      Y(tc_mean_where_keepdims(F("a", n, 3), tc_input(g, "p", TC_BOOL, n, 1), 0)))                                    \
    X(softmax_where, "f32[2,n]", "", tc_dim n = N;                                                                    \
      Y(tc_softmax_where(F("a", 2, n), tc_input(g, "p", TC_BOOL, 2, n), -1)))                                         \
    X(matmul_where, "f32[7,6,2,5]", "",                                                                               \
      Y(tc_matmul_where(F("a", 7, 1, 2, 3), F("b", 6, 3, 5), tc_input(g, "p", TC_BOOL, 2, 3))))                       \
    X(softmax, "f32[2,n]", "", tc_dim n = N; Y(tc_softmax(F("a", 2, n), -1)))                                         \
    X(matmul, "f32[2,5]", "", Y(tc_matmul(F("a", 2, 3), F("b", 3, 5))))                                               \
    X(matmul_batch, "f32[7,6,2,5]", "", Y(tc_matmul(F("a", 7, 1, 2, 3), F("b", 6, 3, 5))))                            \
    X(matmul_rows, "f32[7,6,2,5]", "", Y(tc_matmul(F("a", 7, 6, 2, 3), F("b", 3, 5))))                                \
    X(matmul_row, "f32[5]", "", Y(tc_matmul(F("a", 3), F("b", 3, 5))))                                                \
    X(matmul_column, "f32[4,2]", "", Y(tc_matmul(F("a", 4, 2, 3), F("b", 3))))                                        \
    X(matmul_vectors, "f32[]", "", Y(tc_matmul(F("a", 3), F("b", 3))))                                                \
    X(linear, "f32[4,2,5]", "", Y(tc_linear(F("a", 4, 2, 3), F("b", 5, 3), F("c", 5))))                               \
    X(conv, "f32[1,4,8,8]", "", Y(tc_conv2d(F("a", 1, 3, 8, 8), F("w", 4, 3, 3, 3), .padding = {1, 1})))              \
    X(conv_stride, "f32[1,4,floordiv(h+1,2),floordiv(h+1,2)]", "", tc_dim h = H;                                      \
      Y(tc_conv2d(F("a", 1, 3, h, h), F("w", 4, 3, 3, 3), NULL, .stride = {2, 2}, .padding = {1, 1})))                \
    X(conv_residual, "f32[1,3,floordiv(h+1,2),h]", "", tc_dim h = H; tc_tensor a = F("a", 1, 3, h, h);                \
      Y(tc_add(tc_conv2d(a, F("w", 3, 3, 3, 3), NULL, .stride = {2, 1}, .padding = {1, 1}),                           \
               tc_conv2d(a, F("v", 3, 3, 1, 1), NULL, .stride = {2, 1}))))                                            \
    X(conv_same, "f32[1,4,floordiv(h+1,2),floordiv(h+2,3)]", "", tc_dim h = H;                                        \
      Y(tc_conv2d(F("a", 1, 3, h, h), F("w", 4, 3, 3, 4), .stride = {2, 3}, .same = TC_SAME_LOWER)))                  \
    X(pool_same, "f32[1,3,4*k]", "", tc_dim k = D8;                                                                   \
      Y(tc_max_pool1d(F("a", 1, 3, tc_dim_mul(k, 8)), .kernel = 3, .stride = 2, .same = TC_SAME)))                    \
    X(unpool, "f32[1,3,2*h+1]", "", tc_dim h = H;                                                                     \
      Y(tc_max_unpool1d(F("a", 1, 3, h), tc_input(g, "i", TC_I64, 1, 3, h), .kernel = 3, .stride = 2)))               \
    X(conv_guard, "f32[1,4,n-2,1]", "n >= 3;", tc_dim n = N;                                                          \
      Y(tc_conv2d(F("a", 1, 3, n, 3), F("w", 4, 3, 3, 3))))                                                           \
    X(conv_dilated, "f32[1,4,4,4]", "",                                                                               \
      Y(tc_conv2d(F("a", 1, 4, 8, 8), F("w", 4, 1, 3, 3), NULL, .dilation = {2, 2}, .groups = 4)))                    \
    X(pool, "f32[1,3,floordiv(h,2),4]", "", tc_dim h = H; Y(tc_max_pool2d(F("a", 1, 3, h, 8), .kernel = {2, 2})))     \
    X(pool_up, "f32[1,3,4*k,4]", "", tc_dim k = D8;                                                                   \
      Y(tc_max_pool2d(F("a", 1, 3, tc_dim_mul(k, 8), 8), .kernel = {2, 2})))                                          \
    X(avg_exclude, "f32[1,3,4,4]", "",                                                                                \
      Y(tc_avg_pool2d(F("a", 1, 3, 8, 8), .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1},                      \
                      .exclude_padding = true)))                                                                      \
    X(layer_norm, "f32[2,3,4]", "", Y(tc_layer_norm(F("a", 2, 3, 4), F("w", 3, 4), .eps = 1e-12)))                    \
    X(rms_norm, "f32[n,4]", "", tc_dim n = N; Y(tc_rms_norm(F("a", n, 4), F("w", 4))))                                \
    X(batch_norm, "f32[2,3,4]", "", Y(tc_batch_norm(F("a", 2, 3, 4), F("m", 3), F("v", 3), F("w", 3), F("b", 3))))    \
    X(attention, "f32[n,12,m,32]", "", tc_dim n = N; tc_dim m = M; tc_tensor q = F("q", n, 12, m, 32);                \
      Y(tc_scaled_dot_product_attention(q, q, q, .mask = tc_input(g, "p", TC_BOOL, n, 1, 1, m), .causal = true)))     \
    X(attention_groups, "f32[2,8,n,16]", "", tc_dim n = N;                                                            \
      tc_tensor k = F("c", 2, 2, tc_dim_add(n, 7), 16);                                                               \
      Y(tc_scaled_dot_product_attention(F("q", 2, 8, n, 16), k, k, .causal = true)))                                  \
    X(embedding, "f32[n,5,8]", "", tc_dim n = N; Y(tc_embedding(tc_input(g, "i", TC_I64, n, 5), F("t", 100, 8))))     \
    X(gather, "f32[2,5,6,4]", "", Y(tc_gather(F("a", 2, 3, 4), tc_input(g, "i", TC_I32, 5, 6), 1)))                   \
    X(reshape_rest, "f32[6*n,2]", "", tc_dim n = N; Y(tc_reshape(F("a", n, 3, 4), -1, 2)))                            \
    X(reshape_guard, "f32[floordiv(3*n,4),4]", "3*n == 4*floordiv(3*n, 4);", tc_dim n = N;                            \
      Y(tc_reshape(F("a", n, 3), -1, 4)))                                                                             \
    X(dim_max, "f32[max(8,n),min(m,n)]", "", tc_dim n = N; tc_dim m = M;                                              \
      Y(F("a", tc_dim_max(n, 8), tc_dim_min(n, m))))                                                                  \
    X(dim_mod, "f32[n-4*floordiv(n,4),floordiv(n+3,4)]", "", tc_dim n = N;                                           \
      Y(F("a", tc_dim_mod(n, 4), tc_dim_ceildiv(n, 4))))                                                              \
    X(dim_slice, "f32[min(8,n)]", "", tc_dim n = N; Y(tc_slice(F("a", n), 0, 0, tc_dim_min(n, 8))))                   \
    X(reshape_split, "f32[m,n]", "", tc_dim n = N; tc_dim m = M; Y(tc_reshape(F("a", n, m), -1, n)))                  \
    X(flatten, "f32[n,60]", "", tc_dim n = N; Y(tc_flatten(F("a", n, 3, 4, 5), 1)))                                   \
    X(permute, "f32[4,2,3]", "", Y(tc_permute(F("a", 2, 3, 4), -1, 0, 1)))                                            \
    X(transpose, "f32[2,4,3]", "", Y(tc_transpose(F("a", 2, 3, 4), -1, -2)))                                          \
    X(expand, "f32[n,2,3]", "", tc_dim n = N; Y(tc_expand(F("a", 2, 1), n, -1, 3)))                                   \
    X(slice, "f32[3]", "", Y(tc_slice(F("a", 8), 0, 2, -3)))                                                          \
    X(slice_step, "f32[3]", "", Y(tc_slice_step(F("a", 8), 0, 1, TC_END, 3)))                                         \
    X(slice_dynamic, "f32[n]", "128 >= n;", tc_dim n = N; Y(tc_slice(F("a", 128), 0, 0, n)))                          \
    X(select, "f32[2,4]", "", Y(tc_select(F("a", 2, 3, 4), 1, -1)))                                                   \
    X(squeeze, "f32[1,2,3]", "", Y(tc_unsqueeze(tc_squeeze(F("a", 2, 1, 3), 1), 0)))                                  \
    X(concat, "f32[m+n,3]", "", tc_dim n = N; tc_dim m = M; Y(tc_concat(0, F("a", n, 3), F("b", m, 3))))              \
    X(concat_past, "f32[4,m+n,16]", "", tc_dim past = N; tc_dim m = M; tc_tensor q = F("a", 4, m, 16);                \
      tc_tensor k = tc_concat(1, F("b", 4, past, 16), q);                                                             \
      Y(tc_add(k, tc_full(g, 0, TC_F32, tc_dim_add(past, m), 16))))                                                   \
    X(split, "f32[2*k]", "", tc_tensor p[4]; tc_dim k = D8; tc_split(F("a", tc_dim_mul(k, 8)), 0, 4, p); Y(p[3]))     \
    X(split_sizes, "f32[n]", "", tc_tensor p[2]; tc_dim n = N;                                                        \
      tc_split_sizes(F("a", tc_dim_add(n, 3)), 0, p, 3, n); Y(p[1]))                                                  \
    X(pad, "f32[3,n+3]", "", tc_dim n = N; Y(tc_pad(F("a", 3, n), .low = {0, 1}, .high = {0, 2}, .value = -1)))       \
    X(update, "f32[1,4,128,16]", "", tc_dim past = tc_dynamic(g, "past", 0, 127);                                     \
      Y(tc_update_slice(F("a", 1, 4, 128, 16), F("b", 1, 4, 1, 16), 0, 0, past, 0)))                                  \
    X(update_guard, "f32[128]", "128 >= n + past;", tc_dim n = N; tc_dim past = tc_dynamic(g, "past", 0, 127);        \
      Y(tc_update_slice(F("a", 128), F("b", n), past)))                                                               \
    X(arange, "i64[n]", "", tc_dim n = N; Y(tc_arange(g, TC_I64, n)))                                                 \
    X(arange_step, "f32[4]", "", Y(tc_arange_step(g, TC_F32, 1, 11, 3)))                                              \
    X(full, "i32[2,n]", "", tc_dim n = N; Y(tc_full(g, 7, TC_I32, 2, n)))                                             \
    X(tril, "f32[n,n]", "", tc_dim n = N; Y(tc_tril(F("a", n, n), 0)))                                                \
    X(empty, "f32[0,4]", "", Y(tc_concat(0, F("a", 0, 4), tc_exp(F("b", 0, 4)))))                                     \
    X(pow, "f32[3]", "", Y(tc_pow(F("a", 3), -1.5)))                                                                  \
    X(pow_tensor, "f32[n,3]", "", tc_dim n = N; Y(tc_pow(F("a", 3), F("b", n, 1))))                                   \
    X(pow_base, "f32[3]", "", Y(tc_pow(2, F("a", 3))))                                                                \
    X(shift, "i64[3]", "", Y(tc_shift_left(1, tc_input(g, "a", TC_I64, 3))))                                          \
    X(glu, "f32[2,n]", "", tc_dim n = N; Y(tc_glu(F("a", 2, tc_dim_mul(n, 2)), -1)))                                  \
    X(prelu, "f32[2,n,5]", "", tc_dim n = N; Y(tc_prelu(F("a", 2, n, 5), F("w", n))))                                 \
    X(dim_value, "i64[]", "", tc_dim n = N; Y(tc_dim_value(g, TC_I64, tc_dim_mul(n, n))))

#define X(name, type, guards, ...)                                                                                    \
    static void body_##name(tc_graph *g)                                                                              \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
    }
CASES
#undef X

/* The type of the value that `return "y"` names. */
static void type_of_result(const char *text, char *out, size_t size)
{
    const char *result = strstr(text, "return \"y\" %");
    char define[32];
    snprintf(define, sizeof define, "%%%d ", result ? atoi(result + 12) : -1);
    const char *line = strstr(text, define), *type = line ? strstr(line, " : ") : NULL;
    snprintf(out, size, "%.*s", type ? (int)strcspn(type + 3, " ") : 0, type ? type + 3 : "");
}

static void guards_of(const char *text, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *p = text; (p = strstr(p, "  guard \"")); ++p) {
        const char *condition = strchr(p + 9, '"') + 2, *end = strstr(condition, " loc(");
        used += (size_t)snprintf(out + used, size - used, "%.*s;", (int)(end - condition), condition);
    }
}

static void expect(const char *name, tc_graph_body *body, const char *type, const char *guards)
{
    captured c = capture_body(body);
    char got_type[256], got_guards[256];
    if (!tc_ok(c.ok, "%s: captured", name)) {
        tc_note("%s", c.errors);
    } else {
        type_of_result(c.text, got_type, sizeof got_type);
        guards_of(c.text, got_guards, sizeof got_guards);
        if (!tc_ok(!strcmp(got_type, type), "%s: %s", name, type))
            tc_note("got %s", got_type);
        if (!tc_ok(!strcmp(got_guards, guards), "%s: guards: %s", name, guards))
            tc_note("got %s", got_guards);
    }
    captured_free(&c);
}

TC_GRAPH(layer)
{
    tc_tensor x = tc_parameter(g, "x");
    TC_SCOPE(g, "own") x = tc_softmax(tc_add(x, tc_state(g, "s", TC_F32, 3)), 0);
    tc_output(g, "y", x);
}

/* As deep as no operation of ours goes. */
static tc_tensor deeper(tc_graph *g, tc_tensor x, int depth)
{
    if (!tc_op_enter_graph(g, TC_HERE, "deeper", "deeper"))
        return tc_poison();
    return tc_op_leave(g, depth ? deeper(g, x, depth - 1) : tc_relu(x));
}

static void calls_in_scopes(tc_graph *g)
{
    tc_tensor x = F("x", 3);
    TC_SCOPE(g, "outer") {
        x = tc_call(g, layer, "first", x);
        x = tc_add(x, tc_state(g, "between", TC_F32, 3));
        TC_SCOPE(g, "inner") x = tc_call(g, layer, "", tc_call(g, layer, "second", x));
        x = tc_add(x, tc_state(g, "behind", TC_F32, 3));
    }
    Y(tc_add(deeper(g, x, 100), tc_state(g, "outside", TC_F32, 3)));
}

static void test_calls_in_scopes(void)
{
    static const char *const states[] = {"outer.first.own.s", "outer.between", "outer.inner.second.own.s", "outer.inner.own.s",
                                         "outer.behind", "outside"};
    captured c = capture_body(calls_in_scopes);
    if (!tc_ok(c.ok, "calls in scopes"))
        tc_note("%s", c.errors);
    for (size_t i = 0; c.ok && i < sizeof states / sizeof *states; ++i) {
        char line[64];
        snprintf(line, sizeof line, "state \"%s\" :", states[i]);
        tc_ok(strstr(c.text, line), "%s", line);
    }
    captured_free(&c);
}

int main(void)
{
#define X(name, type, guards, ...) expect(#name, body_##name, type, guards);
    CASES
#undef X
    test_calls_in_scopes();
    return tc_done();
}
