/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs generated kernels on buffers from standard input and writes the buffers to standard output.
 *
 * Input, little-endian int64 unless said otherwise: number of runs; for each the kernel's number, the team size, the
 * number of dims and the dims, the number of buffers and for each its bytes, its alignment and the content. Output: all
 * buffers of each run in order. Every buffer begins where a guard zone ends, or (teams other than 1) ends where one
 * begins: to read or write in a zone ends the program.
 *
 * `kernels` and `kernel_count` are defined by the test beside the kernels themselves.
 */
#include <stdio.h>
#include <stdlib.h>

#include "autotune/guard.h"
#include "tc_kernel.h"

extern tc_kernel *const kernels[];
extern const int kernel_count;

enum { MOST = 32 };

static int64_t number(void) {
    int64_t n = 0;
    if (fread(&n, sizeof n, 1, stdin) != 1) {
        fprintf(stderr, "run_kernels: input ends early\n");
        exit(2);
    }
    return n;
}

int main(void) {
    for (int64_t runs = number(), run = 0; run < runs; ++run) {
        tc_guard guards[MOST];
        void *p[MOST];
        tc_index d[MOST];
        const int64_t kernel = number(), team = number(), dims = number();
        if (kernel < 0 || kernel >= kernel_count || dims > MOST)
            return 2;
        for (int64_t i = 0; i < dims; ++i)
            d[i] = (tc_index)number();
        const int64_t buffers = number();
        if (buffers > MOST)
            return 2;
        for (int64_t i = 0; i < buffers; ++i) {
            const size_t bytes = (size_t)number(), align = (size_t)number();
            if (!tc_guard_init(&guards[i], bytes, align, team > 1))
                return 2;
            p[i] = guards[i].data;
            if (bytes && fread(p[i], 1, bytes, stdin) != bytes)
                return 2;
        }
        for (int64_t thread = 0; thread < team; ++thread)
            kernels[kernel](p, d, (tc_index)thread, (tc_index)team);
        for (int64_t i = 0; i < buffers; ++i) {
            if (!tc_guard_intact(&guards[i])) {
                fprintf(stderr, "run %d: kernel %d wrote outside buffer %d\n", (int)run, (int)kernel, (int)i);
                return 1;
            }
            fwrite(p[i], 1, guards[i].size, stdout);
            tc_guard_finish(&guards[i]);
        }
    }
    return 0;
}
