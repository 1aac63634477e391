/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture program's main: it is linked with model.c and the library, which has none.
 *
 *   PROGRAM OUT.tcg [DIRECTORY [MODEL.c]]
 *
 * writes the model's graph. DIRECTORY is what __FILE__ of the sources is relative to where it is relative (the
 * compiler's working directory; left out: the present one), MODEL.c the file that was compiled, which #line may call
 * otherwise. Exit code 0; 1 after errors of the model or where OUT cannot be written; 2 for wrong arguments; 3 where
 * memory ends. OUT is replaced in one step or left alone. What the program came to stands in OUT.end, "graph", "errors"
 * or "memory": without it, it was the model that ended the program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static bool capture(tc_graph *g, void *unused)
{
    (void)unused;
    int count = 0;
    for (const tc_entry *e = tc_entries(); e; e = e->next)
        ++count;
    tc_entry **list = tc_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *list);
    int n = 0;
    for (tc_entry *e = tc_entries(); e; e = e->next)
        list[n++] = e;
    return tc_capture(g, count, list);
}

static bool write_file(tc_graph *g, void *path_)
{
    const char *path = path_, *beside = tc_arena_format(&g->arena, "%s.tmp", path);
    FILE *out = fopen(beside, "wb");
    if (!out) {
        fprintf(stderr, "%s: error: cannot be written: %s\n", beside, strerror(errno));
        return false;
    }
    tc_text_write(g, out);
    bool written = !ferror(out);
    written = fclose(out) == 0 && written;
    if (written && rename(beside, path) == 0)
        return true;
    fprintf(stderr, "%s: error: cannot be written: %s\n", path, strerror(errno));
    remove(beside);
    return false;
}

static int end(const char *path, const char *what, int code)
{
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s.end", path);
    FILE *out = length > 0 && (size_t)length < sizeof name ? fopen(name, "wb") : NULL;
    if (out) {
        fputs(what, out);
        fclose(out);
    }
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s OUT.tcg [DIRECTORY [MODEL.c]]\n", argc ? argv[0] : "capture");
        return 2;
    }
    tc_graph *g = tc_graph_create(stderr);
    if (!g)
        return end(argv[1], "memory", 3);
    g->source_directory = argc > 2 ? argv[2] : NULL;
    g->model_file = argc > 3 ? argv[3] : NULL;
    const bool good = tc_attempt(g, capture, NULL) && tc_attempt(g, write_file, argv[1]);
    const bool out_of_memory = g->out_of_memory;
    tc_graph_destroy(g);
    return good ? end(argv[1], "graph", 0) : out_of_memory ? end(argv[1], "memory", 3) : end(argv[1], "errors", 1);
}
