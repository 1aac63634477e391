# SPDX-License-Identifier: Apache-2.0
"""Numbers and names of the format, and the fields of the tables that hold an operation's options."""
from __future__ import annotations

IDENTIFIER = b"TFL3"
VERSION = 3

# Builtin operations: their numbers are their places here.
OPERATIONS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION
LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH
CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE
EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR
ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND
COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE
HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE
BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1
UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE
STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL
STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE
STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE
DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
STABLEHLO_CASE""".split()
CUSTOM = OPERATIONS.index("CUSTOM")

# Element types by their numbers; those without a dtype here have a word for messages.
TYPES = {0: "f32", 1: "f16", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 7: "i16", 9: "i8", 10: "f64", 12: "u64", 15: "u32",
         16: "u16", 18: "bf16"}
OTHERS = {5: "strings", 8: "complex64", 11: "complex128", 13: "resources", 14: "variants", 17: "int4", 19: "int2",
          20: "uint4"}

ACTIVATIONS = ("none", "relu", "relu_n1_to_1", "relu6", "tanh", "sign_bit")
PADDINGS = ("same", "valid")

# Options of an operation: name:kind in the order of the fields, =default where it is not 0; `-` is a field that is no
# longer
# used; *kind is a list, text a string.
_OPTIONS = {
    "CONV_2D": "padding:i8 stride_w:i32 stride_h:i32 activation:i8 dilation_w:i32=1 dilation_h:i32=1 bias_type:i8",
    "DEPTHWISE_CONV_2D": "padding:i8 stride_w:i32 stride_h:i32 multiplier:i32 activation:i8 dilation_w:i32=1 "
                         "dilation_h:i32=1",
    "TRANSPOSE_CONV": "padding:i8 stride_w:i32 stride_h:i32 activation:i8 bias_type:i8",
    "CONV_3D CONV_3D_TRANSPOSE": "padding:i8 stride_d:i32 stride_w:i32 stride_h:i32 activation:i8 dilation_d:i32=1 "
                                 "dilation_w:i32=1 dilation_h:i32=1",
    "LOCAL_RESPONSE_NORMALIZATION": "radius:i32 bias:f32 alpha:f32 beta:f32",
    "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D": "padding:i8 stride_w:i32 stride_h:i32 width:i32 height:i32 activation:i8",
    "FULLY_CONNECTED": "activation:i8 weights_format:i8 keep_num_dims:bool asymmetric:bool bias_type:i8",
    "BATCH_MATMUL": "adj_x:bool adj_y:bool asymmetric:bool",
    "SOFTMAX": "beta:f32",
    "CONCATENATION": "axis:i32 activation:i8",
    "ADD SUB": "activation:i8 pot_scale:bool=1",
    "MUL DIV L2_NORMALIZATION": "activation:i8",
    "RESHAPE": "new_shape:*i32",
    "SQUEEZE": "dims:*i32",
    "RESIZE_BILINEAR": "- - align_corners:bool half_pixel_centers:bool",
    "RESIZE_NEAREST_NEIGHBOR": "align_corners:bool half_pixel_centers:bool",
    "MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL": "keep_dims:bool",
    "SPLIT SPLIT_V": "count:i32",
    "STRIDED_SLICE": "begin_mask:i32 end_mask:i32 ellipsis_mask:i32 new_axis_mask:i32 shrink_axis_mask:i32 offset:bool",
    "PACK": "count:i32 axis:i32",
    "UNPACK": "count:i32 axis:i32",
    "GATHER": "axis:i32 batch_dims:i32",
    "ONE_HOT": "axis:i32",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "activation:i8 cell_clip:f32 proj_clip:f32 time_major:bool asymmetric:bool "
                                    "diagonal:bool",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "time_major:bool activation:i8 asymmetric:bool",
    "SVDF": "rank:i32 activation:i8 asymmetric:bool",
    "BUCKETIZE": "boundaries:*f32",
    "REVERSE_SEQUENCE": "time:i32 batch:i32",
    "LEAKY_RELU": "alpha:f32",
    "CAST": "from:i8 to:i8",
    "ARG_MAX ARG_MIN": "dtype:i8",
    "MIRROR_PAD": "mode:i8",
    "GELU": "approximate:bool",
    "SPACE_TO_DEPTH DEPTH_TO_SPACE": "block:i32",
    "CUMSUM": "exclusive:bool reverse:bool",
    "SHAPE": "dtype:i8",
    "VAR_HANDLE": "container:text shared_name:text",
    "CALL_ONCE": "graph:i32",
    "STABLEHLO_COMPOSITE": "name:text graph:i32 attributes:*u8 format:i8 version:i32",
    "WHILE": "test:i32 body:i32",
    "IF": "then:i32 other:i32",
}


def _fields(text: str) -> dict[str, tuple[int, str, float]]:
    found = {}
    for i, word in enumerate(text.split()):
        name, _, rest = word.partition(":")
        kind, _, default = rest.partition("=")
        found[name if kind else f"-{i}"] = (i, kind or "i32", float(default or 0))
    return found


# By operation and name: the field's number, its kind, its default.
OPTIONS = {name: _fields(text) for names, text in _OPTIONS.items() for name in names.split()}
