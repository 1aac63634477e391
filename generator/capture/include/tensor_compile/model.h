/* SPDX-License-Identifier: Apache-2.0
 *
 * The language in which models are declared (C11; model.c is compiled for the build machine and run once to record the
 * graph, so this header is for C only and no part of the deployed program).
 *
 *     #include <tensor_compile/model.h>
 *
 *     TC_MODEL(digits)                                   // tc_graph *g is in scope
 *     {
 *         tc_dim batch = tc_dynamic(g, "batch", 1, 4096);
 *         tc_tensor x = tc_input(g, "image", TC_F32, batch, 1, 8, 8);
 *         tc_weights(g, "digits.safetensors");
 *         x = tc_relu(tc_conv2d(x, tc_weight(g, "conv1.weight"), tc_weight(g, "conv1.bias"), .padding = {1, 1}));
 *         ...
 *         tc_output(g, "logits", x);
 *     }
 *
 * A call never computes: it infers the result's type and records an operation. A wrong call is reported with the place
 * of the call (model.c:14: error: ...) and gives a tensor on which further operations do nothing, so that one run
 * reports all errors. Nothing has to be freed. A tensor may be used in the function that made it only.
 *
 * Where a size is expected (here `dim`), an integer and a tc_dim may be mixed freely. Axes may be negative and then
 * count from the end. The operations are in ops.h, which this header includes.
 */
#ifndef TENSOR_COMPILE_MODEL_H
#define TENSOR_COMPILE_MODEL_H

#ifdef __cplusplus
#error "model.h is C11: compile model.c as C"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detail.h"

/* The most dims of a tensor. */
#define TC_MAX_RANK 8

/* Element types: floats (IEEE binary32, binary64 and binary16; bfloat16, the upper half of a binary32), two's
 * complement and unsigned integers of 8 to 64 bits, and bool, one byte 0 or 1. f16 and bf16 are computed in f32 and
 * rounded at every tensor (docs/numerics.md). The values are arbitrary and far from sizes, so that a forgotten dtype is
 * noticed. */
typedef enum tc_dtype {
    TC_F32 = 0x7c11,
    TC_I32,
    TC_I64,
    TC_BOOL,
    TC_F64,
    TC_F16,
    TC_BF16,
    TC_I8,
    TC_U8,
    TC_I16,
    TC_U16,
    TC_U32,
    TC_U64
} tc_dtype;

typedef struct tc_graph tc_graph;

/* A tensor of the graph under construction; NULL stands for "none" where an argument is optional. */
typedef struct tc_value *tc_tensor;

/* A size: an integer, or an expression over dynamic dims. Compare and compute with the functions below. */
typedef struct tc_dim {
    const struct tc_expr *expr; /* NULL: the constant `value` */
    int64_t value;
} tc_dim;

typedef struct tc_site {
    const char *file;
    int line;
} tc_site;

/* -- models and functions ------------------------------------------------------------------------------------------ */

typedef void tc_graph_body(tc_graph *g);

typedef struct tc_entry {
    const char *name;
    tc_graph_body *body;
    tc_site site;
    bool is_model;
    struct tc_entry *next; /* the library's */
    const char *file;      /* as TC_OWN_FILE_ */
    int order;             /* within the program: #line may give any number to a line */
} tc_entry;

/* A graph function: what TC_GRAPH defines and tc_call calls. */
typedef struct tc_graph_function {
    const char *name;
    tc_graph_body *body;
    tc_site site;
} tc_graph_function;

void tc_register_(tc_entry *entry);

#define TC_ENTRY_(name_, is_model_)                                                                                   \
    static void tc_body_##name_(tc_graph *g);                                                                         \
    TC_CONSTRUCTOR static void tc_register_##name_(void)                                                              \
    {                                                                                                                 \
        static tc_entry entry = {#name_, tc_body_##name_, {__FILE__, __LINE__}, is_model_, NULL,                      \
                                 TC_OWN_FILE_, __COUNTER__};                                                          \
        tc_register_(&entry);                                                                                         \
    }                                                                                                                 \
    static void tc_body_##name_(TC_UNUSED tc_graph *g)

/* TC_MODEL(name) { ... }: the model, once a program. Its body runs first. Where it has outputs, it is an entry function
 * NAME of the generated header; where it has none, it only declares what all functions share (tc_weights, dims). */
#define TC_MODEL(name) TC_ENTRY_(name, true)

/* TC_FUNCTION(name) { ... }: one more entry function of the model (prefill and decode, say), in the order of the file.
 * Functions share dims, weights and states by name: declaring one again under its name with the same type gives the
 * same one. */
#define TC_FUNCTION(name) TC_ENTRY_(name, false)

/* TC_GRAPH(name) { ... }: a graph function, which entries call with tc_call. Its operands are tc_parameter, its results
 * tc_output. Names of weights and states in it are relative to the call's prefix. Define it before its callers. */
#define TC_GRAPH(name_)                                                                                               \
    static void tc_body_##name_(tc_graph *g);                                                                         \
    static const tc_graph_function name_ = {#name_, tc_body_##name_, {__FILE__, __LINE__}};                           \
    static void tc_body_##name_(TC_UNUSED tc_graph *g)

/* tc_call(g, function, prefix, x...) -> tc_tensor: the one result of a graph function for these operands. `prefix`
 * ("encoder.layer.0"; "" for none) is joined by a dot before the names of its weights and states, after the open
 * scopes. Each call runs the body again, and a body that records the same graph as before (types included) is one
 * function of the module: a repeated layer is emitted once. */
#define tc_call(g, function, prefix, ...)                                                                             \
    tc_call_at(TC_HERE, g, &(function), prefix, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_call_at(tc_site at, tc_graph *g, const tc_graph_function *function, const char *prefix, int count,
                     const tc_tensor *operands);

/* tc_call_results(g, function, prefix, n, results, x...): the same for a function of n outputs, in their order. */
#define tc_call_results(g, function, prefix, n, results, ...)                                                         \
    tc_call_results_at(TC_HERE, g, &(function), prefix, n, results, TC_TENSOR_LIST(__VA_ARGS__))
void tc_call_results_at(tc_site at, tc_graph *g, const tc_graph_function *function, const char *prefix, int result_count,
                        tc_tensor *results, int count, const tc_tensor *operands);

/* The next operand of the graph function's call, with its type; `name` serves messages. Operands are told by the order
 * of these calls: two of them as arguments of one call are an error, as C leaves open which is made first. */
#define tc_parameter(g, name) tc_parameter_at(TC_HERE, g, name)
tc_tensor tc_parameter_at(tc_site at, tc_graph *g, const char *name);

/* tc_input(g, name, dtype, dim...) -> tc_tensor: an argument of the entry function, row-major. `name` becomes a member
 * of the function's argument struct and must be a C identifier. No dims: one number. */
#define tc_input(g, name, ...) tc_input_at(TC_HERE, g, name, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_input_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape);

/* Makes x a result under `name` (an entry's: a C identifier). One tensor may be several outputs. */
#define tc_output(g, name, x) tc_output_at(TC_HERE, g, name, x)
void tc_output_at(tc_site at, tc_graph *g, const char *name, tc_tensor x);

/* -- dims ---------------------------------------------------------------------------------------------------------- */

typedef struct tc_dynamic_options {
    int64_t divisor;   /* the value is always a multiple of this; 0 means 1 */
    int specialize[8]; /* sizes that get variants of their own, 0-terminated where fewer */
    tc_site at;        /* set by the macro */
} tc_dynamic_options;

/* tc_dynamic(g, name, lo, hi, .divisor = 8, .specialize = {1, 32}) -> tc_dim: a size that is known at run time, an
 * argument of every entry function that uses it, lo <= value <= hi (both inclusive, lo >= 0). */
#define tc_dynamic(g, name, lo, ...)                                                                                  \
    tc_dynamic_at(g, name, lo, TC_HEAD(__VA_ARGS__, 0), TC_DYNAMIC_OPTIONS_(__VA_ARGS__, .at = TC_HERE))
#define TC_DYNAMIC_OPTIONS_(hi, ...) &(const tc_dynamic_options){__VA_ARGS__}
tc_dim tc_dynamic_at(tc_graph *g, const char *name, int64_t lo, int64_t hi, const tc_dynamic_options *options);

/* The size of x along an axis. */
#define tc_size(x, axis) tc_size_at(TC_HERE, x, axis)
tc_dim tc_size_at(tc_site at, tc_tensor x, int axis);

/* a + b, a - b, a * b; floor(a / b), ceil(a / b) and a - b * floor(a / b), of which 0 <= mod < b, for b > 0; the larger
 * and the smaller. */
#define tc_dim_add(a, b) tc_dim_add_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_sub(a, b) tc_dim_sub_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_mul(a, b) tc_dim_mul_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_floordiv(a, b) tc_dim_floordiv_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_ceildiv(a, b) tc_dim_ceildiv_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_mod(a, b) tc_dim_mod_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_max(a, b) tc_dim_max_at(TC_HERE, TC_DIM(a), TC_DIM(b))
#define tc_dim_min(a, b) tc_dim_min_at(TC_HERE, TC_DIM(a), TC_DIM(b))
tc_dim tc_dim_add_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_sub_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_mul_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_floordiv_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_ceildiv_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_mod_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_max_at(tc_site at, tc_dim a, tc_dim b);
tc_dim tc_dim_min_at(tc_site at, tc_dim a, tc_dim b);

/* A condition that the caller of the entry function promises and the entry checks: a == b, a >= b. Capture makes such
 * guards by itself where an operation needs two dynamic sizes equal and cannot prove it. */
#define tc_require_equal(g, a, b) tc_require_at(TC_HERE, g, TC_DIM(a), true, TC_DIM(b))
#define tc_require_at_least(g, a, b) tc_require_at(TC_HERE, g, TC_DIM(a), false, TC_DIM(b))
void tc_require_at(tc_site at, tc_graph *g, tc_dim a, bool equal, tc_dim b);

/* -- weights ------------------------------------------------------------------------------------------------------- */

/* Declares a safetensors file (relative to the source file that names it). Names of several files form one space. Only
 * the header is read at capture. */
#define tc_weights(g, path) tc_weights_at(TC_HERE, g, TC_OWN_FILE_, path)
void tc_weights_at(tc_site at, tc_graph *g, const char *from, const char *path);

/* tc_weight(g, name) -> tc_tensor: a tensor of the declared files, with their shape and dtype. The full name is the
 * graph function's prefix, the open scopes and `name`, joined by dots. The same name gives the same tensor: use it
 * twice to tie weights. */
#define tc_weight(g, name) tc_weight_at(TC_HERE, g, name, 0, NULL)

/* tc_weight_shaped(g, name, dtype, dim...): the same, and an error where the file holds another type. */
#define tc_weight_shaped(g, name, ...) tc_weight_at(TC_HERE, g, name, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_weight_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape);

/* -- scopes -------------------------------------------------------------------------------------------------------- */

/* TC_SCOPE(g, "layer.%d", i) { ... }: within the block, names of weights and states begin with "layer.3." and messages
 * and reports carry the scope. Leave it at its end only (no return, goto or break). */
#define TC_SCOPE(g, ...)                                                                                              \
    for (TC_AT_LEAVING(tc_scope_left_) int tc_once_ = (tc_scope_push(g, __VA_ARGS__), 1); tc_once_;                   \
         tc_once_ = (tc_scope_pop(g), 0))
#define tc_scope_push(g, ...) tc_scope_push_at(TC_HERE, g, __VA_ARGS__)
#define tc_scope_pop(g) tc_scope_pop_at(TC_HERE, g)
void tc_scope_push_at(tc_site at, tc_graph *g, const char *format, ...) TC_PRINTF_LIKE(3, 4);
void tc_scope_pop_at(tc_site at, tc_graph *g);
void tc_scope_left_(const int *open);

/* TC_REGION(g, "my_norm") { ... }: names what is recorded within the block in messages and reports, as the operations
 * of ops.h do for themselves. It changes neither names nor code. */
#define TC_REGION(g, name)                                                                                            \
    for (TC_AT_LEAVING(tc_region_left_) int tc_once_ = (tc_region_push(g, name), 1); tc_once_;                        \
         tc_once_ = (tc_region_pop(g), 0))
#define tc_region_push(g, name) tc_region_push_at(TC_HERE, g, name)
#define tc_region_pop(g) tc_region_pop_at(TC_HERE, g)
void tc_region_push_at(tc_site at, tc_graph *g, const char *name);
void tc_region_pop_at(tc_site at, tc_graph *g);
void tc_region_left_(const int *open);

/* printf into memory of the graph: a name for tc_call or tc_weight. */
const char *tc_name(tc_graph *g, const char *format, ...) TC_PRINTF_LIKE(2, 3);

/* -- state --------------------------------------------------------------------------------------------------------- */

/* tc_state(g, name, dtype, size...) -> tc_tensor: persistent memory of the model, zero at first, owned by the caller of
 * the generated functions; constant sizes. The tensor is its value when the entry function is called. Names are
 * composed as those of weights. */
#define tc_state(g, name, ...) tc_state_at(TC_HERE, g, name, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_state_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape);

/* tc_assign(state, x): the state's value after the call; once a function, x of the state's type. A read in the same
 * function still gives the old value. */
#define tc_assign(state, x) tc_assign_at(TC_HERE, state, x)
void tc_assign_at(tc_site at, tc_tensor state, tc_tensor x);

/* -- under the macros ---------------------------------------------------------------------------------------------- */

tc_dim tc_dim_of_float_(double value)
    __attribute__((error("a size is an integer or a tc_dim, not a floating-point number: tc_dim_floordiv divides")));
static inline tc_dim tc_dim_same_(tc_dim d) { return d; }
static inline tc_dim tc_dim_int_(int64_t value) { return (tc_dim){NULL, value}; }
static inline tc_dim tc_dim_uint_(uint64_t value) { return (tc_dim){NULL, value > INT64_MAX ? -1 : (int64_t)value}; }

/* An operand: a tensor, or a number that takes the other operand's dtype. */
typedef struct tc_operand {
    enum { TC_OPERAND_TENSOR, TC_OPERAND_FLOAT, TC_OPERAND_INT } kind;
    tc_tensor tensor;
    double real;
    int64_t integer;
} tc_operand;

static inline tc_operand tc_operand_tensor_(tc_tensor x) { return (tc_operand){.kind = TC_OPERAND_TENSOR, .tensor = x}; }
static inline tc_operand tc_operand_null_(void *x) { return (void)x, (tc_operand){.kind = TC_OPERAND_TENSOR}; }
static inline tc_operand tc_operand_float_(double x) { return (tc_operand){.kind = TC_OPERAND_FLOAT, .real = x}; }
static inline tc_operand tc_operand_int_(int64_t x) { return (tc_operand){.kind = TC_OPERAND_INT, .integer = x}; }

#include "ops.h"

#include "layers.h"

#endif
