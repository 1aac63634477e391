/* SPDX-License-Identifier: Apache-2.0
 *
 * Which dtypes the options of convolutions, pooling, resampling and borders take, and that results have the dtype.
 */
#include "harness.h"
#include "tap.h"

static tc_dtype dtype; /* of the operands of the body under capture */

#define X(name, ...) tc_input(g, name, dtype, __VA_ARGS__)
#define LINE X("x", 2, 4, 9)
#define IMAGE X("x", 2, 4, 9, 7)
#define VOLUME X("x", 2, 4, 5, 6, 7)

/* name, dtypes (FLOATS, NUMBERS, ALL), expression */
#define CASES                                                                                                         \
    T(conv1d, NUMBERS, tc_conv1d(LINE, X("w", 3, 4, 2)))                                                              \
    T(conv2d, NUMBERS, tc_conv2d(IMAGE, X("w", 6, 2, 3, 3), X("b", 6), .groups = 2))                          \
    T(conv3d, NUMBERS, tc_conv3d(VOLUME, X("w", 3, 4, 3, 3, 3), X("b", 3)))                                           \
    T(conv_same, NUMBERS, tc_conv2d(IMAGE, X("w", 3, 4, 3, 3), .stride = {2, 2}, .same = TC_SAME))                    \
    T(conv_transpose1d, NUMBERS, tc_conv_transpose1d(LINE, X("w", 4, 3, 2), .stride = 2))                             \
    T(conv_transpose2d, NUMBERS, tc_conv_transpose2d(IMAGE, X("w", 4, 3, 3, 3), X("b", 3), .stride = {2, 2}))         \
    T(conv_transpose3d, NUMBERS, tc_conv_transpose3d(VOLUME, X("w", 4, 3, 2, 2, 2), X("b", 3)))                       \
    T(unfold, ALL, tc_unfold(IMAGE, .kernel = {3, 2}))                                                                \
    T(fold, NUMBERS, tc_fold(X("x", 2, 12, 12), 4, 5, .kernel = {2, 2}))                                              \
    T(max_pool1d, NUMBERS, tc_max_pool1d(LINE, .kernel = 2))                                                          \
    T(max_pool3d, NUMBERS, tc_max_pool3d(VOLUME, .kernel = {2, 2, 2}))                                                \
    T(max_pool_indices, NUMBERS, tc_max_pool2d(IMAGE, .kernel = {2, 2}, .indices = &(tc_tensor){NULL}))               \
    T(avg_pool1d, FLOATS, tc_avg_pool1d(LINE, .kernel = 2))                                                           \
    T(avg_pool2d, FLOATS, tc_avg_pool2d(IMAGE, .kernel = {3, 3}, .padding = {1, 1}, .exclude_padding = true))         \
    T(avg_pool3d, FLOATS, tc_avg_pool3d(VOLUME, .kernel = {2, 2, 2}, .ceil_mode = true))                              \
    T(lp_pool2d, FLOATS, tc_lp_pool2d(IMAGE, .kernel = {2, 2}, .norm = 2))                                            \
    T(lp_pool_power, FLOATS, tc_lp_pool1d(LINE, .kernel = 2, .norm = 1.7))                                            \
    T(adaptive_avg_one, FLOATS, tc_adaptive_avg_pool2d(IMAGE, 1, 1))                                                  \
    T(adaptive_avg_even, FLOATS, tc_adaptive_avg_pool2d(IMAGE, 3, -1))                                                \
    T(adaptive_avg, FLOATS, tc_adaptive_avg_pool3d(VOLUME, 3, 4, 5))                                                  \
    T(adaptive_max, NUMBERS, tc_adaptive_max_pool2d(IMAGE, 4, 5))                                                     \
    T(adaptive_max_even, NUMBERS, tc_adaptive_max_pool2d(IMAGE, 3, 7))                                                \
    T(adaptive_max_indices, NUMBERS, tc_adaptive_max_pool2d(IMAGE, 4, 5, &(tc_tensor){NULL}))                         \
    T(max_unpool, ALL, tc_max_unpool1d(LINE, tc_input(g, "i", TC_I32, 2, 4, 9), .kernel = 2))                         \
    T(global_avg, FLOATS, tc_global_avg_pool(IMAGE))                                                                  \
    T(global_max, NUMBERS, tc_global_max_pool(IMAGE))                                                                 \
    T(nearest, ALL, tc_interpolate(IMAGE, .mode = TC_NEAREST, .scale = {2, 3}))                                       \
    T(nearest_sizes, ALL, tc_interpolate(IMAGE, .mode = TC_NEAREST_EXACT, TC_SIZES(5, 5)))                            \
    T(linear, FLOATS, tc_interpolate(VOLUME, .mode = TC_LINEAR, .scale = {2, 2, 1.5}))                                \
    T(corners, FLOATS, tc_interpolate(IMAGE, .mode = TC_LINEAR, TC_SIZES(4, 1), .align_corners = true))               \
    T(cubic, FLOATS, tc_interpolate(IMAGE, .mode = TC_CUBIC, TC_SIZES(4, 9)))                                         \
    T(antialias, FLOATS, tc_interpolate(IMAGE, .mode = TC_CUBIC, TC_SIZES(4, 9), .antialias = true))                  \
    T(area, FLOATS, tc_interpolate(IMAGE, .mode = TC_AREA, TC_SIZES(4, 9)))                                           \
    T(roi_pool, FLOATS, tc_roi_pool(IMAGE, X("r", 3, 5), 2, 2, 1))                                                    \
    T(deform, FLOATS, tc_deform_conv2d(IMAGE, X("w", 2, 4, 2, 2), X("o", 2, 8, 8, 6), X("bias", 2)))                      \
    T(dft, FLOATS, tc_dft(X("x", 7, 2)))                                                                              \
    T(stft, FLOATS, tc_stft(X("x", 1, 20, 1), .step = 2, .window = X("w", 8)))                                        \
    T(window, NUMBERS, tc_blackman_window(g, dtype, 7, true))                                                         \
    T(mel, NUMBERS, tc_mel_weights(g, dtype, 4, 16, 8000, 0, 4000))                                                   \
    T(resize_nearest, ALL, tc_resize(IMAGE, .mode = TC_NEAREST, TC_RESIZE_AXES(1, 3), .scale = {2, 0.6}))                \
    T(resize_linear, FLOATS, tc_resize(IMAGE, .mode = TC_LINEAR, .places = TC_CROP, TC_RESIZE_AXES(3), TC_SIZES(4)))      \
    T(resize_cubic, FLOATS, tc_resize(IMAGE, .mode = TC_CUBIC, .antialias = true, TC_RESIZE_AXES(2), .scale = {0.6}))     \
    T(grid, FLOATS, tc_grid_sample(IMAGE, X("grid", 2, 3, 5, 2), .padding = TC_GRID_REFLECTION))                      \
    T(grid_nearest, FLOATS, tc_grid_sample(IMAGE, X("grid", 2, 3, 5, 2), .nearest = true))                            \
    T(grid_cubic, FLOATS, tc_grid_sample(IMAGE, X("grid", 2, 3, 5, 2), .cubic = true, .align_corners = true))         \
    T(grid_volume, FLOATS, tc_grid_sample(VOLUME, X("grid", 2, 3, 5, 2, 3)))                                          \
    T(affine, FLOATS, tc_affine_grid(X("theta", 2, 2, 3), TC_SIZES(4, 5)))                                            \
    T(reflect, ALL, tc_pad_reflect(IMAGE, .low = {0, 0, 3, 2}))                                                       \
    T(replicate, ALL, tc_pad_replicate(IMAGE, .high = {0, 0, 3, 2}))                                                  \
    T(circular, ALL, tc_pad_circular(IMAGE, .low = {0, 0, 3, 2}))

#define T(name, kinds, ...)                                                                                           \
    static void body_##name(tc_graph *g)                                                                              \
    {                                                                                                                 \
        tc_output(g, "y", __VA_ARGS__);                                                                               \
    }
CASES
#undef T

typedef enum kinds { FLOATS, NUMBERS, ALL } kinds;

static bool takes(kinds kinds, tc_dtype type)
{
    return kinds == ALL || (kinds == NUMBERS ? type != TC_BOOL : tc_dtype_is_float(type));
}

/* Whether `return "y"` names a value of the dtype. */
static bool gives(const char *text, const char *name)
{
    const char *result = strstr(text, "return \"y\" %");
    char define[32], type[32];
    snprintf(define, sizeof define, "\n  %%%d ", result ? atoi(result + 12) : -1);
    snprintf(type, sizeof type, " : %s[", name);
    const char *line = strstr(text, define), *found = line ? strstr(line, type) : NULL;
    return found && found < strchr(line + 1, '\n');
}

static void expect(const char *name, tc_graph_body *body, kinds kinds)
{
    static const tc_dtype dtypes[] = {
#define TC_DTYPE(name, upper, ...) TC_##upper,
#include "../dtypes.def"
#undef TC_DTYPE
    };
    char wrong[400] = "";
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; ++i) {
        dtype = dtypes[i];
        captured c = capture_body(body);
        const char *complaint = c.ok != takes(kinds, dtype)                    ? c.ok ? "taken" : c.errors
                                : c.ok && !gives(c.text, tc_dtype_name(dtype)) ? "another dtype"
                                                                               : NULL;
        if (complaint)
            snprintf(wrong, sizeof wrong, "%s: %.300s", tc_dtype_name(dtype), complaint);
        captured_free(&c);
    }
    if (!tc_ok(!*wrong, "%s", name))
        tc_note("%s", wrong);
}

int main(void)
{
#define T(name, kinds, ...) expect(#name, body_##name, kinds);
    CASES
#undef T
    return tc_done();
}
