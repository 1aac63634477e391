/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the model of test_pack.py with a weights file: open FILE VERIFY. Prints the status of opening it, that of the
 * call and the bits of the result.
 */
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <tensor_compile/hosted.h>

int main(int argc, char **argv)
{
    static _Alignas(64) unsigned char arena[MODEL_ARENA_BYTES];
    union {
        float f[2 * 4 * 5 * 7];
        unsigned bits[2 * 4 * 5 * 7];
    } y = {{0}};
    float x[2 * 3 * 6 * 6];
    tc_context context;
    if (argc != 3)
        return 2;
    for (int i = 0; i < 2 * 3 * 6 * 6; ++i)
        x[i] = (float)(i * 7 % 23) / 8 - 1;
    tc_context_init(&context, arena, sizeof arena);
    model_args args = {.batch = 2, .x = x, .y = y.f};
#ifdef EXTERNAL
    tc_weights_file file;
    const tc_status opened = model_weights_open(&file, argv[1], atoi(argv[2]));
    printf("%s\n", tc_status_string(opened));
    if (opened != TC_STATUS_OK)
        return 0;
    args.weights = file.data;
#endif
    printf("%s\n", tc_status_string(model(&context, &args)));
    for (int i = 0; i < 2 * 4 * 5 * 7; ++i)
        printf("%08x\n", y.bits[i]);
    return 0;
}
