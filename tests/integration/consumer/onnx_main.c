/* SPDX-License-Identifier: Apache-2.0
 *
 * An imported model, y = relu(x w + b), of a size that is known at run time.
 */
#include <string.h>

#include "net.h"

int main(void)
{
    static _Alignas(TC_ALIGNMENT) unsigned char arena[NET_ARENA_BYTES + TC_ALIGNMENT];
    const float x[2][2] = {{1, 0}, {1, 1}}, want[2][3] = {{1.5f, 0, 3}, {5.5f, 0, 9}};
    float y[2][3];
    tc_context context;
    if (tc_context_init(&context, arena, sizeof arena) != TC_STATUS_OK)
        return 1;
    if (net(&context, &(net_args){.n = 2, .x = &x[0][0], .y = &y[0][0]}) != TC_STATUS_OK)
        return 2;
    return memcmp(y, want, sizeof y) ? 3 : 0;
}
