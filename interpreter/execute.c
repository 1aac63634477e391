/* SPDX-License-Identifier: Apache-2.0 */
#include "execute.h"

#include "noise.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

bool tci_node_fail(const tci_scope *scope, const tci_node *node, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tci_fail(scope->diag, node->loc, "%s: %s", tci_primitives[node->op].name, text);
}

bool tci_evaluate_list(const tci_scope *scope, const tci_node *node, const tci_exprs *list, int64_t *values,
                       size_t count)
{
    if (list->count != count)
        return tci_node_fail(scope, node, "a list of %zu expressions where %zu are needed", list->count, count);
    for (size_t i = 0; i < count; i++)
        if (!tci_expr_evaluate(scope->module, list->items[i], scope->dims, &values[i], node->loc, scope->diag))
            return false;
    return true;
}

bool tci_check_type(const tci_scope *scope, const tci_type *type, const tci_tensor *tensor, const char *what,
                    tci_loc loc)
{
    tci_tensor declared = {.dtype = tci_storage(scope, type->dtype), .rank = (int)type->shape.count};
    for (int d = 0; d < declared.rank; d++)
        if (!tci_expr_evaluate(scope->module, type->shape.items[d], scope->dims, &declared.shape[d], loc, scope->diag))
            return false;
    if (declared.dtype == tensor->dtype && tci_tensor_same_shape(&declared, tensor))
        return true;
    char is[192], should[192];
    return tci_fail(scope->diag, loc, "%s: the value is %s, the declared type is %s", what,
                    tci_tensor_describe(tensor, is, sizeof is), tci_tensor_describe(&declared, should, sizeof should));
}

static char *join(const char *prefix, const char *name)
{
    const size_t a = strlen(prefix), b = strlen(name);
    char *text = malloc(a + b + 1);
    if (text != NULL) {
        memcpy(text, prefix, a);
        memcpy(text + a, name, b + 1);
    }
    return text;
}

static void release_all(tci_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tci_tensor_release(&tensors[i]);
}

/* -- nodes that hold a graph --------------------------------------------------------------------------------------- */
static bool invoke(tci_run_env *env, const tci_node *node, const char *name, const char *prefix,
                   const tci_tensor *arguments, size_t count, tci_tensor *results, size_t result_count)
{
    const tci_function *callee = tci_module_find_function(env->scope.module, name);
    if (callee == NULL)
        return tci_node_fail(&env->scope, node, "no function '%s'", name);
    if (callee->parameter_count != count || callee->result_count != result_count)
        return tci_node_fail(&env->scope, node, "'%s' has %zu parameters and %zu results, not %zu and %zu", name,
                             callee->parameter_count, callee->result_count, count, result_count);
    return tci_execute(env, callee, prefix, arguments, results);
}

static bool execute_call(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in,
                         tci_tensor *out)
{
    char *inner = join(prefix, tci_node_attr(node, "prefix")->text);
    const bool ok = inner == NULL ? tci_node_fail(&env->scope, node, "out of memory")
                                  : invoke(env, node, tci_node_attr(node, "callee")->text, inner, in,
                                           node->operand_count, out, node->result_count);
    free(inner);
    return ok;
}

/* A condition's value: bool[]. */
static bool truth(const tci_run_env *env, const tci_node *node, const tci_tensor *tensor, bool *value)
{
    if (tensor->dtype != TCI_BOOL || tensor->rank != 0)
        return tci_node_fail(&env->scope, node, "the condition is not bool[]");
    *value = tensor->data[0] != 0;
    return true;
}

static bool execute_cond(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in,
                         tci_tensor *out)
{
    bool value = false;
    if (node->operand_count == 0)
        return tci_node_fail(&env->scope, node, "no condition");
    return truth(env, node, &in[0], &value) && invoke(env, node, tci_node_attr(node, value ? "then" : "else")->text,
                                                      prefix, in + 1, node->operand_count - 1, out, node->result_count);
}

static bool execute_while(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in,
                          tci_tensor *out)
{
    const size_t count = node->operand_count;
    if (node->result_count != count)
        return tci_node_fail(&env->scope, node, "it has as many results as operands");
    tci_tensor *next = calloc(count + 1, sizeof *next);
    if (next == NULL)
        return tci_node_fail(&env->scope, node, "out of memory");
    for (size_t i = 0; i < count; i++)
        out[i] = tci_tensor_share(&in[i]);
    bool ok, again = true;
    for (;;) {
        tci_tensor test = {0};
        ok = invoke(env, node, tci_node_attr(node, "test")->text, prefix, out, count, &test, 1) &&
             truth(env, node, &test, &again);
        tci_tensor_release(&test);
        if (!ok || !again)
            break;
        ok = invoke(env, node, tci_node_attr(node, "body")->text, prefix, out, count, next, count);
        for (size_t i = 0; i < count; i++) {
            tci_tensor_release(&out[i]);
            out[i] = next[i];
            next[i] = (tci_tensor){0};
        }
        if (!ok)
            break;
    }
    free(next);
    return ok;
}

/* The step-th part of a stack along axis 0, as a view. */
static tci_tensor part_of(const tci_tensor *stack, int64_t step)
{
    tci_tensor part = *stack;
    part.rank--;
    memmove(part.shape, stack->shape + 1, (size_t)part.rank * sizeof part.shape[0]);
    memmove(part.stride, stack->stride + 1, (size_t)part.rank * sizeof part.stride[0]);
    part.data += step * stack->stride[0] * (int64_t)tci_dtype_size(stack->dtype);
    return part;
}

/* One step: arguments = carries and slices; results = carries and parts of the stacked outputs. */
static bool scan_step(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in, int64_t step,
                      size_t carries, tci_tensor *arguments, tci_tensor *parts, tci_tensor *out)
{
    for (size_t i = 0; i < node->operand_count; i++)
        arguments[i] = i < carries ? out[i] : part_of(&in[i], step);
    bool ok = invoke(env, node, tci_node_attr(node, "body")->text, prefix, arguments, node->operand_count, parts,
                     node->result_count);
    for (size_t i = 0; i < node->result_count && ok; i++) {
        if (i < carries) {
            tci_tensor_release(&out[i]);
            out[i] = parts[i];
            parts[i] = (tci_tensor){0};
            continue;
        }
        const tci_tensor place = part_of(&out[i], step);
        if (place.dtype != parts[i].dtype || !tci_tensor_same_shape(&place, &parts[i]))
            ok = tci_node_fail(&env->scope, node, "result %zu of the body does not fit the declared stack", i);
        else
            tci_tensor_copy(&place, &parts[i]);
    }
    release_all(parts, node->result_count);
    return ok;
}

static bool execute_scan(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in,
                         tci_tensor *out)
{
    const tci_scope *scope = &env->scope;
    const int64_t wanted = tci_node_attr(node, "carries")->ints[0];
    int64_t length;
    if (!tci_evaluate_list(scope, node, &tci_node_attr(node, "length")->dims, &length, 1))
        return false;
    if (wanted < 0 || (uint64_t)wanted > node->operand_count || (uint64_t)wanted > node->result_count || length < 0)
        return tci_node_fail(scope, node, "no %lld carries and %lld steps", (long long)wanted, (long long)length);
    const size_t carries = (size_t)wanted;
    for (size_t i = carries; i < node->operand_count; i++)
        if (in[i].rank == 0 || in[i].shape[0] != length)
            return tci_node_fail(scope, node, "operand %zu has not %lld parts along axis 0", i, (long long)length);
    for (size_t i = 0; i < node->result_count; i++) {
        int64_t shape[TCI_MAX_RANK];
        const tci_type *type = &node->types[i];
        if (i < carries)
            out[i] = tci_tensor_share(&in[i]);
        else if (!tci_evaluate_list(scope, node, &type->shape, shape, type->shape.count) ||
                 !tci_tensor_make(&out[i], tci_storage(scope, type->dtype), (int)type->shape.count, shape, node->loc,
                                  scope->diag))
            return false;
        else if (out[i].rank == 0 || shape[0] != length)
            return tci_node_fail(scope, node, "result %zu has not %lld parts along axis 0", i, (long long)length);
    }
    tci_tensor *arguments = calloc(node->operand_count + 1, sizeof *arguments);
    tci_tensor *parts = calloc(node->result_count + 1, sizeof *parts);
    bool ok = arguments != NULL && parts != NULL ? true : tci_node_fail(scope, node, "out of memory");
    for (int64_t step = 0; step < length && ok; step++)
        ok = scan_step(env, node, prefix, in, step, carries, arguments, parts, out);
    free(arguments);
    free(parts);
    return ok;
}

/* -- functions ----------------------------------------------------------------------------------------------------- */
/* clang-format off */
static tci_kernel *const kernels[TCI_OP_COUNT] = {
    [TCI_OP_constant] = tci_op_constant,       [TCI_OP_iota] = tci_op_iota,
    [TCI_OP_dim_value] = tci_op_dim_value,     [TCI_OP_broadcast] = tci_op_broadcast,
    [TCI_OP_reshape] = tci_op_reshape,         [TCI_OP_transpose] = tci_op_transpose,
    [TCI_OP_slice] = tci_op_slice,             [TCI_OP_pad] = tci_op_pad,
    [TCI_OP_concat] = tci_op_concat,           [TCI_OP_gather] = tci_op_gather,
    [TCI_OP_update_slice] = tci_op_update_slice, [TCI_OP_reduce] = tci_op_reduce,
    [TCI_OP_arg_reduce] = tci_op_arg_reduce,   [TCI_OP_window_reduce] = tci_op_window_reduce,
    [TCI_OP_reverse] = tci_op_reverse,         [TCI_OP_scatter] = tci_op_scatter,
    [TCI_OP_sort] = tci_op_sort,               [TCI_OP_cumulative] = tci_op_cumulative,
    [TCI_OP_dot] = tci_op_dot,                 [TCI_OP_convolution] = tci_op_convolution,
    [TCI_OP_dot_where] = tci_op_dot_where,     [TCI_OP_reduce_where] = tci_op_reduce_where,
    [TCI_OP_extern_call] = tci_op_extern_call,
};
/* clang-format on */

static bool execute_leaf(tci_run_env *env, const tci_node *node, const char *prefix, tci_tensor *out)
{
    char *name = join(prefix, tci_node_attr(node, "name")->text);
    const bool ok = name == NULL
                        ? tci_node_fail(&env->scope, node, "out of memory")
                        : env->load(env->user, node->op == TCI_OP_state, name, node->loc, out, env->scope.diag);
    free(name);
    return ok;
}

static bool is_narrow(tci_dtype dtype)
{
    return dtype == TCI_F16 || dtype == TCI_BF16;
}

static bool execute_kernel(tci_run_env *env, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    tci_kernel *kernel = tci_primitives[node->op].elementwise ? tci_op_elementwise : kernels[node->op];
    if (kernel == NULL)
        return tci_node_fail(&env->scope, node, "made by a later stage; the interpreter does not run it");
    tci_noise_begin(node);
    const bool ok = kernel(&env->scope, node, in, out);
    tci_noise_end(node, ok ? out : NULL);
    return ok;
}

/* f16 and bf16 are computed in f32: exact operands, each result rounded once (docs/numerics.md). */
static bool execute_narrow(tci_run_env *env, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_scope *scope = &env->scope;
    tci_tensor *operands = calloc(node->operand_count + 1, sizeof *operands);
    bool ok = operands != NULL ? true : tci_node_fail(scope, node, "out of memory");
    for (size_t i = 0; i < node->operand_count && ok; i++) {
        if (is_narrow(in[i].dtype))
            ok = tci_cast(scope, node, &in[i], TCI_F32, &operands[i]);
        else
            operands[i] = tci_tensor_share(&in[i]);
    }
    ok = ok && execute_kernel(env, node, operands, out);
    for (size_t r = 0; r < node->result_count && ok; r++) {
        tci_tensor result = out[r];
        if (is_narrow(node->types[r].dtype) && result.dtype == TCI_F32) {
            ok = tci_cast(scope, node, &result, node->types[r].dtype, &out[r]);
            tci_tensor_release(&result);
        }
    }
    if (operands != NULL)
        release_all(operands, node->operand_count);
    free(operands);
    return ok;
}

static bool execute_node(tci_run_env *env, const tci_node *node, const char *prefix, const tci_tensor *in,
                         tci_tensor *out)
{
    switch (node->op) {
    case TCI_OP_weight:
    case TCI_OP_state: return execute_leaf(env, node, prefix, out);
    case TCI_OP_call: return execute_call(env, node, prefix, in, out);
    case TCI_OP_cond: return execute_cond(env, node, prefix, in, out);
    case TCI_OP_while: return execute_while(env, node, prefix, in, out);
    case TCI_OP_scan: return execute_scan(env, node, prefix, in, out);
    default: break;
    }
    bool narrow = false;
    for (size_t i = 0; i < node->operand_count; i++)
        narrow |= is_narrow(in[i].dtype);
    narrow = narrow && !tci_primitives[node->op].moves;
    return narrow ? execute_narrow(env, node, in, out) : execute_kernel(env, node, in, out);
}

static bool assign(tci_run_env *env, const char *prefix, const tci_entry *entry, const tci_tensor *value)
{
    char *name = join(prefix, entry->name);
    if (name == NULL)
        return tci_fail(env->scope.diag, entry->loc, "out of memory");
    const tci_module *module = env->scope.module;
    const tci_entry *state = tci_find_entry(module->states, module->state_count, name);
    if (state == NULL) {
        tci_fail(env->scope.diag, entry->loc, "assign: no state \"%s\"", name);
        free(name);
        return false;
    }
    if (!tci_check_type(&env->scope, &state->type, value, "assign", entry->loc)) {
        free(name);
        return false;
    }
    for (size_t i = 0; i < env->assignment_count; i++) {
        if (strcmp(env->assignments[i].name, name) == 0) {
            free(name);
            tci_tensor_release(&env->assignments[i].value);
            env->assignments[i].value = tci_tensor_share(value);
            return true;
        }
    }
    tci_assignment *larger = realloc(env->assignments, (env->assignment_count + 1) * sizeof *larger);
    if (larger == NULL) {
        free(name);
        return tci_fail(env->scope.diag, entry->loc, "out of memory");
    }
    env->assignments = larger;
    env->assignments[env->assignment_count++] = (tci_assignment){name, tci_tensor_share(value)};
    return true;
}

/* last[slot]: the number of the last node that reads it, node_count where a result or an assignment does. */
static void last_uses(const tci_function *f, size_t *last)
{
    for (size_t n = 0; n < f->node_count; n++) {
        for (size_t r = 0; r < f->nodes[n].result_count; r++)
            last[f->nodes[n].first_result + r] = n;
        for (size_t i = 0; i < f->nodes[n].operand_count; i++)
            last[f->nodes[n].operands[i]] = n;
    }
    for (size_t i = 0; i < f->assign_count; i++)
        last[f->assigns[i].slot] = f->node_count;
    for (size_t i = 0; i < f->result_count; i++)
        last[f->results[i].slot] = f->node_count;
}

static bool run_node(tci_run_env *env, const tci_node *node, size_t number, const char *prefix, tci_tensor *values,
                     const size_t *last)
{
    tci_tensor few[4], *in = few;
    if (node->operand_count > sizeof few / sizeof few[0]) {
        in = malloc(node->operand_count * sizeof *in);
        if (in == NULL)
            return tci_node_fail(&env->scope, node, "out of memory");
    }
    for (size_t i = 0; i < node->operand_count; i++)
        in[i] = values[node->operands[i]];
    tci_tensor *out = values + node->first_result;
    bool ok = execute_node(env, node, prefix, in, out);
    for (size_t r = 0; r < node->result_count && ok; r++)
        ok = tci_check_type(&env->scope, &node->types[r], &out[r], tci_primitives[node->op].name, node->loc);
    for (size_t i = 0; i < node->operand_count; i++)
        if (last[node->operands[i]] == number)
            tci_tensor_release(&values[node->operands[i]]);
    for (size_t r = 0; r < node->result_count; r++)
        if (last[node->first_result + r] == number)
            tci_tensor_release(&out[r]);
    if (in != few)
        free(in);
    return ok;
}

static bool check_entry(const tci_run_env *env, const tci_function *f, const tci_tensor *arguments)
{
    const tci_scope *scope = &env->scope;
    for (size_t i = 0; i < f->guard_count; i++) {
        const tci_guard *g = &f->guards[i];
        int64_t lhs, rhs;
        if (!tci_expr_evaluate(scope->module, g->lhs, scope->dims, &lhs, g->loc, scope->diag) ||
            !tci_expr_evaluate(scope->module, g->rhs, scope->dims, &rhs, g->loc, scope->diag))
            return false;
        if (g->equal ? lhs != rhs : lhs < rhs)
            return tci_fail(scope->diag, g->loc, "guard '%s' does not hold: %lld %s %lld", g->name, (long long)lhs,
                            g->equal ? "==" : ">=", (long long)rhs);
    }
    for (size_t i = 0; i < f->parameter_count; i++)
        if (!tci_check_type(scope, &f->parameters[i].type, &arguments[i], f->parameters[i].name, f->parameters[i].loc))
            return false;
    return true;
}

bool tci_execute(tci_run_env *env, const tci_function *function, const char *prefix, const tci_tensor *arguments,
                 tci_tensor *results)
{
    if (env->depth >= MAX_DEPTH)
        return tci_fail(env->scope.diag, (tci_loc){env->scope.module->path, 0},
                        "function '%s': calls nested more than %d deep", function->name, (int)MAX_DEPTH);
    if (!check_entry(env, function, arguments))
        return false;
    tci_tensor *values = calloc(function->slot_count + 1, sizeof *values);
    size_t *last = calloc(function->slot_count + 1, sizeof *last);
    bool ok = true;
    if (values == NULL || last == NULL) {
        ok = tci_fail(env->scope.diag, (tci_loc){env->scope.module->path, 0}, "out of memory");
    } else {
        env->depth++;
        last_uses(function, last);
        for (size_t i = 0; i < function->parameter_count; i++)
            values[i] = tci_tensor_share(&arguments[i]);
        for (size_t n = 0; n < function->node_count && ok; n++)
            ok = run_node(env, &function->nodes[n], n, prefix, values, last);
        for (size_t i = 0; i < function->assign_count && ok; i++)
            ok = assign(env, prefix, &function->assigns[i], &values[function->assigns[i].slot]);
        for (size_t i = 0; i < function->result_count && ok; i++)
            results[i] = tci_tensor_share(&values[function->results[i].slot]);
        release_all(values, function->slot_count);
        env->depth--;
    }
    free(values);
    free(last);
    return ok;
}

void tci_run_env_finish(tci_run_env *env)
{
    for (size_t i = 0; i < env->assignment_count; i++) {
        free(env->assignments[i].name);
        tci_tensor_release(&env->assignments[i].value);
    }
    free(env->assignments);
    env->assignments = NULL;
    env->assignment_count = 0;
}
