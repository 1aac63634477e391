/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of convolutions, pooling, norms, products, resampling and the views made of others.
 */
#include <math.h>

#include "mistakes.h"

#define DYNAMIC tc_dim n = tc_dynamic(g, "n", 1, 9)

#define CASES(X)                                                                                                      \
    X(conv1d_rank, "tc_conv1d: needs two tensors of rank 3: f32[2,3] * f32[4,3,3]", AT;                               \
      tc_conv1d(F(2, 3), F(4, 3, 3)))                                                                                 \
    X(conv1d_stride, "tc_conv1d: stride is {-1}", AT; tc_conv1d(F(1, 1, 4), F(1, 1, 1), .stride = -1))                \
    X(conv3d_dilation, "tc_conv3d: dilation is {1, 0, 0}", AT;                                                        \
      tc_conv3d(F(1, 1, 4, 4, 4), F(1, 1, 1, 1, 1), .dilation = {1}))                                                 \
    X(conv_sides, "tc_conv2d: padding is {1, 1}, low {0, 2} and high {0, 0}", AT;                                     \
      tc_conv2d(F(1, 1, 4, 4), F(1, 1, 1, 1), .padding = {1, 1}, .low = {0, 2}))                                      \
    X(conv_low, "tc_conv2d: low is {-1, 0}", AT; tc_conv2d(F(1, 1, 4, 4), F(1, 1, 1, 1), .low = {-1}))                \
    X(conv_high, "tc_conv2d: high is {0, -1}", AT; tc_conv2d(F(1, 1, 4, 4), F(1, 1, 1, 1), .high = {0, -1}))          \
    X(conv_groups, "tc_conv2d: groups is -1", AT; tc_conv2d(F(1, 1, 4, 4), F(1, 1, 1, 1), .groups = -1))              \
    X(conv_same, "tc_conv2d: same beside padding: low {0, 1} and high {0, 0}", AT;                                    \
      tc_conv2d(F(1, 1, 4, 4), F(1, 1, 3, 3), .low = {0, 1}, .same = TC_SAME))                                        \
    X(conv_same_dynamic, "tc_conv1d: the window must have constant sizes: f32[1,1,n]", DYNAMIC; AT;                   \
      tc_conv1d(F(1, 1, 20), F(1, 1, n), .same = TC_SAME))                                                            \
    X(conv_same_stride, "tc_conv1d: same for a dynamic size n, windows of 2 every 3", DYNAMIC; AT;                    \
      tc_conv1d(F(1, 1, n), F(1, 1, 2), .stride = 3, .same = TC_SAME))                                                \
    X(conv_same_far, "tc_conv1d: 2147483648 elements of padding are more than 2147483647", AT;                        \
      tc_conv1d(F(1, 1, 4), F(1, 1, 5), .dilation = 1 << 30, .same = TC_SAME))                                        \
    X(transpose_groups, "tc_conv_transpose1d: groups is -2", AT;                                                      \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 2), .groups = -2))                                                      \
    X(transpose_rank, "tc_conv_transpose1d: needs two tensors of rank 3: f32[3,4] * f32[3,1,2]", AT;                  \
      tc_conv_transpose1d(F(3, 4), F(3, 1, 2)))                                                                       \
    X(transpose_split, "tc_conv_transpose1d: f32[3,1,2] with groups = 2", AT;                                         \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 2), .groups = 2))                                                       \
    X(transpose_channels, "tc_conv_transpose1d: input channels differ: f32[1,4,4] * f32[3,1,2]", AT;                  \
      tc_conv_transpose1d(F(1, 4, 4), F(3, 1, 2)))                                                                    \
    X(transpose_output, "tc_conv_transpose1d: output_padding 2 is not below the stride or the dilation", AT;          \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 2), .stride = 2, .output_padding = 2))                                  \
    X(transpose_phases, "tc_conv_transpose2d: stride {65536, 65536} has more than 4096 phases", AT;                   \
                    AT;                                                                                               \
      tc_conv_transpose2d(F(1, 3, 4, 4), F(3, 1, 2, 2), .stride = {65536, 65536}))                                    \
    X(transpose_far, "tc_conv_transpose1d: 8589934588 elements of padding are more than 2147483647", AT;              \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 5), .dilation = 2147483647))                                            \
    X(transpose_negative, "tc_conv_transpose1d: output_padding is {-1}", AT;                                          \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 2), .stride = 2, .output_padding = -1))                                 \
    X(transpose_empty, "tc_conv_transpose1d: axis 2 of the result would have the size 0", AT;                         \
      tc_conv_transpose1d(F(1, 3, 1), F(3, 1, 2), .padding = 1))                                                      \
    X(transpose_bias, "tc_conv_transpose1d: the bias is f32[2] for 1 outputs", AT;                                    \
      tc_conv_transpose1d(F(1, 3, 4), F(3, 1, 2), F(2)))                                                              \
    X(pool3d_rank, "tc_max_pool3d: needs rank 5, not f32[4,4]", AT; tc_max_pool3d(F(4, 4), .kernel = {2, 2, 2}))      \
    X(pool1d_kernel, "tc_avg_pool1d: kernel is {0}", AT; tc_avg_pool1d(F(1, 1, 4)))                                   \
    X(pool_options, "tc_max_pool1d: .exclude_padding, .divisor and .norm are options of other poolings", AT;          \
      tc_max_pool1d(F(1, 1, 4), .kernel = 2, .divisor = 3))                                                           \
    X(pool_divisor, "tc_avg_pool1d: divisor is negative", AT; tc_avg_pool1d(F(1, 1, 4), .kernel = 2, .divisor = -3))  \
    X(pool_indices, "tc_avg_pool1d: .indices are those of a maximum", tc_tensor i; AT;                                \
      tc_avg_pool1d(F(1, 1, 4), .kernel = 2, .indices = &i))                                                          \
    X(pool_norm, "tc_avg_pool1d: .norm is an option of tc_lp_pool", AT;                                               \
      tc_avg_pool1d(F(1, 1, 4), .kernel = 2, .norm = 2))                                                              \
    X(pool_dtype, "tc_avg_pool1d: needs floats, not i32[1,1,4]", AT; tc_avg_pool1d(IN(TC_I32, 1, 1, 4), .kernel = 2)) \
    X(pool_same, "tc_max_pool1d: same beside padding: low {1} and high {1}", AT;                                      \
      tc_max_pool1d(F(1, 1, 4), .kernel = 2, .padding = 1, .same = TC_SAME))                                          \
    X(pool_same_ceil, "tc_max_pool1d: .same and .ceil_mode: both make the number of windows", AT;                     \
      tc_max_pool1d(F(1, 1, 4), .kernel = 2, .same = TC_SAME, .ceil_mode = true))                                     \
    X(pool_same_dynamic, "tc_max_pool1d: the padding of .same depends on the size n", DYNAMIC; AT;                    \
      tc_max_pool1d(F(1, 1, n), .kernel = 3, .stride = 2, .same = TC_SAME))                                           \
    X(pool_far, "tc_max_pool1d: 2147483648 elements of padding are more than 2147483647", AT;                         \
      tc_max_pool1d(F(1, 1, 4), .kernel = 4, .padding = 2, .stride = 2147483647, .dilation = 1 << 30,                 \
                    .ceil_mode = true))                                                                               \
    X(unpool_shape, "tc_max_unpool1d: the indices of f32[1,1,4] are i64[1,1,3]", AT;                                  \
      tc_max_unpool1d(F(1, 1, 4), IN(TC_I64, 1, 1, 3), .kernel = 2))                                                  \
    X(unpool_kernel, "tc_max_unpool1d: kernel is {0}", AT;                                                            \
      tc_max_unpool1d(F(1, 1, 4), IN(TC_I64, 1, 1, 4)))                                                               \
    X(unpool_sizes, "tc_max_unpool2d: 3 sizes for f32[1,1,4,4]", AT;                                                  \
      tc_max_unpool2d(F(1, 1, 4, 4), IN(TC_I64, 1, 1, 4, 4), TC_SIZES(8, 8, 8)))                                      \
    X(unpool_empty, "tc_max_unpool1d: axis 2 of the result would have the size 0", AT;                                \
      tc_max_unpool1d(F(1, 1, 1), IN(TC_I64, 1, 1, 1), .kernel = 2, .padding = 1))                                    \
    X(conv_dtypes, "tc_conv1d: dtypes differ: f32[1,1,4] and f16[1]", AT;                                             \
      tc_conv1d(F(1, 1, 4), F(1, 1, 1), IN(TC_F16, 1)))                                                               \
    X(lp_norm, "tc_lp_pool1d: the norm is 0, and .exclude_padding and .divisor have no meaning here", AT;             \
      tc_lp_pool1d(F(1, 1, 4), .kernel = 2))                                                                          \
    X(adaptive_rank, "tc_adaptive_avg_pool2d: needs rank 4, not f32[1,4,4]", AT;                                      \
      tc_adaptive_avg_pool2d(F(1, 4, 4), 2, 2))                                                                       \
    X(adaptive_dtype, "tc_adaptive_avg_pool1d: needs floats, not i64[1,4,4]", AT;                                     \
      tc_adaptive_avg_pool1d(IN(TC_I64, 1, 4, 4), 2))                                                                 \
    X(adaptive_size, "tc_adaptive_max_pool1d: axis 2 of f32[1,4,4] to the size 0", AT;                                \
      tc_adaptive_max_pool1d(F(1, 4, 4), 0))                                                                          \
    X(global_rank, "tc_global_avg_pool: needs rank 3 or more, not f32[1,4]", AT; tc_global_avg_pool(F(1, 4)))         \
    X(group_channels, "tc_group_norm: 6 channels in 4 groups", AT; tc_group_norm(F(2, 6, 3), .groups = 4))            \
    X(group_rank, "tc_group_norm: x needs a channel axis: f32[6]", AT; tc_group_norm(F(6), .groups = 2))                \
    X(group_weight, "tc_group_norm: weight is f32[3], axis 1 of x f32[2,6]", AT;                                      \
      tc_group_norm(F(2, 6), F(3), .groups = 2))                                                                      \
    X(group_bias, "tc_group_norm: bias is f32[3], axis 1 of x f32[2,6]", AT;                                          \
      tc_group_norm(F(2, 6), F(6), F(3), .groups = 2))                                                                \
    X(group_dtype, "tc_group_norm: needs floats, not i32[2,6]", AT; tc_group_norm(IN(TC_I32, 2, 6), .groups = 2))     \
    X(instance_groups, "tc_instance_norm: .groups is an option of tc_group_norm", AT;                                 \
      tc_instance_norm(F(2, 6, 3), .groups = 2))                                                                      \
    X(instance_rank, "tc_instance_norm: needs rank 3 or more, not f32[2,6]", AT; tc_instance_norm(F(2, 6)))           \
    X(response_size, "tc_local_response_norm: size 0 along axis 1 of f32[2,6]", AT;                                   \
      tc_local_response_norm(F(2, 6)))                                                                                \
    X(norm_p, "tc_norm: p is NaN", AT; tc_norm(F(3), NAN))                                                            \
    X(cosine_axis, "tc_cosine_similarity: axis 2 is outside", AT; tc_cosine_similarity(F(2, 3), F(3), 2, 1e-8))       \
    X(cdist_rank, "tc_cdist: no rows: f32[3] and f32[2,3]", AT; tc_cdist(F(3), F(2, 3), 2))                           \
    X(cdist_rows, "tc_cdist: the rows differ: f32[2,4] and f32[2,3]", AT; tc_cdist(F(2, 4), F(2, 3), 2))              \
    X(mm_rank, "tc_mm: needs ranks 2 and 2: f32[3] and f32[3,2]", AT; tc_mm(F(3), F(3, 2)))                           \
    X(bmm_inner, "tc_bmm: inner dimensions differ: f32[2,3,4] x f32[2,3,4]", AT; tc_bmm(F(2, 3, 4), F(2, 3, 4)))      \
    X(addmm_rank, "tc_addmm: needs ranks 2 and 2: f32[3] and f32[3,2]", AT; tc_addmm(F(2), F(3), F(3, 2)))            \
    X(outer_rank, "tc_outer: needs ranks 1 and 1: f32[3,1] and f32[3]", AT; tc_outer(F(3, 1), F(3)))                  \
    X(tensordot_count, "tc_tensordot: 2 axes of a and 1 of b", AT;                                                    \
      tc_tensordot(F(2, 3), F(3, 2), TC_AXES(0, 1), TC_AXES(0)))                                                      \
    X(tensordot_twice, "tc_tensordot: axis -1 is named twice", AT;                                                    \
      tc_tensordot(F(2, 3), F(3, 2), TC_AXES(1, -1), TC_AXES(0, 1)))                                                  \
    X(bilinear, "tc_bilinear: ranks do not fit: f32[2,3], f32[2,4], f32[3,4]", AT;                                    \
      tc_bilinear(F(2, 3), F(2, 4), F(3, 4)))                                                                         \
    X(einsum_null, "tc_einsum: the equation is NULL", AT; tc_einsum(NULL, F(2)))                                      \
    X(einsum_character, "tc_einsum: \"i1->i\": unexpected '1'", AT; tc_einsum("i1->i", F(2)))                         \
    X(einsum_dots, "tc_einsum: \"......->\": two ellipses in one list", AT; tc_einsum("......->", F(2)))              \
    X(einsum_rank, "tc_einsum: \"ij->i\": 2 labels for f32[2]", AT; tc_einsum("ij->i", F(2)))                         \
    X(einsum_fewer, "tc_einsum: \"i->i\": fewer lists than the 2 operands", AT; tc_einsum("i->i", F(2), F(2)))        \
    X(einsum_more, "tc_einsum: \"i,i->i\": more lists than the 1 operand", AT; tc_einsum("i,i->i", F(2)))             \
    X(einsum_arrow, "tc_einsum: \"i-i\": an arrow is missing", AT; tc_einsum("i-i", F(2)))                            \
    X(einsum_results, "tc_einsum: \"i->i,i\": more than one result", AT; tc_einsum("i->i,i", F(2)))                   \
    X(einsum_unknown, "tc_einsum: \"i->j\": a label of the result is in no operand", AT; tc_einsum("i->j", F(2)))     \
    X(einsum_twice, "tc_einsum: \"i->ii\": a label occurs twice in the result", AT; tc_einsum("i->ii", F(2)))         \
    X(einsum_sizes, "tc_einsum: \"i,i->\": sizes of one label differ: f32[2] and f32[3]", AT;                         \
      tc_einsum("i,i->", F(2), F(3)))                                                                                 \
    X(einsum_diagonal, "tc_einsum: \"ii->i\": axes 0 and 1 of f32[2,3] differ", AT; tc_einsum("ii->i", F(2, 3)))      \
    X(einsum_result, "tc_einsum: \"abcde,fghij\": too many dims in the result", AT;                                   \
      tc_einsum("abcde,fghij", F(1, 1, 1, 1, 1), F(1, 1, 1, 1, 1)))                                                   \
    X(einsum_wide, "tc_einsum: \"abcde,fghij,abcdefgh->i\": an intermediate result has too many dims", AT;            \
      tc_einsum("abcde,fghij,abcdefgh->i", F(1, 1, 1, 1, 1), F(1, 1, 1, 1, 1), F(1, 1, 1, 1, 1, 1, 1, 1)))            \
    X(einsum_dims, "tc_einsum: \"abcdefghi\": too many dims in one list", AT; tc_einsum("abcdefghi", F(1)))           \
    X(squeeze_size, "tc_squeeze_axes: axis 1 of f32[1,2] has not the size 1", AT; tc_squeeze_axes(F(1, 2), 0, 1))     \
    X(squeeze_twice, "tc_squeeze_axes: axis -2 is named twice", AT; tc_squeeze_axes(F(1, 2), 0, -2))                  \
    X(flatten_order, "tc_flatten_range: axis 0 lies before axis 1", AT; tc_flatten_range(F(1, 2), 1, 0))              \
    X(unflatten, "tc_unflatten: the sizes multiply to 4, not to axis 0 of f32[6]", AT; tc_unflatten(F(6), 0, 2, 2))   \
    X(unflatten_rank, "tc_unflatten: the result has more than 8 dims", AT;                                            \
      tc_unflatten(F(6), 0, 1, 1, 1, 1, 1, 1, 1, 1, 6))                                                               \
    X(movedim, "tc_movedim: axis 2 is outside", AT; tc_movedim(F(1, 2), 0, 2))                                        \
    X(expand_as, "tc_expand_as: f32[3] does not expand to 4 in dim 0", AT; tc_expand_as(F(3), F(4)))                  \
    X(reshape_as, "tc_reshape_as: f32[3] has 3 elements, f32[4] has 4", AT; tc_reshape_as(F(3), F(4)))                \
    X(narrow, "tc_narrow: 1..4 is not inside axis 0 of f32[3]", AT; tc_narrow(F(3), 0, 1, 3))                         \
    X(chunk_dynamic, "tc_chunk: axis 0 of f32[n] is not constant", DYNAMIC; tc_tensor p[2]; AT;                       \
      tc_chunk(F(n), 0, 2, p))                                                                                        \
    X(chunk_count, "tc_chunk: the number of parts is 0", tc_tensor p[1]; AT; tc_chunk(F(4), 0, 0, p))                 \
    X(every_size, "tc_split_every: the size is 0", tc_tensor p[1]; AT; tc_split_every(F(4), 0, 0, 1, p))             \
    X(every_most, "tc_split_every: 4 parts of 1 do not fit an array of 2", tc_tensor p[2]; AT;                        \
      tc_split_every(F(4), 0, 1, 2, p))                                                                               \
    X(sliding, "tc_sliding: windows of 5 every 1 along axis 0 of f32[4]", AT; tc_sliding(F(4), 0, 5, 1))              \
    X(shuffle, "tc_pixel_shuffle: the channels of f32[3,2,2] are no multiple of the square of 2", AT;                 \
      tc_pixel_shuffle(F(3, 2, 2), 2))                                                                                \
    X(unshuffle, "tc_pixel_unshuffle: height and width of f32[3,2,3] are no multiples of 2", AT;                      \
      tc_pixel_unshuffle(F(3, 2, 3), 2))                                                                              \
    X(shuffle_factor, "tc_pixel_shuffle: a factor of 0 for f32[4,2,2]", AT; tc_pixel_shuffle(F(4, 2, 2), 0))          \
    X(channels, "tc_channel_shuffle: 3 groups of the channels of f32[1,4]", AT; tc_channel_shuffle(F(1, 4), 3))       \
    X(reflect, "tc_pad_reflect: padding of 0 and 3 along axis 0 of f32[3]", AT; tc_pad_reflect(F(3), .high = {3}))    \
    X(circular, "tc_pad_circular: padding of 4 and 0 along axis 0 of f32[3]", AT; tc_pad_circular(F(3), .low = {4}))  \
    X(replicate, "tc_pad_replicate: negative padding of axis 0: -1 and 0", AT; tc_pad_replicate(F(3), .low = {-1}))   \
    X(border_value, "tc_pad_reflect: .value is an option of tc_pad", AT; tc_pad_reflect(F(3), .value = 1))            \
    X(border_rank, "tc_pad_reflect: padding of axis 1 of f32[3]", AT; tc_pad_reflect(F(3), .low = {0, 1}))            \
    X(unfold_rank, "tc_unfold: needs rank 4, not f32[3]", AT; tc_unfold(F(3), .kernel = {1, 1}))                      \
    X(unfold_kernel, "tc_unfold: kernel is {0, 0}", AT; tc_unfold(F(1, 1, 3, 3)))                                     \
    X(unfold_window, "tc_unfold: a window of 4 does not fit a size of 3, padded by 0", AT;                            \
      tc_unfold(F(1, 1, 3, 3), .kernel = {2, 4}))                                                                     \
    X(fold_rank, "tc_fold: needs rank 3, not f32[3]", AT; tc_fold(F(3), 2, 2, .kernel = {1, 1}))                      \
    X(fold_columns, "tc_fold: f32[1,4,3] holds no columns of 4 windows of 4 elements", AT;                            \
      tc_fold(F(1, 4, 3), 3, 3, .kernel = {2, 2}))                                                                    \
    X(resample_rank, "tc_interpolate: cannot resample f32[2,3]", AT; tc_interpolate(F(2, 3), .scale = {2}))           \
    X(resample_mode, "tc_interpolate: 7 is no mode", AT;                                                              \
      tc_interpolate(F(1, 1, 3), .mode = (tc_interpolation)7, .scale = {2}))                                          \
    X(resample_corners, "tc_interpolate: align_corners has no meaning for this mode", AT;                             \
      tc_interpolate(F(1, 1, 3), .scale = {2}, .align_corners = true))                                                \
    X(resample_antialias, "tc_interpolate: antialias has no meaning for this mode", AT;                               \
      tc_interpolate(F(1, 1, 3), .mode = TC_AREA, .scale = {2}, .antialias = true))                                   \
    X(resample_both, "tc_interpolate: antialias with align_corners for the sizes n and 3", DYNAMIC; AT;               \
      tc_interpolate(F(1, 1, n), .mode = TC_LINEAR, TC_SIZES(3), .antialias = true, .align_corners = true))           \
    X(resample_dtype, "tc_interpolate: needs floats, not i32[1,1,3]", AT;                                             \
      tc_interpolate(IN(TC_I32, 1, 1, 3), .mode = TC_LINEAR, .scale = {2}))                                           \
    X(resample_sizes, "tc_interpolate: 3 sizes for f32[1,1,3,3]", AT;                                                \
      tc_interpolate(F(1, 1, 3, 3), TC_SIZES(3, 3, 3)))                                                               \
    X(each_short, "tc_conv2d: stride is {2, 0}", AT; tc_conv2d(F(1, 1, 4, 8), F(1, 1, 1, 1), .stride = {2}))          \
    X(each_negative, "tc_conv2d: padding is {-1, -1}", AT; tc_conv2d(F(1, 1, 4, 8), F(1, 1, 1, 1), .padding = -1))    \
    X(each_kernel, "tc_max_pool2d: kernel is {0, 0}", AT; tc_max_pool2d(F(1, 1, 4, 8), .stride = 2))                  \
    X(each_scale_short, "tc_interpolate: scale 1 is 0", AT; tc_interpolate(F(1, 1, 3, 3), .scale = {2}))              \
    X(resample_none, "tc_interpolate: neither sizes nor scales: 0 for f32[1,1,3]", AT; tc_interpolate(F(1, 1, 3)))    \
    X(resample_scale, "tc_interpolate: scale 1 is -1", AT; tc_interpolate(F(1, 1, 3, 3), .scale = {2, -1}))           \
    X(resample_zero, "tc_interpolate: axis 2 of f32[1,1,3] cannot get the size 0", AT;                                \
      tc_interpolate(F(1, 1, 3), TC_SIZES(0)))                                                                        \
    X(resample_dynamic, "tc_interpolate: axis 2 of f32[1,1,n] cannot get the size times 1.2345", DYNAMIC; AT;         \
      tc_interpolate(F(1, 1, n), .scale = {1.2345}))                                                                  \
    X(resize_mode, "tc_resize: 4 is no mode of it", AT; tc_resize(F(1, 3), .mode = TC_AREA, .scale = {1, 2}))         \
    X(resize_places, "tc_resize: .places is 9, .rounding 0", AT;                                                      \
      tc_resize(F(1, 3), .places = (tc_resize_places)9, .scale = {1, 2}))                                             \
    X(resize_option, "tc_resize: exclude_outside has no meaning for this mode", AT;                                   \
      tc_resize(F(1, 3), .mode = TC_NEAREST, .exclude_outside = true, .scale = {1, 2}))                               \
    X(resize_sizes, "tc_resize: 1 sizes for 2 axes", AT; tc_resize(F(1, 3), TC_SIZES(3)))                             \
    X(resize_roi, "tc_resize: the roi of 1 axes is f32[3]", tc_tensor roi = F(3); AT;                                 \
      tc_resize(F(1, 3), TC_RESIZE_AXES(1), TC_SIZES(3), .places = TC_CROP, .roi = roi))                              \
    X(resize_scale, "tc_resize: scale 1 is 0", AT; tc_resize(F(1, 3), .scale = {1}))                                  \
    X(resize_empty, "tc_resize: axis 0 of f32[0] cannot get the size 2", AT; tc_resize(F(0), TC_SIZES(2)))            \
    X(resize_dynamic, "tc_resize: axis 0 of f32[n] cannot get the size times 1.2345", DYNAMIC; AT;                    \
      tc_resize(F(n), .scale = {1.2345}))                                                                             \
    X(resize_axes, "tc_resize: 2 axes of f32[3]", AT; tc_resize(F(3), TC_RESIZE_AXES(0, 0), .scale = {2, 2}))         \
    X(resize_twice, "tc_resize: axis -1 is named twice", AT;                                                          \
      tc_resize(F(3, 3), TC_RESIZE_AXES(1, -1), .scale = {2, 2}))                                                     \
    X(grid_shape, "tc_grid_sample: shapes do not fit: f32[1,1,3,3] at f32[1,2,2,3]", AT;                              \
      tc_grid_sample(F(1, 1, 3, 3), F(1, 2, 2, 3)))                                                                   \
    X(grid_dtype, "tc_grid_sample: needs floats of one dtype: i32[1,1,3,3] at f32[1,2,2,2]", AT;                      \
      tc_grid_sample(IN(TC_I32, 1, 1, 3, 3), F(1, 2, 2, 2)))                                                          \
    X(grid_modes, "tc_grid_sample: both .nearest and .cubic", AT;                                                     \
      tc_grid_sample(F(1, 1, 3, 3), F(1, 2, 2, 2), .nearest = true, .cubic = true))                                   \
    X(grid_cubic, "tc_grid_sample: .cubic samples images, not volumes", AT;                                           \
      tc_grid_sample(F(1, 1, 3, 3, 3), F(1, 2, 2, 2, 3), .cubic = true))                                              \
    X(affine_shape, "tc_affine_grid: f32[1,2,3] for 3 sizes", AT;                                                     \
      tc_affine_grid(F(1, 2, 3), TC_SIZES(2, 2, 2)))                                                                  \
    X(affine_dtype, "tc_affine_grid: needs floats, not i32[1,2,3]", AT;                                               \
      tc_affine_grid(IN(TC_I32, 1, 2, 3), TC_SIZES(2, 2)))                                                            \
    X(affine_size, "tc_affine_grid: size 1 is 0", AT;                                                                 \
      tc_affine_grid(F(1, 2, 3), TC_SIZES(2, 0)))                                                                     \
    X(grid_empty, "tc_grid_sample: the image is empty: f32[1,1,0,3]", AT;                                             \
      tc_grid_sample(F(1, 1, 0, 3), F(1, 2, 2, 2)))

MISTAKES(CASES)
