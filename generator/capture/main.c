/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture program: model.c linked with this library.
 *
 *   PROGRAM OUT.tcg [DIRECTORY [MODEL.c]]
 *
 * writes the model's graph. DIRECTORY is what __FILE__ of the sources is relative to where it is relative (the
 * compiler's working directory; left out: the present one), MODEL.c what a file without a model is called. Exit code 0; 1 after errors of the model or where OUT cannot
 * be written; 2 for wrong arguments; 3 where memory ends. OUT is replaced in one step or left alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAX_ENTRIES = 256 };

/* Filled by the constructors of TC_MODEL and TC_FUNCTION, before main. */
static tc_entry *entries[MAX_ENTRIES];
static int entry_count;

void tc_register_(tc_entry *entry)
{
    if (entry_count == MAX_ENTRIES) {
        fprintf(stderr, "%s:%d: error: more than %d functions\n", entry->site.file, entry->site.line, MAX_ENTRIES);
        exit(1);
    }
    /* constructors of one file may run in any order: keep that of the lines */
    int i = entry_count++;
    for (; i > 0 && !strcmp(entries[i - 1]->site.file, entry->site.file) &&
           entries[i - 1]->site.line > entry->site.line;
         --i)
        entries[i] = entries[i - 1];
    entries[i] = entry;
}

static bool write_file(tc_graph *g, const char *path)
{
    const char *beside = tc_arena_format(&g->arena, "%s.tmp", path);
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

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s OUT.tcg [DIRECTORY [MODEL.c]]\n", argc ? argv[0] : "capture");
        return 2;
    }
    tc_graph *g = tc_graph_create(stderr);
    g->source_directory = argc > 2 ? argv[2] : NULL;
    g->model_file = argc > 3 ? argv[3] : NULL;
    bool ok = tc_capture(g, entry_count, entries) && write_file(g, argv[1]);
    tc_graph_destroy(g);
    return ok ? 0 : 1;
}
