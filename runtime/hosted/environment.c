/* SPDX-License-Identifier: Apache-2.0
 *
 * TC_LOGS and TC_NUM_THREADS.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <tensor_compile/hosted.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_line(void *user, unsigned topic, const char *text)
{
    (void)user;
    (void)topic;
    fprintf(stderr, "tensor-compile: %s\n", text);
}

tc_status tc_context_read_logs(tc_context *context)
{
    static const struct {
        const char *name;
        unsigned topics;
    } known[] = {{"errors", TC_LOG_ERRORS},
                 {"guards", TC_LOG_GUARDS},
                 {"kernels", TC_LOG_KERNELS},
                 {"all", TC_LOG_ALL}};
    if (!context)
        return TC_STATUS_NULL_POINTER;
    const char *at = getenv("TC_LOGS");
    unsigned topics = 0;
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        unsigned found = 0;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
            if (strlen(known[i].name) == n && !strncmp(known[i].name, at, n))
                found = known[i].topics;
        if (n && !found) {
            context->error = (tc_error){.status = TC_STATUS_BAD_ARGUMENT, .subject = "TC_LOGS", .position = -1};
            snprintf(context->error.message, sizeof context->error.message,
                     "TC_LOGS: unknown topic %.*s; known: errors, guards, kernels, all", n > 40 ? 40 : (int)n, at);
            return TC_STATUS_BAD_ARGUMENT;
        }
        topics |= found;
        at += n + (at[n] == ',');
    }
    if (topics) {
        context->log = print_line;
        context->log_user = NULL;
        context->log_topics = topics;
    }
    return TC_STATUS_OK;
}

/* Those that this process may run on, where the system tells: a container has a few of many. */
static tc_index processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        return CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online;
}

tc_index tc_environment_threads(void)
{
    const char *text = getenv("TC_NUM_THREADS");
    char *end;
    const long asked = text ? strtol(text, &end, 10) : 0;
    if (text && *text && !*end && asked >= 1 && asked <= 4096)
        return asked;
    return processors();
}
