/* SPDX-License-Identifier: Apache-2.0
 *
 * A module of graph text (docs/graph.md) in memory. Everything lives in the module's arena; names are NUL-terminated.
 */
#ifndef TCI_GRAPH_H
#define TCI_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"
#include "names.h"

enum { TCI_MAX_RANK = 16, TCI_MAX_ATTRS = 8 };

/* TCI_WIDE, double with the host's libm, never stands in a text: it is what floats are computed in under --f64. */
typedef enum tci_dtype {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) TCI_##upper,
#include "dtypes.def"
#undef TC_DTYPE
    TCI_WIDE,
    TCI_DTYPE_COUNT
} tci_dtype;

/* The columns of generator/dtypes.def. */
typedef enum tci_kind { TCI_FLOAT, TCI_SIGNED, TCI_UNSIGNED, TCI_BOOLEAN } tci_kind;

typedef struct tci_dtype_info {
    const char *name, *file;
    size_t size;
    tci_kind kind;
} tci_dtype_info;

extern const tci_dtype_info tci_dtypes[TCI_DTYPE_COUNT];

typedef enum tci_op {
#define TC_PRIMITIVE(name, ...) TCI_OP_##name,
#include "primitives.def"
#undef TC_PRIMITIVE
    TCI_OP_COUNT
} tci_op;

/* One line of generator/primitives.def; operands and results are -1 for "any number". */
typedef struct tci_primitive {
    const char *name;
    int operands, results;
    const char *attributes;
    bool elementwise, moves;
} tci_primitive;

extern const tci_primitive tci_primitives[TCI_OP_COUNT];

/* An integer expression over dims. */
typedef struct tci_expr {
    enum {
        TCI_EXPR_CONST,
        TCI_EXPR_DIM,
        TCI_EXPR_ADD,
        TCI_EXPR_SUB,
        TCI_EXPR_MUL,
        TCI_EXPR_FLOORDIV,
        TCI_EXPR_MAX,
        TCI_EXPR_MIN
    } kind;
    int64_t value; /* of a constant; of a dim its index in tci_module.dims */
    const struct tci_expr *a, *b;
} tci_expr;

typedef struct tci_exprs {
    size_t count;
    const tci_expr **items;
} tci_exprs;

typedef struct tci_type {
    tci_dtype dtype;
    tci_exprs shape;
} tci_type;

typedef enum tci_attr_kind {
    TCI_ATTR_NONE,
    TCI_ATTR_DIMS,
    TCI_ATTR_INTS,
    TCI_ATTR_INT,
    TCI_ATTR_WORD,
    TCI_ATTR_NAME,
    TCI_ATTR_BITS,
    TCI_ATTR_GRAPH
} tci_attr_kind;

typedef struct tci_attr {
    bool present;
    tci_exprs dims;   /* dims */
    size_t count;     /* ints */
    int64_t *ints;    /* ints, and int as ints[0] */
    const char *text; /* word, name, graph */
    uint64_t bits;    /* bits */
} tci_attr;

/* operands and results are slots: positions in a function's list of values. first_dtype: declared of the first operand.
 * attrs: in the order of the table. */
typedef struct tci_node {
    tci_op op;
    tci_loc loc;
    size_t operand_count, result_count;
    const size_t *operands;
    size_t first_result;
    tci_dtype first_dtype;
    const tci_type *types;
    tci_attr attrs[TCI_MAX_ATTRS];
} tci_node;

typedef struct tci_guard {
    const char *name;
    const tci_expr *lhs, *rhs;
    bool equal; /* ==, else >= */
    tci_loc loc;
} tci_guard;

/* A parameter, weight or state (name, type), a result or an assignment (name, slot). */
typedef struct tci_entry {
    const char *name;
    tci_type type;
    size_t slot;
    int file; /* weights: index in tci_module.files */
    tci_loc loc;
} tci_entry;

/* Parameters have the slots 0, 1, ... */
typedef struct tci_function {
    const char *name;
    bool entry;
    size_t slot_count, parameter_count, guard_count, node_count, assign_count, result_count;
    tci_entry *parameters, *assigns, *results;
    tci_guard *guards;
    tci_node *nodes;
} tci_function;

typedef struct tci_dim {
    const char *name;
    int64_t lo, hi, divisor;
} tci_dim;

typedef struct tci_module {
    tci_arena arena;
    const char *path, *model;
    size_t dim_count, file_count, weight_count, state_count, function_count;
    tci_dim *dims;
    const char **files;
    tci_entry *weights, *states;
    tci_function *functions;
    tci_names dim_names, function_names;
} tci_module;

/* Parses a text of length bytes (path is for messages). finish releases it, also after a failure. */
bool tci_module_parse(tci_module *module, const char *path, const char *text, size_t length, tci_diag *diag);
void tci_module_finish(tci_module *module);

/* NULL where there is none of that name. */
const tci_function *tci_module_find_function(const tci_module *module, const char *name);
const tci_entry *tci_find_entry(const tci_entry *entries, size_t count, const char *name);

/* The kind and the position of an attribute of a primitive; TCI_ATTR_NONE where it has none of that name. */
tci_attr_kind tci_primitive_attr(tci_op op, const char *name, size_t *position);

/* The attribute by its name; the parser has made sure that it is there. */
const tci_attr *tci_node_attr(const tci_node *node, const char *name);

/* Value under `dims` (one number a dim, negative: not given). Fails on overflow, division by zero and missing dims. */
bool tci_expr_evaluate(const tci_module *module, const tci_expr *expr, const int64_t *dims, int64_t *value, tci_loc loc,
                       tci_diag *diag);

const char *tci_dtype_name(tci_dtype dtype);
size_t tci_dtype_size(tci_dtype dtype);
bool tci_dtype_is_float(tci_dtype dtype);

/* The dtype of graph text by its name; TCI_WIDE where there is none. */
tci_dtype tci_dtype_named(const char *name);

#endif
