/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of run_cases.cc.
 */
#include "emulate.h"

#include <stddef.h>
#include <stdint.h>

typedef void cpu_kernel(void *const *p, const ptrdiff_t *d, ptrdiff_t thread, ptrdiff_t threads);

/* kind: f (f32), b (bool), i (integers); size: bytes of an element. */
struct case_buffer {
    char kind;
    size_t size, elements;
    bool scratch;
};

/* What a tensor map describes: bulk_copies.py's BulkCopy. */
struct case_map {
    int buffer;
    long long offset, terms, lines, stride;
    unsigned box;
};

struct case_row {
    const char *name; /* NULL: behind the last */
    cpu_kernel *cpu;
    emulated_kernel *cuda;
    unsigned threads, cluster;
    int buffer_count, dim_count;
    const case_buffer *buffers;
    const ptrdiff_t *dims;
    int map_count;
    const case_map *maps;
    int64_t below;
    bool extreme, integers; /* numbers of any kind; small integers */
    size_t line, left_out;  /* rows of the first buffer have zeros from their number + left_out on; 0: none have */
};

extern const case_row cases[];
