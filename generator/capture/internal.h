/* SPDX-License-Identifier: Apache-2.0
 *
 * Data of the capture library, private to generator/capture. One graph is captured at a time, in one thread; all memory
 * comes from the graph's arena and lives until tc_graph_destroy, so nothing here has an owner of its own.
 */
#ifndef TC_CAPTURE_INTERNAL_H
#define TC_CAPTURE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dims.h"
#include "memory.h"
#include "tensor_compile/model.h"

typedef struct tc_captured tc_captured;
typedef struct tc_node tc_node;
typedef struct tc_meaning tc_meaning;

/* -- types ------------------------------------------------------------------------------------------------------- */

typedef struct tc_type {
    tc_dtype dtype;
    int rank;
    const tc_expr *shape[TC_MAX_RANK];
} tc_type;

/* The tensor a user holds. `node` is NULL for a poisoned tensor: one that stands for the result of a call that failed;
 * an operation on it fails silently, because its cause was reported already. */
struct tc_value {
    const struct tc_value *self; /* this tensor: what a variable that was never set hardly points to */
    tc_captured *function;
    tc_node *node;
    int index; /* which result of the node */
    tc_type type;
    const tc_meaning *meaning; /* of quantized integers, where an operation has said it (meanings.c) */
};

/* -- primitives -------------------------------------------------------------------------------------------------- */

typedef enum tc_op {
    TC_OP_parameter, /* not a primitive: an argument of the function */
#define TC_PRIMITIVE(name, ...) TC_OP_##name,
#include "../primitives.def"
#undef TC_PRIMITIVE
    TC_OP_COUNT
} tc_op;

typedef enum tc_attr_kind {
    TC_ATTR_DIMS,
    TC_ATTR_INTS,
    TC_ATTR_INT,
    TC_ATTR_WORD,
    TC_ATTR_NAME,
    TC_ATTR_BITS,
    TC_ATTR_GRAPH
} tc_attr_kind;

enum { TC_MAX_ATTRS = 8 };

typedef struct tc_attr {
    tc_attr_kind kind;
    int count;                /* of dims and ints */
    const tc_expr **dims;     /* dims */
    const int64_t *ints;      /* ints */
    int64_t integer;          /* int */
    const char *text;         /* word, name */
    uint64_t bits;            /* bits, in the low bytes */
    const tc_captured *graph; /* graph */
} tc_attr;

/* A named region (softmax#3) or a user's name scope; a node points to the innermost one. */
typedef struct tc_region {
    const struct tc_region *parent;
    const char *name;
    bool is_scope; /* opened by the user for names: no number */
    int number;    /* of the instance, given by the writer; 0 before */
    tc_site site;  /* of what opened it */
} tc_region;

struct tc_node {
    tc_op op;
    int operand_count, result_count;
    tc_tensor *operands;
    tc_attr attrs[TC_MAX_ATTRS];
    struct tc_value *results;
    tc_site site;
    tc_region *region;
    int number; /* in its function, given by the writer */
    int walk;   /* the last one that met it (meanings.c) */
    tc_node *next;
};

/* -- functions and modules ---------------------------------------------------------------------------------------- */

typedef struct tc_guard {
    const tc_expr *lhs, *rhs;
    bool is_equality; /* else lhs >= rhs */
    tc_site site;
    const tc_sym *solved; /* of an equality: this dim ... */
    const tc_expr *by;    /* ... is this expression; NULL where it cannot be solved */
    struct tc_guard *next;
} tc_guard;

typedef struct tc_named {
    const char *name;
    tc_tensor value;
    tc_site site;
    struct tc_named *next;
} tc_named;

/* A weight or state that a function reads. */
typedef struct tc_read {
    tc_tensor value;
    struct tc_read *next;
} tc_read;

struct tc_captured {
    const char *name;
    bool is_entry;
    tc_graph_body *body; /* of a graph function: what identifies its instances */
    const char *base;    /* what names of weights and states in it are relative to, with the dot */
    tc_node *parameters, **parameters_end;
    tc_node *nodes, **nodes_end;
    tc_read *reads;
    tc_guard *guards, **guards_end;
    tc_named *assigns, **assigns_end;
    tc_named *results, **results_end;
    const tc_tensor *arguments; /* of a graph function under capture */
    int argument_count, arguments_taken;
    int results_declared;        /* calls of tc_output, good or not */
    tc_region *scope;            /* innermost open scope or region */
    struct tc_captured *caller;  /* while under capture */
    struct tc_block *block;      /* of what TC_SCAN and its kin record; NULL otherwise */
    struct tc_captured *open_if; /* the TC_IF that waits for its TC_ELSE */
    struct tc_captured *next;
};

typedef struct tc_dim_decl {
    const tc_sym *sym;
    const tc_expr *expr;
    int specialize[8], specialize_count;
    tc_site site;
    struct tc_dim_decl *next;
} tc_dim_decl;

typedef struct tc_weight_file {
    const char *printed;              /* as the text names it: relative to the model's directory where possible */
    struct tc_weights_header *header; /* NULL where it could not be read (reported) */
    int number;
    struct tc_weight_file *next;
} tc_weight_file;

typedef struct tc_weight_decl {
    const char *name; /* absolute */
    tc_type type;
    int file;
    tc_site site;
    struct tc_weight_decl *next, *chain;
} tc_weight_decl;

typedef struct tc_state_decl {
    const char *name; /* absolute */
    tc_type type;
    tc_site site;
    struct tc_state_decl *next;
} tc_state_decl;

/* A layer of layers.h that normalizes and has neither weight nor bias. */
typedef struct tc_bare_norm {
    const char *layer, *weight; /* the call, the name in the files that a weight would have */
    tc_site site;
    struct tc_bare_norm *next;
} tc_bare_norm;

enum { TC_WEIGHT_BUCKETS = 1024 };

struct tc_graph {
    tc_arena arena;
    tc_dims dims;
    FILE *errors; /* where messages go */
    int error_count;
    bool out_of_memory;
    struct tc_message *messages; /* printed already: a graph function called twice reports once */
    const char *model;
    const char *model_file;       /* that of TC_MODEL */
    const char *source_directory; /* what relative __FILE__ are relative to; NULL: the working directory */
    tc_dim_decl *dim_decls, **dim_decls_end;
    tc_weight_file *files, **files_end;
    int file_count;
    tc_weight_decl *weights, **weights_end, *weight_chains[TC_WEIGHT_BUCKETS];
    tc_bare_norm *bare_norms, **bare_norms_end;
    tc_state_decl *states, **states_end;
    int64_t state_bytes; /* no less than what they need */
    tc_captured *functions, **functions_end;
    tc_entry *const *entries; /* under capture */
    int entry_count;
    tc_captured *current; /* the function under capture; NULL between functions */
    int node_count;
    int walks;    /* through nodes so far (meanings.c) */
    int op_depth; /* public calls under way */
    int op_base;  /* of them, outside the function under capture: messages and nodes carry the name and place of
                                the outermost one in it */
    const char *op_name;
    tc_site op_site;
    tc_region **op_scopes; /* what each of them restores */
    int op_room;           /* of these */
};

/* -- errors.c ----------------------------------------------------------------------------------------------------- */

/* Reports `site: error: NAME: in SCOPE: message` (NAME the public call under way, SCOPE where it stands, if any) and,
 * where not NULL, a hint line. A message that differs in nothing but its scope is reported once. */
void tc_error(tc_graph *g, tc_site site, const char *hint, const char *format, ...) TC_PRINTF_LIKE(4, 5);
/* The same at the site of the public call under way. */
void tc_fail(tc_graph *g, const char *hint, const char *format, ...) TC_PRINTF_LIKE(3, 4);
/* Says `site: warning: message` and a hint: the model may be meant, and is recorded. */
void tc_warn(tc_graph *g, tc_site site, const char *hint, const char *format, ...) TC_PRINTF_LIKE(4, 5);
/* Says `site: note: NAME: message` at the site of the public call under way: nothing is wrong. */
void tc_notify(tc_graph *g, const char *format, ...) TC_PRINTF_LIKE(2, 3);
/* `path` relative to the directory of the model's file where it lies below it, else as it is. */
const char *tc_short_path(tc_graph *g, const char *path);
/* "line 7", or "FILE:7" where that is another file than that of the call under way. */
const char *tc_site_text(tc_graph *g, tc_site site);
/* `path`, named in the source file `from`: beside that, and as this process can open it. */
const char *tc_join_path(tc_graph *g, const char *from, const char *path);
const char *tc_open_path(tc_graph *g, const char *from, const char *path);

/* -- types.c ------------------------------------------------------------------------------------------------------ */

/* The columns of dtypes.def; constant: its name in model.h. */
typedef enum tc_dtype_kind { TC_KIND_FLOAT, TC_KIND_SIGNED, TC_KIND_UNSIGNED, TC_KIND_BOOL } tc_dtype_kind;

typedef struct tc_dtype_info {
    const char *name, *constant, *file;
    tc_dtype_kind kind;
    int bytes, digits;
} tc_dtype_info;

const tc_dtype_info *tc_dtype_about(tc_dtype dtype);
const char *tc_dtype_name(tc_dtype dtype);
bool tc_dtype_valid(int64_t dtype);
bool tc_dtype_is_float(tc_dtype dtype);
/* The dtype by its name in safetensors files; false where there is none. */
bool tc_dtype_of_file(const char *file, tc_dtype *dtype);
/* "TC_F32, TC_I32 or TC_BOOL", for hints. */
const char *tc_dtype_list(tc_graph *g);
int tc_dtype_size(tc_dtype dtype);
/* `f32[batch,784]` */
const char *tc_type_text(tc_graph *g, const tc_type *type);
const char *tc_shape_text(tc_graph *g, int rank, const tc_expr *const *shape);
/* Reports where it has no floats. */
bool tc_check_float(tc_graph *g, const tc_type *x);
/* Reports where the dtype is none of numbers. */
bool tc_check_number(tc_graph *g, tc_dtype dtype);
/* Reports where the dtypes differ: what is widened to one dtype is to be looked at before. */
bool tc_check_same_dtype(tc_graph *g, const tc_type *a, const tc_type *b);
/* The axis counted from the front, reported and -1 where it is outside -rank..rank-1. */
int tc_axis(tc_graph *g, int axis, int rank);
/* As tc_op_enter for one operand, x; then *axis is counted from the front. NULL also where x has no such axis, which is
 * reported. */
tc_graph *tc_op_enter_axis(tc_site site, const char *name, const char *region, tc_tensor x, int *axis);
const tc_expr *tc_element_count(tc_graph *g, const tc_type *type);

/* -- guards.c ----------------------------------------------------------------------------------------------------- */

/* True where a == b is proved, follows from the guards so far, or could be made a guard (both sides dynamic). Reports
 * nothing: the caller names what differs. */
bool tc_same_dim(tc_graph *g, const tc_expr *a, const tc_expr *b);
/* The same for a >= b, where a side may be constant. */
bool tc_at_least(tc_graph *g, const tc_expr *a, const tc_expr *b);
/* True where a == b is proved or follows from the guards; never makes one. */
bool tc_known_same(tc_graph *g, const tc_expr *a, const tc_expr *b);
/* Adds lhs == rhs (lhs >= rhs) to the guards of f, once. */
void tc_guard_add(tc_graph *g, tc_captured *f, const tc_expr *lhs, bool is_equality, const tc_expr *rhs, tc_site site);

/* -- graph.c, call.c ---------------------------------------------------------------------------------------------- */

/* The graph under capture: what a call with nothing but NULL arguments reports to. */
tc_graph *tc_current_graph(void);
/* NULL where there is no memory. */
tc_graph *tc_graph_create(FILE *errors);
void tc_graph_destroy(tc_graph *g);
/* Captures the entries (sorted by file order already), checks the module; true without errors. Errors of operations
 * that were called before there was a graph count, too. */
bool tc_capture(tc_graph *g, int count, tc_entry *const *entries);
/* What step(g, argument) returns; false where memory ends in it (g->out_of_memory) or tc_give_up leaves it. The
 * functions that are called with a graph are such steps, and of tc_capture; a graph is only destroyed behind a failed
 * one. */
bool tc_attempt(tc_graph *g, bool (*step)(tc_graph *g, void *argument), void *argument);
/* Leaves the attempt: an error was reported, and going on makes no sense. */
_Noreturn void tc_give_up(tc_graph *g);

/* -- entries.c ---------------------------------------------------------------------------------------------------- */

/* What TC_MODEL and TC_FUNCTION have registered, in the order of the lines; linked by `next`. */
tc_entry *tc_entries(void);
tc_captured *tc_captured_new(tc_graph *g, const char *name, bool is_entry);
/* Makes `f` the function under capture, runs the body, closes it. */
void tc_captured_run(tc_graph *g, tc_captured *f, tc_graph_body *body);
void tc_captured_append(tc_graph *g, tc_captured *f);
tc_tensor tc_captured_parameter(tc_graph *g, tc_captured *f, const char *name, const tc_type *type);

/* The module's function that is like f: an earlier one, or f itself under a name of its own. */
tc_captured *tc_captured_settle(tc_graph *g, tc_captured *f);

/* -- control.c ---------------------------------------------------------------------------------------------------- */

/* Whether `from` may use the tensors of `function`: it is that function, or a block within it. */
bool tc_visible(const tc_captured *from, const tc_captured *function);
/* x, of a function that f may use, as a tensor of f. */
tc_tensor tc_lift(tc_graph *g, tc_captured *f, tc_tensor x);
/* Reports a TC_IF of f that has no TC_ELSE. */
void tc_check_else(tc_graph *g, tc_captured *f);

/* -- graph.c: public calls ----------------------------------------------------------------------------------------- */

/* Brackets of every public call: name and place for messages (the outermost call's stay), and a region (NULL: none).
 * `names` are those of the operands, separated by spaces, a question mark before an optional one. NULL, without need of
 * tc_op_leave, where the call cannot go on: an operand is missing (reported), of another function (reported), or
 * poisoned. */
tc_graph *tc_op_enter(tc_site site, const char *name, const char *region, const char *names, int count,
                      const tc_tensor *operands);
/* The same for a list of operands as long as the user likes; count may be 0. */
tc_graph *tc_op_enter_list(tc_site site, const char *name, const char *region, int count, const tc_tensor *operands);
/* The same for a call with a graph and no operands. */
bool tc_op_enter_graph(tc_graph *g, tc_site site, const char *name, const char *region);
/* Closes it; returns x. */
tc_tensor tc_op_leave(tc_graph *g, tc_tensor x);
/* Stands for the result of a failed call. */
tc_tensor tc_poison(void);
bool tc_is_poison(tc_tensor x);
/* Whether x, not NULL, is a tensor of g: what a variable holds that was never set is not. */
bool tc_made(const tc_graph *g, tc_tensor x);

const tc_expr *tc_dim_expr(tc_graph *g, tc_dim dim);
tc_dim tc_dim_of(const tc_expr *e);
/* Reads `dtype, dim...` of a variadic call; reports and false where it is none. */
bool tc_read_type(tc_graph *g, int count, const tc_dim *dtype_and_shape, tc_type *out);
/* The name with the open scopes before it, relative to the function under capture. */
const char *tc_scoped_name(tc_graph *g, const char *name);
/* Reports where it is not a C identifier. */
bool tc_check_identifier(tc_graph *g, const char *what, const char *name);
/* Text that goes into the graph, not NULL; reported. */
bool tc_check_text(tc_graph *g, const char *argument, const char *text);

/* -- weights.c ---------------------------------------------------------------------------------------------------- */

/* A norm of layers.h has neither weight nor bias in the open scope, as a module without any saves it. */
void tc_norm_is_bare(tc_site at, tc_graph *g, const char *layer);
/* When all is recorded: warns of those whose weight's name is near to one that nothing reads. */
void tc_warn_of_bare_norms(tc_graph *g);

/* -- primitives.c and infer*.c ------------------------------------------------------------------------------------ */

const char *tc_op_text(tc_op op);
/* "name:kind name:kind", in the order in which they are printed */
const char *tc_op_attributes(tc_op op);
/* Appends a node without checks. */
tc_node *tc_append_node(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
                        int result_count, const tc_type *types);
/* Appends a node; poison where an operand is poisoned or a rule is broken (reported). `declared` is the result type for
 * primitives whose rule is `declared`, else NULL. attrs: as many as the table has, in its order. */
tc_tensor tc_add_node(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
                      const tc_type *declared);
/* The type rule of `op`: fills out and returns true, or reports. */
bool tc_infer(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
              const tc_type *declared, tc_type *out);
bool tc_infer_scatter(tc_graph *g, const tc_tensor *operands, const tc_attr *attrs, tc_type *out);
/* out: the type of the values; the indices are i64 of their shape. */
bool tc_infer_sort(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out);
bool tc_infer_cumulative(tc_graph *g, const tc_type *x, tc_type *out);
bool tc_infer_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out);
bool tc_infer_arg_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out);
bool tc_infer_window_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out);
bool tc_infer_dot(tc_graph *g, const tc_type *a, const tc_type *b, const tc_attr *attrs, tc_type *out);
bool tc_infer_convolution(tc_graph *g, const tc_type *x, const tc_type *w, const tc_attr *attrs, tc_type *out);

tc_attr tc_attr_dims(tc_graph *g, int count, const tc_expr *const *dims);
tc_attr tc_attr_ints(tc_graph *g, int count, const int *ints);
tc_attr tc_attr_int(int64_t value);
tc_attr tc_attr_word(const char *word);
tc_attr tc_attr_name(const char *name);
tc_attr tc_attr_bits(uint64_t bits);
tc_attr tc_attr_graph(const tc_captured *graph);

/* -- text.c ------------------------------------------------------------------------------------------------------- */

/* Writes the module in the form of docs/graph.md. */
void tc_text_write(tc_graph *g, FILE *out);

/* -- prims.c: one function a primitive that operations use --------------------------------------------------------- */

tc_tensor tc_prim_unary(tc_graph *g, tc_op op, tc_tensor x);
tc_tensor tc_prim_binary(tc_graph *g, tc_op op, tc_tensor a, tc_tensor b);
tc_tensor tc_prim_select(tc_graph *g, tc_tensor p, tc_tensor a, tc_tensor b);
tc_tensor tc_prim_cast(tc_graph *g, tc_tensor x, tc_dtype dtype);
tc_tensor tc_prim_bitcast(tc_graph *g, tc_tensor x, tc_dtype dtype);
/* Compositions of several steps compute f16 and bf16 in f32 throughout and round their result alone: x in f32 where it
 * is one of them, else x itself (NULL too); and a result in the dtype that x had. */
tc_tensor tc_prim_widen(tc_graph *g, tc_tensor x);
tc_tensor tc_prim_narrow(tc_graph *g, tc_tensor x, tc_dtype dtype);
tc_tensor tc_prim_constant(tc_graph *g, tc_dtype dtype, uint64_t bits);
tc_tensor tc_prim_iota(tc_graph *g, int axis, const tc_type *type);
tc_tensor tc_prim_dim_value(tc_graph *g, tc_dtype dtype, const tc_expr *value);
/* x itself where it has the shape already. */
tc_tensor tc_prim_broadcast(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape, const int *axes);
tc_tensor tc_prim_reshape(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape);
tc_tensor tc_prim_transpose(tc_graph *g, tc_tensor x, const int *perm);
tc_tensor tc_prim_slice(tc_graph *g, tc_tensor x, const tc_expr *const *start, const tc_expr *const *size,
                        const int *stride);
tc_tensor tc_prim_pad(tc_graph *g, tc_tensor x, tc_tensor value, const tc_expr *const *low, const tc_expr *const *high);
tc_tensor tc_prim_concat(tc_graph *g, int axis, int count, const tc_tensor *tensors);
tc_tensor tc_prim_gather(tc_graph *g, tc_tensor x, tc_tensor index, int axis);
tc_tensor tc_prim_update_slice(tc_graph *g, tc_tensor x, tc_tensor y, const tc_expr *const *start);
/* axes ascending; x itself where there are none */
tc_tensor tc_prim_reverse(tc_graph *g, tc_tensor x, int count, const int *axes);
/* op: set add mul max min; the values have gather's result type. */
tc_tensor tc_prim_scatter(tc_graph *g, tc_tensor x, tc_tensor index, tc_tensor values, const char *op, int axis);
/* The first `count` along the axis, and in *positions (NULL: not wanted) where they were. */
tc_tensor tc_prim_sort(tc_graph *g, tc_tensor x, int axis, const tc_expr *count, bool descending, tc_tensor *positions);
/* op: sum prod max min */
tc_tensor tc_prim_cumulative(tc_graph *g, tc_tensor x, const char *op, int axis, bool reverse);
/* axes ascending */
tc_tensor tc_prim_reduce(tc_graph *g, tc_tensor x, const char *op, int count, const int *axes);
/* The same over the elements of which p, of x's shape, is true; p NULL: over all. */
tc_tensor tc_prim_reduce_where(tc_graph *g, tc_tensor x, tc_tensor p, const char *op, int count, const int *axes);
tc_tensor tc_prim_arg_reduce(tc_graph *g, tc_tensor x, const char *op, int axis);
tc_tensor tc_prim_window_reduce(tc_graph *g, tc_tensor x, const char *op, int dims, const int *size, const int *stride,
                                const int *low, const int *high, const int *dilation);
/* Which dims of a and b are paired, in order. The others are free: the result has the batch dims, then those of a, then
 * those of b. */
typedef struct tc_contraction {
    int batch, a_batch[TC_MAX_RANK], b_batch[TC_MAX_RANK];
    int summed, a_summed[TC_MAX_RANK], b_summed[TC_MAX_RANK];
    tc_tensor where; /* bool of a's shape: which elements of a are factors of terms; NULL: all */
    bool seq;        /* of that order with and without a predicate */
} tc_contraction;

/* The dot; its order follows from the types where it is not seq. Reports sizes that differ; poison for a poisoned
 * operand. */
tc_tensor tc_prim_contract(tc_graph *g, tc_tensor a, tc_tensor b, const tc_contraction *c);
/* The same where the first `batch` dims of both are batch dims, with one contracted dim each. */
tc_tensor tc_prim_dot(tc_graph *g, tc_tensor a, tc_tensor b, int batch, int a_contract, int b_contract);
/* Besides, p and seq are the contraction's `where` and `seq`. */
tc_tensor tc_prim_dot_where(tc_graph *g, tc_tensor a, tc_tensor b, tc_tensor p, bool seq, int batch, int a_contract,
                            int b_contract);
tc_tensor tc_prim_convolution(tc_graph *g, tc_tensor x, tc_tensor w, int dims, const int *stride, const int *low,
                              const int *high, const int *dilation, int groups);

/* -- numbers.c, elementwise.c: what compositions need beside the public calls -------------------------------------- */

/* A rank-0 constant of the dtype; reported and poison where the number does not fit it. */
tc_tensor tc_constant_of(tc_graph *g, tc_dtype dtype, tc_operand number);
/* A size as a rank-0 tensor of numbers: a constant where it is one, else its value at run time. */
tc_tensor tc_size_value(tc_graph *g, tc_dtype dtype, const tc_expr *size);
/* -inf or the smallest integer, rank 0: what never is the only maximum. */
tc_tensor tc_smallest(tc_graph *g, tc_dtype dtype);
/* Broadcasts as NumPy does; reports. */
tc_tensor tc_broadcast_to(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape);
/* The common shape of both types; reports. */
bool tc_broadcast_shape(tc_graph *g, const tc_type *a, const tc_type *b, int *rank, const tc_expr **shape);

#endif
