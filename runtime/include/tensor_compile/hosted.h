/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosted part of the runtime: what needs an operating system. It reaches calls only through the fields of a
 * context; a program may leave out any of it or put its own in its place.
 */
#ifndef TENSOR_COMPILE_HOSTED_H
#define TENSOR_COMPILE_HOSTED_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- environment --------------------------------------------------------------------------------------------------- */

/* Reads TC_LOGS (topics by comma: errors, guards, kernels, all) into log and log_topics, printing to stderr. Unset or
 * empty: nothing changes. TC_STATUS_BAD_ARGUMENT names an unknown topic in context->error. */
tc_status tc_context_read_logs(tc_context *context);

/* The number of threads to use: TC_NUM_THREADS where it is set, else the processors that this process
 * may run on. At least 1. A value that is no number from 1 to 4096 counts as unset. */
tc_index tc_environment_threads(void);

/* -- teams --------------------------------------------------------------------------------------------------------- */

/* A pool of resident POSIX threads. The calling thread is one of the team: `threads` - 1 are started. Between calls
 * they spin for a short time, then sleep. A call wakes those that sleep; where they take long, it begins without them; a
 * call of some microseconds wakes nobody. A pool serves one call at a time: a call that finds it busy runs on its own
 * thread alone, so contexts in several threads may share it. In a child behind fork() a pool of its parent has no
 * threads: calls on it run on the calling thread alone, and it may be destroyed. */
typedef struct tc_pool tc_pool;

/* NULL where threads < 1 or > 8191, or where memory or threads cannot be had. */
tc_pool *tc_pool_create(tc_index threads);

/* In tc_pool_options.processors: the thread runs wherever the operating system puts it. */
enum { TC_ANY_PROCESSOR = -1 };

typedef struct tc_pool_options {
    tc_index threads; /* of the team, the calling one among them */
    /* For each thread of the team the processor that it stays on, by the operating system's number. The first is the
     * calling thread, which the pool does not move: its entry is not read. NULL: all run wherever the system puts them;
     * on Linux a worker that finds another thread of the team on its processor goes to a free one. */
    const int *processors;
} tc_pool_options;

/* The same with options. NULL also where a thread cannot stay on its processor: the process may not run there, or the
 * operating system (other than Linux) has no such call. */
tc_pool *tc_pool_create_with(const tc_pool_options *options);

/* No call may be using it any more. NULL is accepted. */
void tc_pool_destroy(tc_pool *pool);

/* The context's calls run on the pool from now on, and yield the processor when they wait long. Without a pool (NULL:
 * as where it could not be made) they run on the calling thread alone. */
void tc_context_use_pool(tc_context *context, tc_pool *pool);

/* The same on OpenMP's threads (link with the dependency tensor-compile-openmp): up to `threads` of them, 0: as many
 * as OpenMP would use by itself. In a child behind fork() calls run on the calling thread alone where the parent had
 * such a team. */
void tc_context_use_openmp(tc_context *context, tc_index threads);

/* -- profiles ------------------------------------------------------------------------------------------------------ */

/* Records when every thread starts and ends every kernel: `capacity` kernels at most, later ones are counted and
 * dropped (a kernel counts once a thread, in a loop once an iteration). A recorder serves one context. */
typedef struct tc_recorder tc_recorder;

/* NULL where memory cannot be had. */
tc_recorder *tc_recorder_create(size_t capacity);

/* No context may be using it any more. NULL is accepted. */
void tc_recorder_destroy(tc_recorder *recorder);

/* Forgets what was recorded. */
void tc_recorder_clear(tc_recorder *recorder);

/* The context's calls are recorded from now on; NULL: no longer. */
void tc_context_use_recorder(tc_context *context, tc_recorder *recorder);

/* What was recorded as JSON of trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing show and
 * `tensor-compile profile --from` reads. Not during a call. TC_STATUS_SYSTEM: the file cannot be written. */
tc_status tc_recorder_write(const tc_recorder *recorder, const char *path);

/* -- external weights ---------------------------------------------------------------------------------------------- */

/* A weights file mapped read-only. data: what goes into the arguments of calls. Valid until closed. */
typedef struct tc_weights_file {
    const void *data;
    size_t bytes;
} tc_weights_file;

/* Maps the file of `model` at `path`. Checks size and header; with `verify` also the hash of the whole payload, which
 * reads all of it. On failure *file is empty. TC_STATUS_SYSTEM (errno says why), TC_STATUS_BAD_WEIGHTS. */
tc_status tc_weights_open(tc_weights_file *file, const tc_model *model, const char *path, int verify);

/* Unmaps. Closing twice, an empty one or NULL does nothing. */
void tc_weights_close(tc_weights_file *file);

/* Moves weights into huge pages, where the operating system gives them to programs that ask (Linux): `weights` as
 * arguments of calls have them, not read there where they are embedded. Their addresses stay. They are a copy in memory
 * of this process then, which shares it no longer with others that map the file. Not during a call. Returns how many of
 * their bytes lie in huge pages now: what does not fill such a page stays where it is; 0 where there are none. */
size_t tc_weights_use_huge_pages(const tc_model *model, const void *weights);

#ifdef __cplusplus
}
#endif

#endif
