/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program: inputs of a safetensors file in, results of the model into another (test_mains.py reads them).
 */
#include "model.h"

#include <tensor_compile/hosted.h>
#include <tensor_compile/safetensors.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    static tc_context context;
    static _Alignas(64) unsigned char arena[MODEL_ARENA_BYTES], state[MODEL_STATE_BYTES];
    tc_safetensors in;
    tc_weights_file weights;
    float x[3 * 4], y[3 * 2];
    if (argc != 4 || tc_safetensors_open(&in, argv[1]) != TC_STATUS_OK ||
        tc_safetensors_read(&in, "x", TC_DTYPE_F32, x, sizeof x) != TC_STATUS_OK) {
        fprintf(stderr, "%s\n", argc == 4 ? in.message : "main IN OUT WEIGHTS");
        return 1;
    }
    tc_safetensors_close(&in);
    if (model_weights_open(&weights, argv[3], 1) != TC_STATUS_OK || model_state_init(state) != TC_STATUS_OK) {
        fprintf(stderr, "no weights or no state\n");
        return 1;
    }
    tc_context_init(&context, arena, sizeof arena);
    for (int call = 0; call < 2; ++call)
        if (model(&context, &(model_args){.batch = 3, .x = x, .y = y, .state = state, .weights = weights.data}) !=
            TC_STATUS_OK) {
            fprintf(stderr, "%s\n", context.error.message);
            return 1;
        }
    tc_weights_close(&weights);
    const tc_safetensor out = {
        .name = "y", .dtype = TC_DTYPE_F32, .rank = 2, .shape = {3, 2}, .data = y, .bytes = sizeof y};
    return tc_safetensors_write(argv[2], &out, 1) != TC_STATUS_OK;
}
