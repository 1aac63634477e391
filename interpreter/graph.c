/* SPDX-License-Identifier: Apache-2.0
 *
 * The primitive table, lookups and the evaluation of dim expressions.
 */
#include "graph.h"

#include <string.h>

const tci_primitive tci_primitives[TCI_OP_COUNT] = {
/* no other lowering than `elementwise` begins with an e */
#define COUNT(number) (#number[0] == '*' ? -1 : #number[0] - '0')
#define TC_PRIMITIVE(name, operands, results, type_rule, lowering, cost, code, what, traits, derivative, attributes)   \
    {#name, COUNT(operands), COUNT(results), attributes, #lowering[0] == 'e', #what[0] == 'm'},
#include "primitives.def"
#undef TC_PRIMITIVE
#undef COUNT
};

tci_attr_kind tci_primitive_attr(tci_op op, const char *name, size_t *position)
{
    static const struct {
        const char *name;
        tci_attr_kind kind;
    } kinds[] = {{"dims", TCI_ATTR_DIMS}, {"ints", TCI_ATTR_INTS}, {"int", TCI_ATTR_INT},    {"word", TCI_ATTR_WORD},
                 {"name", TCI_ATTR_NAME}, {"bits", TCI_ATTR_BITS}, {"graph", TCI_ATTR_GRAPH}};
    const size_t length = strlen(name);
    const char *spec = tci_primitives[op].attributes;
    for (size_t i = 0; *spec != '\0'; i++) {
        const size_t name_length = strcspn(spec, ":");
        const char *kind = spec + name_length + 1;
        const size_t kind_length = strcspn(kind, " ");
        if (name_length == length && memcmp(spec, name, length) == 0) {
            for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
                if (strlen(kinds[k].name) == kind_length && memcmp(kinds[k].name, kind, kind_length) == 0) {
                    *position = i;
                    return kinds[k].kind;
                }
            }
        }
        spec = kind + kind_length;
        spec += *spec == ' ';
    }
    return TCI_ATTR_NONE;
}

const tci_attr *tci_node_attr(const tci_node *node, const char *name)
{
    size_t position = 0;
    tci_primitive_attr(node->op, name, &position);
    return &node->attrs[position];
}

const tci_function *tci_module_find_function(const tci_module *module, const char *name)
{
    size_t position;
    return tci_names_find(&module->function_names, name, &position) ? &module->functions[position] : NULL;
}

const tci_entry *tci_find_entry(const tci_entry *entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

bool tci_expr_evaluate(const tci_module *module, const tci_expr *expr, const int64_t *dims, int64_t *value, tci_loc loc,
                       tci_diag *diag)
{
    if (expr->kind == TCI_EXPR_CONST) {
        *value = expr->value;
        return true;
    }
    if (expr->kind == TCI_EXPR_DIM) {
        *value = dims[expr->value];
        const char *name = module->dims[expr->value].name;
        return *value >= 0 || tci_fail(diag, loc, "dim '%s' has no value; give --dims %s=N", name, name);
    }
    int64_t a = 0, b = 0;
    if (!tci_expr_evaluate(module, expr->a, dims, &a, loc, diag) ||
        !tci_expr_evaluate(module, expr->b, dims, &b, loc, diag))
        return false;
    bool overflow = false;
    switch (expr->kind) {
    case TCI_EXPR_ADD: overflow = __builtin_add_overflow(a, b, value); break;
    case TCI_EXPR_SUB: overflow = __builtin_sub_overflow(a, b, value); break;
    case TCI_EXPR_MUL: overflow = __builtin_mul_overflow(a, b, value); break;
    case TCI_EXPR_MAX: *value = a > b ? a : b; break;
    case TCI_EXPR_MIN: *value = a < b ? a : b; break;
    default:
        if (b == 0)
            return tci_fail(diag, loc, "division by zero in a dim expression");
        if (a == INT64_MIN && b == -1)
            overflow = true;
        else
            *value = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
    }
    return !overflow || tci_fail(diag, loc, "overflow in a dim expression");
}

#define KIND_FLOAT TCI_FLOAT
#define KIND_SIGNED TCI_SIGNED
#define KIND_UNSIGNED TCI_UNSIGNED
#define KIND_BOOL TCI_BOOLEAN
const tci_dtype_info tci_dtypes[TCI_DTYPE_COUNT] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) [TCI_##upper] = {#name, file, bytes, KIND_##kind},
#include "dtypes.def"
#undef TC_DTYPE
    [TCI_WIDE] = {"f64", "F64", 8, TCI_FLOAT},
};

const char *tci_dtype_name(tci_dtype dtype)
{
    return tci_dtypes[dtype].name;
}

size_t tci_dtype_size(tci_dtype dtype)
{
    return tci_dtypes[dtype].size;
}

bool tci_dtype_is_float(tci_dtype dtype)
{
    return tci_dtypes[dtype].kind == TCI_FLOAT;
}

tci_dtype tci_dtype_named(const char *name)
{
    tci_dtype dtype = 0;
    while (dtype < TCI_WIDE && strcmp(tci_dtypes[dtype].name, name) != 0)
        dtype++;
    return dtype;
}
