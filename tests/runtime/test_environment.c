/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hosted part reads from the environment.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "tap.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

static tc_index threads(const char *value)
{
    setenv("TC_NUM_THREADS", value, 1);
    return tc_environment_threads();
}

static tc_status logs(tc_context *context, const char *value)
{
    tc_context_init(context, NULL, 0);
    setenv("TC_LOGS", value, 1);
    return tc_context_read_logs(context);
}

/* Weights of 7 MiB, embedded or of a file, in huge pages: the same bytes at the same place. */
static void test_huge_pages(void)
{
    enum { BYTES = 7 << 20, HEADER = 128 };
    char path[] = "weightsXXXXXX";
    const int file = mkstemp(path);
    unsigned char *bytes = malloc(BYTES);
    for (size_t i = 0; i < BYTES; ++i)
        bytes[i] = (unsigned char)(i * 2654435761u >> 24);
    const int written = file >= 0 && write(file, bytes, BYTES) == BYTES;
    for (int embedded = 0; embedded < 2; ++embedded) {
        unsigned char *mapped = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
        const tc_model model = {.weights = embedded ? mapped : NULL,
                                .weights_bytes = embedded ? BYTES : BYTES - HEADER};
        const int known = written && mapped != MAP_FAILED;
        const size_t huge = known ? tc_weights_use_huge_pages(&model, embedded ? NULL : mapped) : 0;
        tc_ok(known && huge <= BYTES && !memcmp(mapped, bytes, BYTES), "weights keep their bytes, %s",
              embedded ? "embedded" : "mapped");
        tc_ok(known && tc_weights_use_huge_pages(&model, mapped) == huge && !memcmp(mapped, bytes, BYTES),
              "asked again, nothing moves");
        printf("# %zu bytes in huge pages\n", huge);
        munmap(mapped, BYTES);
    }
    tc_ok(tc_weights_use_huge_pages(NULL, NULL) == 0 && tc_weights_use_huge_pages(&(tc_model){0}, NULL) == 0,
          "no weights, no huge pages");
    close(file);
    unlink(path);
    free(bytes);
}

int main(void)
{
    tc_context context;
    unsetenv("TC_NUM_THREADS");
    const tc_index all = tc_environment_threads();
    tc_ok(all >= 1, "at least one thread");
    tc_ok(threads("3") == 3 && threads("1") == 1 && threads("4096") == 4096, "TC_NUM_THREADS says how many");
    const char *const wrong[] = {"", "0", "-1", "4097", "two", "2x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        tc_ok(threads(wrong[i]) == all, "TC_NUM_THREADS=%s counts as unset", wrong[i]);
    unsetenv("TC_NUM_THREADS");
#ifdef __linux__
    cpu_set_t before, one;
    if (!sched_getaffinity(0, sizeof before, &before)) {
        int first = 0;
        while (!CPU_ISSET(first, &before))
            ++first;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        sched_setaffinity(0, sizeof one, &one);
        tc_ok(tc_environment_threads() == 1, "a process bound to one processor has one thread");
        sched_setaffinity(0, sizeof before, &before);
        tc_ok(tc_environment_threads() == all, "and all of them again when it is not");
    } else {
        tc_skip(2, "the system does not tell which processors may be used");
    }
#else
    tc_skip(2, "processors are bound on Linux alone");
#endif

    tc_ok(logs(&context, "") == TC_STATUS_OK && !context.log && !context.log_topics,
          "an empty TC_LOGS changes nothing");
    tc_ok(logs(&context, "guards,kernels") == TC_STATUS_OK && context.log &&
              context.log_topics == (TC_LOG_GUARDS | TC_LOG_KERNELS),
          "topics by comma");
    tc_ok(logs(&context, "all") == TC_STATUS_OK && context.log_topics == TC_LOG_ALL, "all topics");
    tc_ok(logs(&context, "guards,guard") == TC_STATUS_BAD_ARGUMENT && !context.log &&
              strstr(context.error.message, "unknown topic guard;"),
          "an unknown topic is named");

    /* a recorder: what goes beyond its capacity is counted, what a kernel's name holds is quoted */
    tc_recorder *recorder = tc_recorder_create(1);
    tc_context_use_recorder(&context, recorder);
    for (int i = 0; i < 3; ++i) {
        context.profile(context.profile_user, "f", "generic", "a \"b\"", i, 0, 1);
        context.profile(context.profile_user, "f", "generic", "a \"b\"", i, 0, 0);
    }
    char path[] = "recordXXXXXX", text[400] = {0};
    const int file = mkstemp(path);
    tc_ok(tc_recorder_write(recorder, path) == TC_STATUS_OK && read(file, text, sizeof text - 1) > 0 &&
              strstr(text, "\"name\": \"a \\\"b\\\"\", \"cat\": \"f\"") && strstr(text, "\"step\": 0}}\n") &&
              strstr(text, "\"dropped\": 2}"),
          "a recorder writes what it has room for");
    close(file);
    unlink(path);
    tc_ok(tc_recorder_write(recorder, "/nowhere/record") == TC_STATUS_SYSTEM, "a file that cannot be written");
    tc_context_use_recorder(&context, NULL);
    tc_ok(!context.profile, "no longer recorded");
    tc_recorder_destroy(recorder);
    test_huge_pages();
    return tc_done();
}
