/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights and states: names, files, and the nodes that read them.
 */
#include <string.h>

#include "internal.h"
#include "weights_header.h"

/* -- files --------------------------------------------------------------------------------------------------------- */

/* A name in two files is ambiguous; reported for the first few. */
static void check_unique(tc_graph *g, const tc_weight_file *file)
{
    int reported = 0;
    for (const tc_weight_file *other = g->files; other; other = other->next) {
        if (other == file || !other->header)
            continue;
        for (int i = 0; i < file->header->count && reported < 3; ++i) {
            const char *name = file->header->entries[i].name;
            if (tc_weights_header_find(other->header, name)) {
                tc_fail(g, NULL, "\"%s\" is in %s and in %s", name, other->printed, file->printed);
                ++reported;
            }
        }
    }
}

/* How the file is made, where the program that writes it lies beside it, as in the examples; else NULL. */
static const char *made_by(tc_graph *g, const char *file)
{
    FILE *program = fopen(tc_open_path(g, file, "make_weights.c"), "r");
    if (!program)
        return NULL;
    fclose(program);
    const char *slash = strrchr(file, '/');
    return tc_arena_format(
        &g->arena,
        "make_weights.c beside it writes it; in that folder: cc -O2 make_weights.c -o make_weights -lm && "
        "./make_weights %s",
        slash ? slash + 1 : file);
}

static const char *file_hint(tc_graph *g, const char *error, const char *file)
{
    if (strstr(error, "cannot be opened")) {
        const char *made = made_by(g, file);
        return made ? made : "paths are relative to the source file that names them";
    }
    return strstr(error, "not a safetensors file") ? "in Python: safetensors.torch.save_file(model.state_dict(), FILE)"
                                                   : NULL;
}

static void add_file(tc_graph *g, const char *from, const char *path)
{
    const char *printed = path[0] == '/' ? tc_arena_copy(&g->arena, path)
                                         : tc_short_path(g, tc_join_path(g, from, path));
    for (const tc_weight_file *f = g->files; f; f = f->next)
        if (!strcmp(f->printed, printed))
            return; /* functions may each name the file they share */
    tc_weight_file *file = tc_arena_alloc(&g->arena, sizeof *file);
    *file = (tc_weight_file){.printed = printed, .number = g->file_count++};
    *g->files_end = file;
    g->files_end = &file->next;
    const char *error = NULL;
    file->header = tc_weights_header_read(&g->arena, tc_open_path(g, from, path), &error);
    if (file->header)
        check_unique(g, file);
    else
        tc_fail(g, file_hint(g, error, tc_join_path(g, from, path)), "%s: %s", printed, error);
}

void tc_weights_at(tc_site at, tc_graph *g, const char *from, const char *path)
{
    if (!tc_op_enter_graph(g, at, "tc_weights", NULL))
        return;
    if (path && *path)
        add_file(g, from ? from : g->model_file ? g->model_file : at.file, path);
    else
        tc_fail(g, NULL, "argument 'path' is %s", path ? "empty" : "NULL");
    tc_op_leave(g, NULL);
}

/* -- names that may have been meant -------------------------------------------------------------------------------- */

static uint32_t hash_name(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; ++name)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % TC_WEIGHT_BUCKETS;
}

static tc_weight_decl *find_decl(tc_graph *g, const char *absolute)
{
    tc_weight_decl *d = g->weight_chains[hash_name(absolute)];
    while (d && strcmp(d->name, absolute))
        d = d->chain;
    return d;
}

/* Levenshtein's distance, `limit` where it is that or more. */
static int distance(const char *a, const char *b, int limit)
{
    enum { LONGEST = 128 };
    int n = (int)strlen(a), m = (int)strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST || n - m >= limit || m - n >= limit)
        return limit;
    for (int j = 0; j <= m; ++j)
        row[j] = j;
    for (int i = 1; i <= n; ++i) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; ++j) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m] < limit ? row[m] : limit;
}

/* Whether `text` ends with `tail`; of whole names between dots where `whole`. */
static bool is_end(const char *text, const char *tail, bool whole)
{
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && !strcmp(text + n - m, tail) && (!whole || n == m || text[n - m - 1] == '.');
}

/* Up to three names of the files nearer to `name` than `limit`, as a hint; of those that nothing reads where `unused`.
 * NULL: there is none. */
static const char *near_names(tc_graph *g, const char *name, int limit, bool unused)
{
    enum { NEAREST = 3 };
    const char *found[NEAREST] = {0};
    int far[NEAREST], count = 0;
    for (const tc_weight_file *f = g->files; f; f = f->next) {
        for (int i = 0; f->header && i < f->header->count; ++i) {
            const char *other = f->header->entries[i].name;
            int d = is_end(other, name, unused) || is_end(name, other, unused) ? 0 : distance(name, other, limit);
            if (d >= limit || (unused && find_decl(g, other)))
                continue;
            int at = count < NEAREST ? count++ : NEAREST;
            for (; at > 0 && far[at - 1] > d; --at) {
                if (at < NEAREST) {
                    found[at] = found[at - 1];
                    far[at] = far[at - 1];
                }
            }
            if (at < NEAREST) {
                found[at] = other;
                far[at] = d;
            }
        }
    }
    const char *hint = NULL;
    for (int i = 0; i < count; ++i)
        hint = tc_arena_format(&g->arena, "%s%s\"%s\"", hint ? hint : "", hint ? ", " : "did you mean ", found[i]);
    return hint ? tc_arena_format(&g->arena, "%s?", hint) : NULL;
}

static const char *missing_hint(tc_graph *g, const char *name)
{
    const char *hint = near_names(g, name, (int)strlen(name) / 4 + 2, false);
    return hint ? hint : "open scopes and the prefix of tc_call come before the name";
}

/* -- weights ------------------------------------------------------------------------------------------------------- */

static bool entry_type(tc_graph *g, const tc_weights_entry *e, tc_type *out)
{
    *out = (tc_type){.rank = e->rank};
    if (!tc_dtype_of_file(e->dtype, &out->dtype)) {
        tc_fail(g, tc_arena_format(&g->arena, "convert the file to %s", tc_dtype_list(g)), "\"%s\" has the dtype %s",
                e->name, e->dtype);
        return false;
    }
    if (e->rank > TC_MAX_RANK) {
        tc_fail(g, NULL, "\"%s\" has %d dims; %d is the most", e->name, e->rank, TC_MAX_RANK);
        return false;
    }
    for (int i = 0; i < e->rank; ++i)
        out->shape[i] = tc_expr_const(&g->dims, e->shape[i]);
    return true;
}

static tc_weight_decl *declare_weight(tc_graph *g, const char *absolute)
{
    const tc_weights_entry *e = NULL;
    const tc_weight_file *file = g->files;
    bool unreadable = false;
    for (; file; file = file->next) {
        unreadable |= !file->header;
        if (file->header && (e = tc_weights_header_find(file->header, absolute)))
            break;
    }
    tc_type type;
    if (!e) {
        if (!g->files)
            tc_fail(g, "name the file first: tc_weights(g, \"model.safetensors\")", "no weights for \"%s\"", absolute);
        else if (!unreadable) /* else its file was reported, and may hold it */
            tc_fail(g, missing_hint(g, absolute), "no weight \"%s\" in %s%s", absolute, g->files->printed,
                    g->files->next ? " or the other files" : "");
        else
            ++g->error_count;
        return NULL;
    }
    if (!entry_type(g, e, &type))
        return NULL;
    tc_weight_decl *d = tc_arena_alloc(&g->arena, sizeof *d);
    *d = (tc_weight_decl){.name = absolute, .type = type, .file = file->number, .site = g->op_site};
    *g->weights_end = d;
    g->weights_end = &d->next;
    d->chain = g->weight_chains[hash_name(absolute)];
    g->weight_chains[hash_name(absolute)] = d;
    return d;
}

/* The node of the function that reads `relative`, NULL where there is none yet. */
static tc_tensor find_read(const tc_captured *f, tc_op op, const char *relative)
{
    for (const tc_read *r = f->reads; r; r = r->next)
        if (r->value->node->op == op && !strcmp(r->value->node->attrs[0].text, relative))
            return r->value;
    return NULL;
}

static tc_tensor add_read(tc_graph *g, tc_op op, const char *relative, const tc_type *type)
{
    tc_attr attr = tc_attr_name(relative);
    tc_read *r = tc_arena_alloc(&g->arena, sizeof *r);
    r->value = tc_add_node(g, op, 0, NULL, &attr, type);
    r->next = g->current->reads;
    g->current->reads = r;
    return r->value;
}

/* Types of weights and states are constant, so equal types are equal pointers. */
static bool same_constant_type(const tc_type *a, const tc_type *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; ++i)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* The name in the files of what a layer calls `name` here. */
static const char *absolute_name(tc_graph *g, const char *name)
{
    return tc_arena_format(&g->arena, "%s%s", g->current->base, tc_scoped_name(g, tc_arena_copy(&g->arena, name)));
}

bool tc_has_weight_at(tc_site at, tc_graph *g, const char *name)
{
    if (!tc_op_enter_graph(g, at, "tc_has_weight", NULL))
        return false;
    bool found = false;
    if (name && *name) {
        const char *absolute = absolute_name(g, name);
        for (const tc_weight_file *f = g->files; f && !found; f = f->next)
            found = f->header && tc_weights_header_find(f->header, absolute);
    } else {
        tc_fail(g, NULL, "argument 'name' is %s", name ? "empty" : "NULL");
    }
    tc_op_leave(g, NULL);
    return found;
}

static tc_tensor weight(tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape)
{
    const char *relative = tc_scoped_name(g, tc_arena_copy(&g->arena, name));
    const char *absolute = tc_arena_format(&g->arena, "%s%s", g->current->base, relative);
    tc_weight_decl *d = find_decl(g, absolute);
    tc_type expected;
    if (!d)
        d = declare_weight(g, absolute);
    if (!d || (count && !tc_read_type(g, count, dtype_and_shape, &expected)))
        return tc_poison();
    if (count && !same_constant_type(&d->type, &expected)) {
        tc_fail(g, NULL, "\"%s\" is %s in the file, not %s", absolute, tc_type_text(g, &d->type),
                tc_type_text(g, &expected));
        return tc_poison();
    }
    tc_tensor found = find_read(g->current, TC_OP_weight, relative);
    return found ? found : add_read(g, TC_OP_weight, relative, &d->type);
}

tc_tensor tc_weight_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape)
{
    tc_tensor x = tc_poison();
    if (!tc_op_enter_graph(g, at, "tc_weight", NULL))
        return x;
    if (name && !*name)
        tc_fail(g, NULL, "argument 'name' is empty");
    else if (tc_check_text(g, "name", name))
        x = weight(g, name, count, dtype_and_shape);
    return tc_op_leave(g, x);
}

/* -- norms without weights ----------------------------------------------------------------------------------------- */

void tc_norm_is_bare(tc_site at, tc_graph *g, const char *layer)
{
    tc_bare_norm *n = tc_arena_alloc(&g->arena, sizeof *n);
    *n = (tc_bare_norm){.layer = layer, .weight = absolute_name(g, "weight"), .site = at};
    *g->bare_norms_end = n;
    g->bare_norms_end = &n->next;
}

/* From how many changes of letters on a name is another layer's: more than half of the last name before the dot. */
static int misspelled_below(const char *weight)
{
    enum { MOST = 4 };
    const char *dot = strrchr(weight, '.'), *start = dot;
    while (start && start > weight && start[-1] != '.')
        --start;
    const int limit = start ? (int)(dot - start) / 2 + 1 : 1;
    return limit < MOST ? limit : MOST;
}

void tc_warn_of_bare_norms(tc_graph *g)
{
    for (const tc_bare_norm *n = g->bare_norms; n; n = n->next) {
        const char *hint = near_names(g, n->weight, misspelled_below(n->weight), true);
        if (hint)
            tc_warn(g, n->site, hint, "%s: no weight \"%s\" in %s%s: the norm has no weight and no bias", n->layer,
                    n->weight, g->files->printed, g->files->next ? " or the other files" : "");
    }
}

/* -- states -------------------------------------------------------------------------------------------------------- */

/* What the states before it and this one need, its own rounded up; false beyond 64 bits. Sizes are constant. */
static bool add_state_bytes(tc_graph *g, const tc_type *type)
{
    enum { ALIGNMENT = 64 }; /* of each, and the size of the header before the first: no less than the planner's */
    int64_t bytes = tc_dtype_size(type->dtype), size;
    for (int i = 0; i < type->rank; ++i)
        if (!tc_expr_value(type->shape[i], &size) || __builtin_mul_overflow(bytes, size, &bytes))
            return false;
    return !__builtin_add_overflow(bytes, 2 * ALIGNMENT - 1, &bytes) &&
           !__builtin_add_overflow(g->state_bytes, bytes & -ALIGNMENT, &g->state_bytes);
}

static bool declare_state(tc_graph *g, const char *absolute, const tc_type *type)
{
    for (int i = 0; i < type->rank; ++i) {
        if (!tc_expr_is_const(type->shape[i])) {
            tc_fail(g, "give the largest size, and slice it", "the size of a state is constant, not %s",
                    tc_type_text(g, type));
            return false;
        }
    }
    for (const tc_state_decl *d = g->states; d; d = d->next) {
        if (strcmp(d->name, absolute))
            continue;
        if (same_constant_type(&d->type, type))
            return true;
        tc_fail(g, "functions share states by name", "state \"%s\" is %s here and %s at %s", absolute,
                tc_type_text(g, type), tc_type_text(g, &d->type), tc_site_text(g, d->site));
        return false;
    }
    if (!add_state_bytes(g, type)) {
        tc_fail(g, NULL, "state \"%s\" needs more bytes than 64 bits count: %s", absolute, tc_type_text(g, type));
        return false;
    }
    tc_state_decl *d = tc_arena_alloc(&g->arena, sizeof *d);
    *d = (tc_state_decl){.name = absolute, .type = *type, .site = g->op_site};
    *g->states_end = d;
    g->states_end = &d->next;
    return true;
}

tc_tensor tc_state_at(tc_site at, tc_graph *g, const char *name, int count, const tc_dim *dtype_and_shape)
{
    tc_tensor x = tc_poison();
    tc_type type;
    if (!tc_op_enter_graph(g, at, "tc_state", NULL))
        return x;
    if (name && !*name) {
        tc_fail(g, NULL, "argument 'name' is empty");
    } else if (tc_check_text(g, "name", name) && tc_read_type(g, count, dtype_and_shape, &type)) {
        const char *relative = tc_scoped_name(g, tc_arena_copy(&g->arena, name));
        if (declare_state(g, tc_arena_format(&g->arena, "%s%s", g->current->base, relative), &type)) {
            x = find_read(g->current, TC_OP_state, relative);
            if (!x)
                x = add_read(g, TC_OP_state, relative, &type);
        }
    }
    return tc_op_leave(g, x);
}

static void assign(tc_graph *g, tc_tensor state, tc_tensor x)
{
    if (g->current->block) {
        tc_fail(g, "list a variable in the block's head and assign it behind the block",
                "a state is assigned outside of blocks");
        return;
    }
    if (state->node->op != TC_OP_state) {
        tc_fail(g, "it is what tc_state gives", "argument 'state' is no state");
        return;
    }
    const char *name = state->node->attrs[0].text;
    bool same = state->type.dtype == x->type.dtype && state->type.rank == x->type.rank;
    for (int i = 0; same && i < x->type.rank; ++i)
        same = tc_known_same(g, state->type.shape[i], x->type.shape[i]);
    if (!same) {
        tc_fail(g, "tc_update_slice writes a part", "state \"%s\" is %s, the value %s", name,
                tc_type_text(g, &state->type), tc_type_text(g, &x->type));
        return;
    }
    for (const tc_named *a = g->current->assigns; a; a = a->next) {
        if (!strcmp(a->name, name)) {
            tc_fail(g, "one assignment a function", "state \"%s\" was assigned at %s already", name,
                    tc_site_text(g, a->site));
            return;
        }
    }
    tc_named *a = tc_arena_alloc(&g->arena, sizeof *a);
    *a = (tc_named){name, x, g->op_site, NULL};
    *g->current->assigns_end = a;
    g->current->assigns_end = &a->next;
}

void tc_assign_at(tc_site at, tc_tensor state, tc_tensor x)
{
    tc_graph *g = tc_op_enter(at, "tc_assign", NULL, "state x", 2, (tc_tensor[]){state, x});
    if (!g)
        return;
    assign(g, state, x);
    tc_op_leave(g, NULL);
}
