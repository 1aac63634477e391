/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations: functions of a float tensor, of its shape. What all operations share is said in ../ops.h. All of them
 * compute 16-bit floats in f32 and round their result alone.
 */
#ifndef TENSOR_COMPILE_OPS_ACTIVATIONS_H
#define TENSOR_COMPILE_OPS_ACTIVATIONS_H

#include "../model.h"

/* tc_relu(x), tc_relu6(x)
 * maximum(x, 0), and that limited to 6.
 * Dtypes: numbers.
 * Shape: that of x.
 * Numerics: exact; NaN stays.
 * ATen: relu, relu6.
 * ONNX: Relu, Clip. */
#define tc_relu(x) tc_relu_at(TC_HERE, x)
#define tc_relu6(x) tc_relu6_at(TC_HERE, x)
tc_tensor tc_relu_at(tc_site at, tc_tensor x);
tc_tensor tc_relu6_at(tc_site at, tc_tensor x);

/* tc_leaky_relu(x, slope), tc_prelu(x, slope), tc_rrelu(x, low, high)
 * x above 0, slope * x below: maximum(x, 0) + slope * minimum(x, 0). The slope of leaky_relu is a C number; that of
 * prelu a tensor of one element, or of one for each channel (axis 1 of x); that of rrelu the mean of two C numbers, as
 * where PyTorch does not train.
 * Dtypes: floats.
 * Shape: that of x.
 * Errors: prelu: a slope that is neither.
 * ATen: leaky_relu, prelu, rrelu with training=False.
 * ONNX: LeakyRelu, PRelu. */
#define tc_leaky_relu(x, slope) tc_leaky_relu_at(TC_HERE, x, slope)
#define tc_prelu(x, slope) tc_prelu_at(TC_HERE, x, slope)
#define tc_rrelu(x, low, high) tc_rrelu_at(TC_HERE, x, low, high)
tc_tensor tc_leaky_relu_at(tc_site at, tc_tensor x, double slope);
tc_tensor tc_prelu_at(tc_site at, tc_tensor x, tc_tensor slope);
tc_tensor tc_rrelu_at(tc_site at, tc_tensor x, double low, double high);

/* tc_elu(x, alpha), tc_celu(x, alpha), tc_selu(x)
 * maximum(x, 0) + alpha * expm1(minimum(x, 0)); celu divides by alpha inside expm1; selu is elu with alpha =
 * 1.6732632423543772 times 1.0507009873554805. alpha is a C number.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: elu, celu, selu.
 * ONNX: Elu, Celu, Selu. */
#define tc_elu(x, alpha) tc_elu_at(TC_HERE, x, alpha)
#define tc_celu(x, alpha) tc_celu_at(TC_HERE, x, alpha)
#define tc_selu(x) tc_selu_at(TC_HERE, x)
tc_tensor tc_elu_at(tc_site at, tc_tensor x, double alpha);
tc_tensor tc_celu_at(tc_site at, tc_tensor x, double alpha);
tc_tensor tc_selu_at(tc_site at, tc_tensor x);

/* tc_sigmoid(x), tc_silu(x)
 * 1 / (1 + exp(-x)), and x * sigmoid(x).
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: sigmoid, silu.
 * ONNX: Sigmoid, Swish. */
#define tc_sigmoid(x) tc_sigmoid_at(TC_HERE, x)
#define tc_silu(x) tc_silu_at(TC_HERE, x)
tc_tensor tc_sigmoid_at(tc_site at, tc_tensor x);
tc_tensor tc_silu_at(tc_site at, tc_tensor x);

/* tc_gelu(x), tc_gelu_tanh(x)
 * x/2 * (1 + erf(x * sqrt(1/2))), and x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))).
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: gelu, gelu with approximate='tanh'.
 * ONNX: Gelu. */
#define tc_gelu(x) tc_gelu_at(TC_HERE, x)
#define tc_gelu_tanh(x) tc_gelu_tanh_at(TC_HERE, x)
tc_tensor tc_gelu_at(tc_site at, tc_tensor x);
tc_tensor tc_gelu_tanh_at(tc_site at, tc_tensor x);

/* tc_hardtanh(x, low, high), tc_hardsigmoid(x), tc_hardswish(x)
 * x limited to low..high (C numbers); relu6(x + 3) / 6; and x * relu6(x + 3) / 6.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: hardtanh, hardsigmoid, hardswish.
 * ONNX: Clip, HardSigmoid with alpha=1/6, HardSwish. */
#define tc_hardtanh(x, low, high) tc_hardtanh_at(TC_HERE, x, low, high)
#define tc_hardsigmoid(x) tc_hardsigmoid_at(TC_HERE, x)
#define tc_hardswish(x) tc_hardswish_at(TC_HERE, x)
tc_tensor tc_hardtanh_at(tc_site at, tc_tensor x, double low, double high);
tc_tensor tc_hardsigmoid_at(tc_site at, tc_tensor x);
tc_tensor tc_hardswish_at(tc_site at, tc_tensor x);

/* tc_threshold(x, t, value), tc_hardshrink(x, l), tc_softshrink(x, l), tc_tanhshrink(x)
 * value where x is not above t, else x; 0 where abs(x) is not above l, else x; the same, moved by l to 0: x - l above,
 * x + l below; x - tanh(x). t, value and l are C numbers. NaN stays.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: threshold, hardshrink, softshrink, tanhshrink.
 * ONNX: ThresholdedRelu (with value = 0), Shrink. */
#define tc_threshold(x, t, value) tc_threshold_at(TC_HERE, x, t, value)
#define tc_hardshrink(x, l) tc_hardshrink_at(TC_HERE, x, l)
#define tc_softshrink(x, l) tc_softshrink_at(TC_HERE, x, l)
#define tc_tanhshrink(x) tc_tanhshrink_at(TC_HERE, x)
tc_tensor tc_threshold_at(tc_site at, tc_tensor x, double threshold, double value);
tc_tensor tc_hardshrink_at(tc_site at, tc_tensor x, double lambda);
tc_tensor tc_softshrink_at(tc_site at, tc_tensor x, double lambda);
tc_tensor tc_tanhshrink_at(tc_site at, tc_tensor x);

/* tc_softplus(x, .beta = 1, .threshold = 20), tc_logsigmoid(x), tc_mish(x), tc_softsign(x)
 * log(1 + exp(x)) as maximum(x, 0) + log1p(exp(-abs(x))), of beta * x and divided by beta, and x itself where beta * x
 * is above the threshold; minimum(x, 0) - log1p(exp(-abs(x))); x * tanh(softplus(x)); x / (1 + abs(x)). beta and
 * threshold left out or 0 are 1 and 20.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: softplus, log_sigmoid, mish, softsign.
 * ONNX: Softplus, none, Mish, Softsign. */
#define tc_softplus(...) tc_softplus_at(&(const tc_softplus_args){__VA_ARGS__, .at = TC_HERE})
#define tc_logsigmoid(x) tc_logsigmoid_at(TC_HERE, x)
#define tc_mish(x) tc_mish_at(TC_HERE, x)
#define tc_softsign(x) tc_softsign_at(TC_HERE, x)
typedef struct tc_softplus_args {
    tc_tensor x;
    double beta, threshold;
    tc_site at;
} tc_softplus_args;
tc_tensor tc_softplus_at(const tc_softplus_args *args);
tc_tensor tc_logsigmoid_at(tc_site at, tc_tensor x);
tc_tensor tc_mish_at(tc_site at, tc_tensor x);
tc_tensor tc_softsign_at(tc_site at, tc_tensor x);

/* tc_shrink(x, lambda, bias), tc_swish(x, alpha)
 * x + bias below -lambda, x - bias above lambda, else 0; and x * sigmoid(alpha * x). C numbers.
 * Dtypes: floats, of tc_shrink signed integers too.
 * Shape: that of x.
 * Numerics: f16 and bf16 in f32, rounded once.
 * ATen: none.
 * ONNX: Shrink, Swish. */
#define tc_shrink(x, lambda, bias) tc_shrink_at(TC_HERE, x, lambda, bias)
#define tc_swish(x, alpha) tc_swish_at(TC_HERE, x, alpha)
tc_tensor tc_shrink_at(tc_site at, tc_tensor x, double lambda, double bias);
tc_tensor tc_swish_at(tc_site at, tc_tensor x, double alpha);

/* tc_hardmax(x, axis)
 * 1 at the first largest element along the axis, else 0.
 * Dtypes: numbers.
 * Shape: that of x.
 * ATen: none.
 * ONNX: Hardmax. */
#define tc_hardmax(x, axis) tc_hardmax_at(TC_HERE, x, axis)
tc_tensor tc_hardmax_at(tc_site at, tc_tensor x, int axis);

/* tc_glu(x, axis)
 * The first half of x along the axis times the sigmoid of the second.
 * Dtypes: floats.
 * Shape: that of x with half the axis.
 * Errors: an axis whose size is odd.
 * ATen: glu. */
#define tc_glu(x, axis) tc_glu_at(TC_HERE, x, axis)
tc_tensor tc_glu_at(tc_site at, tc_tensor x, int axis);

/* tc_softmax(x, axis...), tc_log_softmax(x, axis...), tc_softmin(x, axis...)
 * exp(x - max) / sum over the named axes, all where none is named; log_softmax is (x - max) - log(sum); softmin is
 * softmax of -x. Where x is -inf alone, NaN.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: softmax, log_softmax, softmin (of one axis).
 * ONNX: Softmax, LogSoftmax. */
#define tc_softmax(...) tc_softmax_at(TC_HERE, TC_SOFTMAX, TC_HEAD(__VA_ARGS__, 0), TC_AXIS_LIST(__VA_ARGS__))
#define tc_log_softmax(...) tc_softmax_at(TC_HERE, TC_LOG_SOFTMAX, TC_HEAD(__VA_ARGS__, 0), TC_AXIS_LIST(__VA_ARGS__))
#define tc_softmin(...) tc_softmax_at(TC_HERE, TC_SOFTMIN, TC_HEAD(__VA_ARGS__, 0), TC_AXIS_LIST(__VA_ARGS__))
typedef enum tc_softmax_kind { TC_SOFTMAX, TC_LOG_SOFTMAX, TC_SOFTMIN } tc_softmax_kind;
tc_tensor tc_softmax_at(tc_site at, tc_softmax_kind kind, tc_tensor x, int count, const int *axes);

/* tc_softmax_where(x, where, axis...)
 * Softmax over the elements of x for which the predicate `where` is true, +0 at the others. What those hold, NaN too,
 * has no effect; where no element of a row is a term, all of it is +0. `where` broadcasts to x.
 * Dtypes: floats; where is bool.
 * Shape: that of x.
 * Numerics: max, exp(x - max), sum and division, of terms alone.
 * Errors: a predicate that does not broadcast to x.
 * ATen: none, masked.softmax of torch.masked in Python, which gives NaN for a row without terms. */
#define tc_softmax_where(x, ...)                                                                                       \
    tc_softmax_where_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_softmax_where_at(tc_site at, tc_tensor x, tc_tensor where, int count, const int *axes);

#endif
