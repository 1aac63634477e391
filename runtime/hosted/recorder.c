/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorder of kernels' times behind the profile callback, and its file.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <tensor_compile/hosted.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 1024 }; /* those beyond are not recorded */

typedef struct event {
    const char *function, *variant, *kernel;
    tc_index step, thread;
    int64_t begin, end; /* nanoseconds; end 0 while it runs */
} event;

struct tc_recorder {
    event *events;
    size_t capacity, count; /* count: asked for, may go beyond the capacity */
    size_t open[THREADS];   /* 1 + the event that the thread is in; 0: none */
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A thread writes to its own events and to its own place in `open`; the count is shared. */
static void record(void *user, const char *function, const char *variant, const char *kernel, tc_index step,
                   tc_index thread, int begin)
{
    tc_recorder *r = user;
    if (thread < 0 || thread >= THREADS)
        return;
    if (!begin) {
        if (r->open[thread])
            r->events[r->open[thread] - 1].end = now();
        r->open[thread] = 0;
        return;
    }
    const size_t at = __atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED);
    if (at >= r->capacity)
        return;
    r->events[at] = (event){function, variant, kernel, step, thread, now(), 0};
    r->open[thread] = at + 1;
}

tc_recorder *tc_recorder_create(size_t capacity)
{
    tc_recorder *r = calloc(1, sizeof *r);
    if (r && capacity <= SIZE_MAX / sizeof *r->events)
        r->events = malloc(capacity * sizeof *r->events + 1);
    if (!r || !r->events) {
        free(r);
        return NULL;
    }
    r->capacity = capacity;
    return r;
}

void tc_recorder_destroy(tc_recorder *r)
{
    if (r)
        free(r->events);
    free(r);
}

void tc_recorder_clear(tc_recorder *r)
{
    if (r)
        r->count = 0;
}

void tc_context_use_recorder(tc_context *context, tc_recorder *r)
{
    if (!context)
        return;
    context->profile = r ? record : NULL;
    context->profile_user = r;
}

/* A JSON string; what is no printable ASCII is left out, names of C and of places have none. */
static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; text && *text; ++text) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if (*text >= ' ' && *text < 127)
            fputc(*text, file);
    }
    fputc('"', file);
}

tc_status tc_recorder_write(const tc_recorder *r, const char *path)
{
    if (!r || !path)
        return TC_STATUS_NULL_POINTER;
    FILE *file = fopen(path, "w");
    if (!file)
        return TC_STATUS_SYSTEM;
    const size_t kept = r->count < r->capacity ? r->count : r->capacity;
    fputs("{\"traceEvents\": [", file);
    const char *separator = "\n";
    for (size_t i = 0; i < kept; ++i) {
        const event *e = &r->events[i];
        if (!e->end)
            continue;
        fprintf(file, "%s{\"ph\": \"X\", \"pid\": 1, \"tid\": %td, \"ts\": %.3f, \"dur\": %.3f, \"name\": ", separator,
                e->thread, (double)(e->begin - r->events[0].begin) / 1000, (double)(e->end - e->begin) / 1000);
        put_string(file, e->kernel);
        fputs(", \"cat\": ", file);
        put_string(file, e->function);
        fputs(", \"args\": {\"variant\": ", file);
        put_string(file, e->variant);
        fprintf(file, ", \"step\": %td}}", e->step);
        separator = ",\n";
    }
    fprintf(file, "\n], \"otherData\": {\"dropped\": %zu}}\n", r->count - kept);
    const int bad = ferror(file);
    return fclose(file) || bad ? TC_STATUS_SYSTEM : TC_STATUS_OK;
}
