/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages, and the paths in them: relative to the directory of the model's file, so that neither messages nor the
 * graph's text depend on where the model is built.
 */
#include <stdarg.h>
#include <string.h>

#include "internal.h"

typedef struct tc_message {
    const char *text;
    struct tc_message *next;
} tc_message;

/* "in layer.3.fc1: ", where the call stands in a scope that the message does not name itself; else nothing. */
static const char *scope_text(tc_graph *g, const char *text)
{
    const tc_captured *f = g->current;
    const char *scope = f ? tc_arena_format(&g->arena, "%s%s", f->base, tc_scoped_name(g, "")) : "";
    const size_t length = strlen(scope); /* with the dot at its end */
    if (!length || strstr(text, tc_arena_format(&g->arena, "\"%s", scope)))
        return "";
    return tc_arena_format(&g->arena, "in %.*s: ", (int)length - 1, scope);
}

static void report(tc_graph *g, const char *kind, tc_site site, const char *hint, const char *text)
{
    const char *name = g->op_depth > g->op_base && g->op_name ? g->op_name : NULL;
    const char *start = tc_arena_format(&g->arena, "%s:%d: %s: %s%s", tc_short_path(g, site.file), site.line, kind,
                                        name ? name : "", name ? ": " : "");
    const char *end = hint ? tc_arena_format(&g->arena, "%s\n  hint: %s\n", text, hint)
                           : tc_arena_format(&g->arena, "%s\n", text);
    const char *whole = tc_arena_format(&g->arena, "%s%s", start, end);
    for (const tc_message *m = g->messages; m; m = m->next)
        if (!strcmp(m->text, whole))
            return; /* of a helper in a loop: the first scope is told */
    tc_message *m = tc_arena_alloc(&g->arena, sizeof *m);
    *m = (tc_message){whole, g->messages};
    g->messages = m;
    fprintf(g->errors, "%s%s%s", start, name ? scope_text(g, text) : "", end);
}

void tc_error(tc_graph *g, tc_site site, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ++g->error_count;
    report(g, "error", site, hint, tc_arena_vformat(&g->arena, format, args));
    va_end(args);
}

void tc_fail(tc_graph *g, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ++g->error_count;
    report(g, "error", g->op_site, hint, tc_arena_vformat(&g->arena, format, args));
    va_end(args);
}

void tc_warn(tc_graph *g, tc_site site, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(g, "warning", site, hint, tc_arena_vformat(&g->arena, format, args));
    va_end(args);
}

void tc_notify(tc_graph *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(g, "note", g->op_site, NULL, tc_arena_vformat(&g->arena, format, args));
    va_end(args);
}

/* The path without `.`, empty and resolvable `..` components. */
static const char *normalize(tc_graph *g, const char *path)
{
    size_t n = strlen(path);
    char *out = tc_arena_alloc(&g->arena, n + 2);
    size_t used = 0, root = path[0] == '/';
    if (root)
        out[used++] = '/';
    for (size_t i = root; i < n;) {
        size_t end = i + strcspn(path + i, "/");
        size_t length = end - i;
        bool up = length == 2 && !memcmp(path + i, "..", 2);
        if (up && used > root) {
            size_t last = used;
            while (last > root && out[last - 1] != '/')
                --last;
            if (!(used - last == 2 && !memcmp(out + last, "..", 2))) {
                used = last > root ? last - 1 : root;
                length = 0;
            }
        } else if ((length == 1 && path[i] == '.') || (up && root)) {
            length = 0;
        }
        if (length) {
            if (used > root)
                out[used++] = '/';
            memcpy(out + used, path + i, length);
            used += length;
        }
        i = end + 1;
    }
    out[used] = 0;
    return out;
}

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

const char *tc_short_path(tc_graph *g, const char *path)
{
    const char *model = g->model_file ? normalize(g, g->model_file) : "", *full = normalize(g, path);
    if ((model[0] == '/') != (full[0] == '/'))
        return full;
    size_t directory = directory_length(model), same = 0;
    for (size_t i = 0; i < directory && full[i] == model[i]; ++i)
        if (full[i] == '/')
            same = i + 1;
    const char *out = full + same;
    for (size_t i = same; i < directory; ++i)
        if (model[i] == '/')
            out = tc_arena_format(&g->arena, "../%s", out);
    return out;
}

const char *tc_site_text(tc_graph *g, tc_site site)
{
    if (!strcmp(site.file, g->op_site.file))
        return tc_arena_format(&g->arena, "line %d", site.line);
    return tc_arena_format(&g->arena, "%s:%d", tc_short_path(g, site.file), site.line);
}

const char *tc_join_path(tc_graph *g, const char *from, const char *path)
{
    if (path[0] == '/')
        return path;
    return tc_arena_format(&g->arena, "%.*s%s", (int)directory_length(from), from, path);
}

const char *tc_open_path(tc_graph *g, const char *from, const char *path)
{
    const char *joined = tc_join_path(g, from, path);
    if (joined[0] != '/' && g->source_directory)
        joined = tc_arena_format(&g->arena, "%s/%s", g->source_directory, joined);
    return joined;
}
