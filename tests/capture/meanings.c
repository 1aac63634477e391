/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said where two operations name another scale or zero of the same integers: the line WROTE wrote them, or read
 * them first, and the line READS is warned of.
 */
#include "mistakes.h"

static int wrote, reads;
#define WROTE (wrote = __LINE__)
#define READS (reads = __LINE__)

#define I8(...) IN(TC_I8, __VA_ARGS__)
#define S IN(TC_F32)
#define NUMBER(x, dtype) tc_full(g, x, dtype)
#define QUANTIZED(scale, zero) tc_quantize(F(1, 2, 4, 4), NUMBER(scale, TC_F32), NUMBER(zero, TC_I8))
/* The readers that most cases have. */
#define READ(x_, ...) READS; tc_quantized_rescale(.x = {x_, __VA_ARGS__}, .scale = 1)
#define RESCALED(...) tc_quantized_rescale(.x = {I8(1, 2, 4, 4), 0.5, 3}, __VA_ARGS__)
#define CASE(name) static void body_##name(TC_UNUSED tc_graph *g)

CASE(equal)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25, .zero = -128);
    READ(x, 0.25, -128);
}

CASE(scale)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25, .zero = -128);
    READ(x, 0.1f, -128);
}

CASE(zero)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25, .zero = -128);
    READ(x, 0.25);
}

CASE(digits)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.584702909f);
    READ(x, 0.584702969f);
}

CASE(views)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25);
    x = tc_pad_axis(tc_transpose(tc_reshape(x, 2, 16), 0, 1), 1, 2, 2, 3);
    READ(x, 0.5);
}

CASE(max_pool)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25);
    READ(tc_max_pool2d(x, .kernel = {2, 2}), 0.5);
}

CASE(average)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25);
    READ(tc_quantized_avg_pool2d(x, .kernel = {2, 2}), 0.5);
}

CASE(limits)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25);
    READ(tc_clamp(x, -3, 100), 0.5);
}

CASE(concat)
{
    tc_tensor a = RESCALED(.scale = 0.25);
    WROTE; tc_tensor b = RESCALED(.scale = 0.125);
    READ(tc_concat(1, a, b), 0.25);
}

CASE(concat_equal)
{
    tc_tensor a = RESCALED(.scale = 0.25), b = RESCALED(.scale = 0.25);
    READ(tc_concat(1, a, I8(1, 1, 4, 4), b), 0.25);
}

CASE(looked_up)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25);
    READ(tc_gather(x, IN(TC_I32, 3), 2), 0.5);
}

CASE(arithmetic)
{
    tc_tensor x = RESCALED(.scale = 0.25);
    READ(tc_add(x, 1), 0.5);
}

CASE(wide)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.25, .dtype = TC_I32);
    READ(x, 0.5);
}

CASE(conv)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.5);
    READS; tc_quantized_conv(.x = {x, 0.5, 1}, .w = I8(3, 2, 1, 1), .w_scale = S, .scale = 1);
}

CASE(linear)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.5);
    READS; tc_quantized_linear(.x = {x, 0.5, 1}, .w = I8(3, 4), .w_scale = S, .scale = 1);
}

CASE(second)
{
    tc_tensor a = RESCALED(.scale = 0.25);
    WROTE; tc_tensor b = tc_quantized_mul(.a = {a, 0.25}, .b = {I8(4), 1}, .scale = 0.5);
    READS; tc_quantized_add(.a = {a, 0.25}, .b = {b, 0.125}, .scale = 1);
}

CASE(transposed)
{
    WROTE; tc_tensor x = RESCALED(.scale = 0.5);
    READS; tc_quantized_conv_transpose2d(.x = {x, 0.5, 1}, .w = I8(2, 3, 1, 1), .w_scale = S, .scale = 1);
}

CASE(matmul)
{
    WROTE; tc_tensor b = tc_quantized_matmul(.a = {I8(4, 4), 1}, .b = {I8(4, 4), 1}, .scale = 0.5);
    READS; tc_quantized_matmul(.a = {I8(4, 4), 1}, .b = {b, 0.125}, .scale = 1);
}

CASE(hardswish)
{
    WROTE; tc_tensor b = tc_quantized_hardswish(.x = {I8(4), 1}, .scale = 0.5);
    READ(b, 0.25);
}

CASE(sub)
{
    WROTE; tc_tensor b = tc_quantized_sub(.a = {I8(4), 1}, .b = {I8(4), 1}, .scale = 0.5);
    READ(b, 0.25);
}

CASE(add)
{
    WROTE; tc_tensor b = tc_quantized_add(.a = {I8(4), 1}, .b = {I8(4), 1}, .scale = 0.5);
    READ(b, 0.25);
}

CASE(mean)
{
    WROTE; tc_tensor b = tc_quantized_mean(.x = {I8(4, 4), 1}, .axes = {1}, .axis_count = 1, .scale = 0.5);
    READ(b, 0.25);
}

CASE(leaky)
{
    WROTE; tc_tensor b = tc_quantized_leaky_relu(.x = {I8(4), 1}, .slope = 0.01, .scale = 0.5);
    READ(b, 0.25);
}

CASE(softmax)
{
    WROTE; tc_tensor b = tc_quantized_softmax(.x = {I8(4), 1});
    READ(b, 0.25);
}

CASE(sigmoid)
{
    WROTE; tc_tensor b = tc_quantized_sigmoid(.x = {IN(TC_U8, 4), 1});
    READ(b, 0.00390625, 1);
}

CASE(tanh)
{
    WROTE; tc_tensor b = tc_quantized_tanh(.x = {I8(4), 1});
    READ(b, 0.00390625);
}

CASE(logistic)
{
    WROTE; tc_tensor b = tc_quantized_sigmoid(.x = {IN(TC_I16, 4), 0.5});
    READ(b, 0.00390625);
}

CASE(floats)
{
    WROTE; tc_tensor x = QUANTIZED(0.5, -8);
    READS; tc_dequantize(x, NUMBER(0.5, TC_F64), NUMBER(-7, TC_I8));
}

CASE(floats_equal)
{
    tc_tensor x = QUANTIZED(0.5, -8);
    READS; tc_dequantize(x, NUMBER(0.5, TC_F64), NUMBER(-8, TC_I8));
}

CASE(floats_unknown)
{
    tc_tensor x = QUANTIZED(0.5, -8);
    READS; tc_dequantize(x, S, NUMBER(-8, TC_I8));
}

CASE(qlinear)
{
    WROTE; tc_tensor x = tc_qlinear_matmul(.a = {I8(1, 2, 4, 4), S}, .b = {I8(4, 3), S}, .scale = NUMBER(0.5, TC_F32));
    READS; tc_qlinear_conv(.x = {x, NUMBER(0.25, TC_F32)}, .w = {I8(3, 2, 1, 1), S}, .scale = S);
}

CASE(input)
{
    tc_tensor x = I8(4, 4);
    WROTE; tc_quantized_softmax(.x = {tc_reshape(x, 16), 0.25});
    READ(tc_transpose(x, 0, 1), 0.5);
}

CASE(parts_of_input)
{
    tc_tensor x = I8(4, 4);
    tc_quantized_softmax(.x = {tc_slice(x, 0, 0, 2), 0.25});
    READ(tc_slice(x, 0, 2, 4), 0.5);
}

CASE(table)
{
    tc_tensor x = tc_gather(I8(256), IN(TC_I32, 4), 0);
    WROTE; tc_quantized_softmax(.x = {x, 0.25});
    READ(x, 0.5);
}

CASE(constant)
{
    tc_tensor x = tc_full(g, 3, TC_I8, 4);
    tc_quantized_softmax(.x = {x, 0.25});
    READ(x, 0.5);
}

CASE(block)
{
    tc_tensor c = IN(TC_BOOL);
    WROTE; tc_tensor x = RESCALED(.scale = 0.25), y = x;
    TC_IF(g, c, &y) {
        READS; y = tc_quantized_rescale(.x = {x, 0.5}, .scale = 0.25);
    } TC_ELSE(g) {
    }
}

static tc_graph_body *of_case;

/* A module has an output. */
static void whole(tc_graph *g)
{
    of_case(g);
    tc_output(g, "y", F(1));
}

/* One warning, of the line READS, that has `said` with the line WROTE in it; NULL: no warning. */
static void check(const char *name, tc_graph_body *body, const char *said)
{
    char line[32], wanted[300] = "";
    of_case = body;
    captured c = capture_body(whole);
    if (said)
        snprintf(wanted, sizeof wanted, said, wrote);
    snprintf(line, sizeof line, "meanings.c:%d: warning: ", reads);
    const char *found = strstr(c.errors, ": warning: ");
    const bool once = found && !strstr(found + 1, ": warning: ") && strstr(c.errors, wanted) && strstr(c.errors, line);
    tc_ok(c.ok && (said ? once : !*c.errors), "%s: %s", name, said ? wanted : "nothing is said");
    if (!c.ok || (said ? !once : *c.errors))
        tc_note("got: %s", c.errors);
    captured_free(&c);
}

#define CHECK(name, said) check(#name, body_##name, said)

int main(void)
{
    CHECK(equal, NULL);
    CHECK(scale, "tc_quantized_rescale: .x is read with the scale 0.1 and the zero -128, and line %d wrote it with "
                 "0.25 and -128");
    CHECK(zero, "tc_quantized_rescale: .x is read with the scale 0.25 and the zero 0, and line %d wrote it with 0.25 "
                "and -128");
    CHECK(digits, "scale 0.58470297 and the zero 0, and line %d wrote it with 0.5847029 and 0");
    CHECK(views, "line %d wrote it with 0.25 and 0");
    CHECK(max_pool, "line %d wrote it with 0.25 and 0");
    CHECK(average, "line %d wrote it with 0.25 and 0");
    CHECK(limits, "line %d wrote it with 0.25 and 0");
    CHECK(concat, "line %d wrote it with 0.125 and 0");
    CHECK(concat_equal, NULL);
    CHECK(looked_up, "line %d wrote it with 0.25 and 0");
    CHECK(arithmetic, NULL);
    CHECK(wide, "line %d wrote it with 0.25 and 0");
    CHECK(conv, "tc_quantized_conv: .x is read with the scale 0.5 and the zero 1, and line %d wrote it with 0.5 and 0");
    CHECK(linear, "tc_quantized_linear: .x is read with the scale 0.5 and the zero 1, and line %d wrote it with 0.5 "
                  "and 0");
    CHECK(second, "tc_quantized_add: .b is read with the scale 0.125 and the zero 0, and line %d wrote it with 0.5 "
                  "and 0");
    CHECK(transposed, "tc_quantized_conv_transpose2d: .x is read with the scale 0.5 and the zero 1, and line %d wrote "
                      "it with 0.5 and 0");
    CHECK(matmul, "tc_quantized_matmul: .b is read with the scale 0.125 and the zero 0, and line %d wrote it with 0.5 "
                  "and 0");
    CHECK(hardswish, "line %d wrote it with 0.5 and 0");
    CHECK(sub, "line %d wrote it with 0.5 and 0");
    CHECK(add, "line %d wrote it with 0.5 and 0");
    CHECK(mean, "line %d wrote it with 0.5 and 0");
    CHECK(leaky, "line %d wrote it with 0.5 and 0");
    CHECK(softmax, "line %d wrote it with 0.00390625 and -128");
    CHECK(sigmoid, "line %d wrote it with 0.00390625 and 0");
    CHECK(logistic, "line %d wrote it with 3.0517578e-05 and 0");
    CHECK(tanh, "line %d wrote it with 0.0078125 and 0");
    CHECK(floats, "tc_dequantize: x is read with the scale 0.5 and the zero -7, and line %d wrote it with 0.5 and -8");
    CHECK(floats_equal, NULL);
    CHECK(floats_unknown, NULL);
    CHECK(qlinear, "tc_qlinear_conv: .x is read with the scale 0.25 and the zero 0, and line %d wrote it with 0.5 and "
                   "0");
    CHECK(input, "and line %d read it with 0.25 and 0");
    CHECK(parts_of_input, NULL);
    CHECK(table, "and line %d read it with 0.25 and 0");
    CHECK(constant, NULL);
    CHECK(block, "line %d wrote it with 0.25 and 0");
    return tc_done();
}
