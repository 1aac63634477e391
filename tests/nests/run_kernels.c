/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs generated kernels on buffers from standard input and writes the buffers to standard output.
 *
 * Input, little-endian int64 unless said otherwise: number of runs; for each the kernel's number, the team size, the
 * number of dims and the dims, the number of buffers and for each its bytes and their content. Output: all buffers of
 * each run in order. Every buffer lies between guard zones; a changed one ends the program with status 1.
 *
 * `kernels` and `kernel_count` are defined by the test beside the kernels themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tc_kernel.h"

extern tc_kernel *const kernels[];
extern const int kernel_count;

enum { GUARD = 4096, MOST = 32 };

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
        unsigned char *memory[MOST];
        void *p[MOST];
        tc_index d[MOST];
        size_t bytes[MOST];
        const int64_t kernel = number(), team = number(), dims = number();
        if (kernel < 0 || kernel >= kernel_count || dims > MOST)
            return 2;
        for (int64_t i = 0; i < dims; ++i)
            d[i] = (tc_index)number();
        const int64_t buffers = number();
        if (buffers > MOST)
            return 2;
        for (int64_t i = 0; i < buffers; ++i) {
            bytes[i] = (size_t)number();
            memory[i] = aligned_alloc(64, (bytes[i] + 2 * GUARD + 63) / 64 * 64);
            if (!memory[i])
                return 2;
            memset(memory[i], 0xa5, bytes[i] + 2 * GUARD);
            p[i] = memory[i] + GUARD;
            if (bytes[i] && fread(p[i], 1, bytes[i], stdin) != bytes[i])
                return 2;
        }
        for (int64_t thread = 0; thread < team; ++thread)
            kernels[kernel](p, d, (tc_index)thread, (tc_index)team);
        for (int64_t i = 0; i < buffers; ++i) {
            for (size_t at = 0; at < GUARD; ++at)
                if (memory[i][at] != 0xa5 || memory[i][GUARD + bytes[i] + at] != 0xa5) {
                    fprintf(stderr, "run %d: kernel %d wrote outside buffer %d\n", (int)run, (int)kernel, (int)i);
                    return 1;
                }
            fwrite(p[i], 1, bytes[i], stdout);
            free(memory[i]);
        }
    }
    return 0;
}
