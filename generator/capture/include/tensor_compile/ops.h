/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations. Each is a composition of the primitives of docs/graph.md; docs/numerics.md says what they compute to
 * the bit. "ATen" names PyTorch's operation of the same meaning.
 *
 * Operands. `x`, `a`, `b` are tensors; where the comment says `operand`, a C number may stand instead, and takes the
 * dtype of the tensor beside it. There are no implicit conversions between dtypes: use tc_cast. Operands of different
 * shapes broadcast as in NumPy: aligned at the last axis, a size of 1 repeats. Two dynamic sizes that are not known to
 * be equal become a guard; a dynamic size against a constant other than 1 is an error.
 *
 * Options of several axes (`.padding`, `.stride`, `.kernel`, `.scale`, …): one number without braces is every axis',
 * `.padding = 1`; in braces stands one for each, `.padding = {1, 0}`.
 *
 * "float" below is f32, f64, f16 or bf16; "number" a float or an integer (any but bool). Results have the operands'
 * dtype unless stated otherwise.
 */
#ifndef TENSOR_COMPILE_OPS_H
#define TENSOR_COMPILE_OPS_H

#include "model.h"

#include "ops/elementwise.h"
#include "ops/functions.h"
#include "ops/activations.h"
#include "ops/reductions.h"
#include "ops/contractions.h"
#include "ops/attention.h"
#include "ops/convolutions.h"
#include "ops/quantization.h"
#include "ops/quantized.h"
#include "ops/pooling.h"
#include "ops/normalization.h"
#include "ops/distances.h"
#include "ops/indexing.h"
#include "ops/selecting.h"
#include "ops/ordering.h"
#include "ops/views.h"
#include "ops/parts.h"
#include "ops/rearranging.h"
#include "ops/making.h"
#include "ops/resampling.h"
#include "ops/borders.h"
#include "ops/complex.h"
#include "ops/signal.h"
#include "ops/detection.h"
#include "ops/control.h"
#include "ops/externs.h"
#include "ops/recurrent.h"
#include "ops/recurrent_onnx.h"
#include "ops/losses.h"
#include "ops/training.h"
#include "ops/random.h"

#endif
