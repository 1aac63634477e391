/* SPDX-License-Identifier: Apache-2.0
 *
 * A sort of rows, whose keys lie in scratch: each block of a launch has its own. SORT: the kernel of test_scratch.py.
 */
#include "cases.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 64, SIZE = 6, BLOCKS = 2, EACH = 2 * SIZE * 8 /* bytes of keys and their places */ };
enum { INSTANCE = (EACH + 63) / 64 * 64, FILL = 0xa5 };

extern "C" emulated_kernel SORT;

static bool untouched(const unsigned char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && data[at] == FILL)
        ++at;
    return at == bytes;
}

int main()
{
    static float x[ROWS][SIZE], y[ROWS][SIZE];
    alignas(64) static unsigned char scratch[(BLOCKS + 1) * INSTANCE];
    memset(scratch, FILL, sizeof scratch);
    for (int i = 0; i < ROWS * SIZE; ++i)
        x[0][i] = (float)(i * 37 % 101);
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)scratch, (uint64_t)(uintptr_t)y, SIZE, ROWS};
    emulated_launch(SORT, arguments, BLOCKS, 1, 1, 0);
    bool sorted = true, own = true;
    for (int row = 0; row < ROWS; ++row)
        for (int i = 1; i < SIZE; ++i)
            sorted &= y[row][i - 1] <= y[row][i];
    for (int block = 0; block < BLOCKS; ++block)
        own &= !untouched(scratch + block * INSTANCE, INSTANCE);
    const bool inside = untouched(scratch + BLOCKS * INSTANCE, INSTANCE);
    printf("%sok 1 - rows are sorted\n", sorted ? "" : "not ");
    printf("%sok 2 - each block wrote scratch of its own\n", own ? "" : "not ");
    printf("%sok 3 - and nothing behind it\n", inside ? "" : "not ");
    printf("1..3\n");
    return !(sorted && own && inside);
}
