/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the decoder on a device (of fake_driver.cc): what each refusal says and leaves untouched. Arguments: the
 * scenario, which the test has prepared the driver for, and what the message has to say.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "model.h"
#include "tap.h"

#include <tensor_compile/cuda.h>

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 5, VOCABULARY = 96 };

static tc_context context;
static tc_error error;
static int32_t ids[LENGTH] = {3, 1, 4, 1, 5};
static float logits[LENGTH * VOCABULARY];
static _Alignas(64) unsigned char state[DECODER_MODEL_STATE_BYTES], before[DECODER_MODEL_STATE_BYTES];

static tc_status prefill(void)
{
    memset(logits, 0x55, sizeof logits);
    memcpy(before, state, sizeof state);
    return decoder_model_prefill(
        &context, &(decoder_model_prefill_args){.length = LENGTH, .ids = ids, .logits = logits, .state = state});
}

static const char *wanted = "";

/* Whether a status is `status`, explained by a message with the words that are wanted. */
static int said(tc_status got, tc_status status, const tc_error *of)
{
    return got == status && of->status == status && strstr(of->message, wanted) != NULL;
}

static int untouched(void)
{
    for (size_t i = 0; i < sizeof logits; ++i)
        if (((unsigned char *)logits)[i] != 0x55)
            return 0;
    return !memcmp(before, state, sizeof state);
}

static void refusals(tc_cuda *cuda)
{
    tc_context_use_cuda(&context, cuda);
    tc_ok(prefill() == TC_STATUS_ARENA_TOO_SMALL && untouched() &&
              strstr(context.error.message, "the device's arena has 0 bytes, this call needs "),
          "no arena yet: %s", context.error.message);
    tc_ok(tc_cuda_reserve(cuda, DECODER_MODEL_PREFILL_ARENA_BYTES, &error) == TC_STATUS_OK,
          "an arena of the header's size");
    tc_ok(prefill() == TC_STATUS_NO_DEVICE && untouched(), "not loaded yet: %s", context.error.message);
    tc_ok(strstr(context.error.message, "decoder_model is not loaded on the context's device"), "the message names the model");
    tc_ok(tc_cuda_load(cuda, &decoder_model_model, NULL, &error) == TC_STATUS_OK, "the model is loaded");
    tc_ok(tc_cuda_load(cuda, &decoder_model_model, NULL, &error) == TC_STATUS_BAD_ARGUMENT, "once: %s", error.message);
    tc_ok(prefill() == TC_STATUS_OK, "a call: %s", context.error.message);
    const float first = logits[0];

    ids[2] = VOCABULARY;
    tc_ok(prefill() == TC_STATUS_INDEX_OUT_OF_RANGE && untouched(), "an index out of range: %s", context.error.message);
    tc_ok(context.error.position == 2 && context.error.value == VOCABULARY && context.error.high == VOCABULARY - 1 &&
              !strcmp(context.error.subject, "ids"),
          "and where");
    ids[2] = 4, ids[4] = -7, ids[1] = -1;
    tc_ok(prefill() == TC_STATUS_INDEX_OUT_OF_RANGE && context.error.position == 1 && context.error.value == -1,
          "of several the first: %s", context.error.message);
    ids[4] = 5, ids[1] = 1;
    tc_ok(prefill() == TC_STATUS_OK && logits[0] == first, "the same result after that");

    tc_ok(tc_cuda_borrow(cuda, 0, 64, &error) == TC_STATUS_NULL_POINTER, "memory at 0: %s", error.message);
    tc_ok(tc_cuda_borrow(cuda, 72, 64, &error) == TC_STATUS_MISALIGNED, "misaligned memory: %s", error.message);
    tc_ok(prefill() == TC_STATUS_OK && logits[0] == first, "a refused arena leaves the old one");
    tc_ok(tc_cuda_reserve(cuda, 0, &error) == TC_STATUS_OK && prefill() == TC_STATUS_ARENA_TOO_SMALL,
          "the arena given back");
    tc_ok(tc_cuda_load(cuda, NULL, NULL, &error) == TC_STATUS_NULL_POINTER, "no model: %s", error.message);
}

static void ready(tc_cuda *cuda)
{
    tc_context_use_cuda(&context, cuda);
    tc_ok(tc_cuda_load(cuda, &decoder_model_model, NULL, &error) == TC_STATUS_OK &&
              tc_cuda_reserve(cuda, DECODER_MODEL_PREFILL_ARENA_BYTES, &error) == TC_STATUS_OK,
          "a model and its arena");
}

static void failing_call(void)
{
    tc_ok(said(prefill(), TC_STATUS_DEVICE, &context.error) && untouched(), "the driver refuses: %s",
          context.error.message);
}

static void short_of_memory(tc_cuda *cuda)
{
    tc_context_use_cuda(&context, cuda);
    tc_ok(tc_cuda_load(cuda, &decoder_model_model, NULL, &error) == TC_STATUS_OK, "a model");
    tc_ok(said(tc_cuda_reserve(cuda, DECODER_MODEL_PREFILL_ARENA_BYTES, &error), TC_STATUS_DEVICE, &error),
          "no arena: %s", error.message);
    tc_ok(prefill() == TC_STATUS_ARENA_TOO_SMALL && untouched(), "and no call: %s", context.error.message);
    tc_ok(tc_cuda_reserve(cuda, DECODER_MODEL_PREFILL_ARENA_BYTES, &error) == TC_STATUS_OK && prefill() == TC_STATUS_OK,
          "there is memory again");
}

/* Arguments on the device. */
static uint64_t d_ids, d_logits[2], d_state;

static void place(tc_cuda *cuda)
{
    tc_state_init(&decoder_model_model, state);
    tc_cuda_allocate(cuda, &d_ids, sizeof ids, &error);
    for (int i = 0; i < 2; ++i)
        tc_cuda_allocate(cuda, &d_logits[i], sizeof logits, &error);
    tc_ok(tc_cuda_allocate(cuda, &d_state, sizeof state, &error) == TC_STATUS_OK, "memory on the device");
    tc_ok(tc_cuda_upload(cuda, d_state, state, sizeof state, NULL, &error) == TC_STATUS_OK &&
              tc_cuda_upload(cuda, d_ids, ids, sizeof ids, NULL, &error) == TC_STATUS_OK,
          "the arguments are there");
}

static tc_status prefill_there(int which, tc_index length)
{
    return decoder_model_prefill_cuda(&context,
                                      &(decoder_model_prefill_args){.length = length,
                                                                    .ids = (const int32_t *)(uintptr_t)d_ids,
                                                                    .logits = (float *)(uintptr_t)d_logits[which],
                                                                    .state = (void *)(uintptr_t)d_state},
                                      NULL);
}

/* What the device has as logits and state is that of the call with pointers of the processor's memory. */
static int right(tc_cuda *cuda, int which)
{
    static float found[LENGTH * VOCABULARY];
    static unsigned char there[DECODER_MODEL_STATE_BYTES];
    return tc_cuda_download(cuda, found, d_logits[which], sizeof found, NULL, &error) == TC_STATUS_OK &&
           tc_cuda_download(cuda, there, d_state, sizeof there, NULL, &error) == TC_STATUS_OK &&
           tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_OK && !memcmp(found, logits, sizeof logits) &&
           !memcmp(there, state, sizeof state);
}

static void give_back(tc_cuda *cuda)
{
    tc_cuda_free(cuda, d_ids, &error), tc_cuda_free(cuda, d_state, &error), tc_cuda_free(cuda, 0, &error);
    tc_ok(tc_cuda_free(cuda, d_logits[0], &error) == TC_STATUS_OK && tc_cuda_free(cuda, d_logits[1], &error) == TC_STATUS_OK,
          "and given back");
}

static void resident(tc_cuda *cuda)
{
    ready(cuda);
    place(cuda);
    tc_ok(prefill() == TC_STATUS_OK, "a call with the processor's memory");
    for (int sizes = 0; sizes < 3; ++sizes) {
        tc_cuda_graphs(cuda, sizes);
        for (int i = 0; i < 4; ++i)
            tc_ok(prefill_there(i % 2, LENGTH) == TC_STATUS_OK && right(cuda, i % 2), "%d recordings, call %d: %s", sizes, i,
                  context.error.message);
        tc_ok(prefill_there(0, 2) == TC_STATUS_OK && prefill_there(1, LENGTH) == TC_STATUS_OK && right(cuda, 1),
              "another size between");
    }
    tc_ok(prefill() == TC_STATUS_OK && right(cuda, 1), "the processor's memory by a recording");
    ids[3] = VOCABULARY + 1;
    tc_cuda_upload(cuda, d_ids, ids, sizeof ids, NULL, &error);
    tc_ok(prefill_there(0, LENGTH) == TC_STATUS_OK, "a call does not wait for what it finds");
    tc_ok(tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_INDEX_OUT_OF_RANGE && error.position == 3 &&
              error.value == VOCABULARY + 1 && error.high == VOCABULARY - 1 && !strcmp(error.subject, "ids"),
          "it is told at the end: %s", error.message);
    tc_ok(tc_cuda_finish(cuda, NULL, &error) == TC_STATUS_OK, "once");
    ids[3] = 1;
    tc_cuda_upload(cuda, d_ids, ids, sizeof ids, NULL, &error);
    tc_cuda_upload(cuda, d_state, before, sizeof before, NULL, &error);
    tc_cuda_graphs(cuda, -1);
    tc_ok(prefill_there(0, LENGTH) == TC_STATUS_OK && right(cuda, 0), "nothing recorded");
    d_logits[0] += 4;
    tc_ok(prefill_there(0, LENGTH) == TC_STATUS_MISALIGNED, "misaligned: %s", context.error.message);
    d_logits[0] -= 4;
    tc_ok(tc_cuda_allocate(cuda, NULL, 4, &error) == TC_STATUS_NULL_POINTER &&
              tc_cuda_finish(NULL, NULL, &error) == TC_STATUS_NULL_POINTER,
          "nowhere: %s", error.message);
    give_back(cuda);
}

/* A recording that the driver refuses ends its call; the next one is right. */
static void recorded(tc_cuda *cuda)
{
    ready(cuda);
    place(cuda);
    tc_cuda_graphs(cuda, 4);
    tc_ok(said(prefill_there(0, LENGTH), TC_STATUS_DEVICE, &context.error), "refused: %s", context.error.message);
    tc_ok(prefill() == TC_STATUS_OK && prefill_there(1, LENGTH) == TC_STATUS_OK && right(cuda, 1), "the next call: %s",
          context.error.message);
    give_back(cuda);
}

/* Addresses that did not reach a recording's table are written at the next call. */
static void table(tc_cuda *cuda)
{
    ready(cuda);
    place(cuda);
    tc_cuda_graphs(cuda, 4);
    tc_ok(prefill() == TC_STATUS_OK && prefill_there(0, LENGTH) == TC_STATUS_OK && right(cuda, 0), "recorded: %s",
          context.error.message);
    setenv("FAKE_CUDA_FAIL", "cuMemcpyHtoDAsync:0", 1);
    tc_ok(said(prefill_there(1, LENGTH), TC_STATUS_DEVICE, &context.error), "another address, refused: %s",
          context.error.message);
    unsetenv("FAKE_CUDA_FAIL");
    tc_ok(prefill_there(1, LENGTH) == TC_STATUS_OK && right(cuda, 1), "the same once more");
    give_back(cuda);
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "";
    wanted = argc > 2 ? argv[2] : "";
    tc_context_init(&context, NULL, 0);
    tc_state_init(&decoder_model_model, state);
    tc_cuda *cuda;
    const tc_status status = tc_cuda_open(&cuda, 0, &error);
    if (!strcmp(scenario, "absent")) {
        tc_ok(said(status, TC_STATUS_NO_DEVICE, &error) && !cuda, "nothing to run on: %s", error.message);
    } else if (!strcmp(scenario, "open")) {
        tc_ok(said(status, TC_STATUS_DEVICE, &error) && !cuda, "not opened: %s", error.message);
    } else if (!strcmp(scenario, "foreign") || !strcmp(scenario, "load")) {
        const tc_status want = *scenario == 'f' ? TC_STATUS_NO_DEVICE : TC_STATUS_DEVICE;
        tc_ok(status == TC_STATUS_OK && said(tc_cuda_load(cuda, &decoder_model_model, NULL, &error), want, &error),
              "not loaded: %s", error.message);
        ready(cuda);
        tc_ok(prefill() == TC_STATUS_OK, "loaded at the next try: %s", context.error.message);
    } else if (!strcmp(scenario, "memory")) {
        short_of_memory(cuda);
    } else if (!strcmp(scenario, "resident")) {
        resident(cuda);
    } else if (!strcmp(scenario, "recorded")) {
        recorded(cuda);
    } else if (!strcmp(scenario, "table")) {
        table(cuda);
    } else if (!strcmp(scenario, "call")) {
        ready(cuda);
        failing_call();
        tc_ok(prefill() == TC_STATUS_OK, "it does not last: %s", context.error.message);
    } else if (!strcmp(scenario, "lost")) {
        ready(cuda);
        failing_call();
        failing_call();
        tc_ok(said(tc_cuda_reserve(cuda, 1 << 20, &error), TC_STATUS_DEVICE, &error), "nor is there memory: %s",
              error.message);
    } else {
        tc_ok(status == TC_STATUS_OK, "a device: %s", status == TC_STATUS_OK ? "opened" : error.message);
        refusals(cuda);
    }
    tc_cuda_close(cuda);
    tc_cuda_close(NULL);
    return tc_done();
}
