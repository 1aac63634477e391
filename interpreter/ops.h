/* SPDX-License-Identifier: Apache-2.0
 *
 * The primitives' kernels. Each checks its operands, makes `out` (released by the caller) and computes it; the executor
 * compares the type of `out` with the declared one. In f64 mode floats are wide, and every kernel exists for both.
 */
#ifndef TCI_OPS_H
#define TCI_OPS_H

#include "tensor.h"

/* The dtypes under the names that functions of tc_scalar.h and scalar_wide.h end in, for tables by macro. */
enum {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) DT_##name = TCI_##upper,
#include "dtypes.def"
#undef TC_DTYPE
    DT_wide = TCI_WIDE
};

/* What a kernel may use besides its operands: expressions over dims, and where errors go. */
typedef struct tci_scope {
    const tci_module *module;
    const int64_t *dims; /* one a dim of the module; negative: not given */
    bool f64;
    struct tci_roundings *roundings; /* NULL: what floats become integers is not written and not read */
    tci_diag *diag;
} tci_scope;

typedef bool tci_kernel(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out);

/* All primitives with a scalar operation (elementwise.c). */
tci_kernel tci_op_elementwise;

/* The scalar operation of `op` on this dtype (elementwise.c; the dtype of the last operand), and a cast: p[0] is the
 * result. NULL where there is none. */
tci_run *tci_scalar_run(tci_op op, tci_dtype dtype);
tci_run *tci_cast_run(tci_dtype from, tci_dtype to);

/* p is bool, of the shape of x. */
bool tci_is_predicate(const tci_tensor *p, const tci_tensor *x);

/* Rows of n terms each to their products, in the order `lanes`: out is dense. False where the dtype has none. */
bool tci_product_rows(const tci_tensor *rows, int64_t n, const tci_tensor *out);

/* The tensor in another dtype of the same mode. */
bool tci_cast(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_dtype dtype, tci_tensor *out);

/* leaves.c, views.c, indexing.c, reduce.c, contract.c, externs.c */
tci_kernel tci_op_constant, tci_op_iota, tci_op_dim_value;
tci_kernel tci_op_broadcast, tci_op_reshape, tci_op_transpose, tci_op_slice, tci_op_pad, tci_op_concat, tci_op_gather,
    tci_op_update_slice, tci_op_reverse;
tci_kernel tci_op_scatter, tci_op_sort, tci_op_cumulative;
tci_kernel tci_op_reduce, tci_op_reduce_where, tci_op_arg_reduce, tci_op_window_reduce;
tci_kernel tci_op_dot, tci_op_dot_where, tci_op_convolution;
tci_kernel tci_op_extern_call;

/* The dtype in which values of a declared dtype are kept. */
static inline tci_dtype tci_storage(const tci_scope *scope, tci_dtype dtype)
{
    return scope->f64 && tci_dtype_is_float(dtype) ? TCI_WIDE : dtype;
}

/* The value of a float of any exact dtype at `element` (little-endian host, any alignment). */
double tci_wide_of(tci_dtype dtype, const void *element);

/* An error at the node: "primitive: message". Returns false. */
__attribute__((format(printf, 3, 4))) bool tci_node_fail(const tci_scope *scope, const tci_node *node,
                                                         const char *format, ...);

/* The values of a list of dim expressions; fails unless there are `count` of them. */
bool tci_evaluate_list(const tci_scope *scope, const tci_node *node, const tci_exprs *list, int64_t *values,
                       size_t count);

/* floor((low + n + high - ((size - 1)*dilation + 1)) / stride) + 1, or 0 where the window is larger than that; false
 * where an attribute makes no sense or is beyond 2^31. n <= 2^40. */
bool tci_window_size(int64_t n, int64_t size, int64_t stride, int64_t low, int64_t high, int64_t dilation,
                     int64_t *result);

#endif
