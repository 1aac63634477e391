/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with a model for CUDA on a machine without it: it links, runs, and is told what is missing.
 */
#include "digits.h"
#include "tap.h"

#include <tensor_compile/cuda.h>

#include <string.h>

int main(void)
{
    tc_context context;
    static float image[64], probabilities[10];
    probabilities[0] = 42.0f;
    tc_ok(tc_context_init(&context, NULL, 0) == TC_STATUS_OK, "a context needs no arena of the processor's");
    const digits_args args = {.batch = 1, .image = image, .probabilities = probabilities};
    tc_ok(digits(&context, &args) == TC_STATUS_NO_DEVICE, "a call without a device in the context");
    tc_ok(strstr(context.error.message, "compiled for cuda: the context has no such device"), "%s",
          context.error.message);
    tc_ok(probabilities[0] == 42.0f, "the output is as it was");
    const digits_args wrong = {.batch = 1000, .image = image, .probabilities = probabilities};
    tc_ok(digits(&context, &wrong) == TC_STATUS_DIM_OUT_OF_RANGE, "arguments are checked first");
    tc_ok(digits_arena_bytes(1, 1) > 0 && digits_arena_bytes(1, 1) <= DIGITS_ARENA_BYTES, "the arena's size is told");

    tc_cuda *cuda = (tc_cuda *)&context;
    tc_error error;
    const tc_status status = tc_cuda_open(&cuda, 1 << 20, &error); /* more devices than there are anywhere */
    tc_ok(status == TC_STATUS_NO_DEVICE && !cuda, "no such device: %s", error.message);
    tc_ok(error.status == status && error.message[0], "the error tells");
    tc_cuda_close(cuda);
    tc_ok(tc_cuda_load(NULL, &digits_model, NULL, &error) == TC_STATUS_NULL_POINTER, "nothing is loaded on nothing");
    tc_ok(tc_cuda_reserve(NULL, 64, NULL) == TC_STATUS_NULL_POINTER, "an error need not be asked for");
    tc_context_use_cuda(&context, NULL);
    tc_ok(digits(&context, &args) == TC_STATUS_NO_DEVICE, "a context without a device again");
    return tc_done();
}
