/* SPDX-License-Identifier: Apache-2.0
 *
 * An open device, for the files of this folder.
 */
#ifndef TC_CUDA_DEVICE_H
#define TC_CUDA_DEVICE_H

#include "api.h"
#include "products.h"

#include <tensor_compile/cuda.h>
#include <tensor_compile/driver.h>

/* A loaded model. module: its image; functions: one a kernel, in the order of its table; so plans of those that are
 * products of the library's. biases: what tc_device_code.biases makes. */
typedef struct tc_cuda_loaded {
    const tc_model *model;
    tc_cuda_address weights, biases;
    void *module, **functions;
    tc_lt_plan *plans;
    struct tc_cuda_loaded *next;
} tc_cuda_loaded;

/* A tensor map, and what it was encoded from; box 0: none. */
typedef struct tc_cuda_map_key {
    uint64_t address;
    int64_t terms, lines, line_bytes;
    uint64_t box;
} tc_cuda_map_key;

typedef struct tc_cuda_map {
    tc_cuda_map_key key;
    uint64_t words[16];
} tc_cuda_map;

enum { TC_CUDA_MAPS = 256 }; /* kept; a power of two */

/* A recorded call (graphs.c). */
typedef struct tc_cuda_graph tc_cuda_graph;

/* A part beside the row of a recording's launches: its stream, and the event behind its last launch. */
typedef struct tc_cuda_part {
    void *stream, *ended;
} tc_cuda_part;

struct tc_cuda {
    tc_device device; /* first: the core's view */
    tc_cuda_api api;
    tc_lt lt; /* open where a model asked for it */
    int ordinal;
    void *context;
    int overlaps; /* the driver starts kernels before those in front of them have ended, where they wait by themselves */
    int owns_arena;
    tc_cuda_loaded *models;
    const tc_cuda_loaded *current; /* during a call */
    int graphs_asked;              /* as tc_cuda_graphs has it */
    tc_cuda_graph *graphs;         /* last used first */
    tc_cuda_graph *recording;      /* between begin and end of a call */
    void *forked; /* the event behind which parts of the recording begin; NULL: none was asked for yet */
    tc_cuda_part parts[TC_DEVICE_PARTS];
    unsigned part, parts_open;      /* where launches go, 0 the row; bit i: part i has begun */
    unsigned waits;                 /* bit i: the next launch of part i, 0 the row, is the first behind an event */
    tc_cuda_map maps[TC_CUDA_MAPS]; /* by what they are of; the last one at each place */
};

/* Fills *error (NULL: nobody asks) with "cuda: SUBJECT: REASON" and returns status. subject: static storage. */
tc_status tc_cuda_fail(tc_error *error, tc_status status, const char *subject, const char *reason);

/* What the driver answered to `what`: OK where the code is 0, else `status`, or TC_STATUS_DEVICE. */
tc_status tc_cuda_answer_as(const tc_cuda *cuda, int code, tc_status status, const char *what, tc_error *error);
tc_status tc_cuda_answer(const tc_cuda *cuda, int code, const char *what, tc_error *error);

/* Gives all of a model back that has been loaded so far; the device's context is current. */
void tc_cuda_unload(tc_cuda *cuda, tc_cuda_loaded *model);

/* Keeps what a call was refused for, where it is the first. */
void tc_cuda_note(tc_cuda *cuda, int code, const char *what);

/* tc_device.begin and .end, and where launches go between them. */
int tc_cuda_begin(tc_device *device, const tc_variant *variant, const tc_index *dims, unsigned dim_count, int varies,
                  uint64_t *externals, unsigned count);
void tc_cuda_branch(tc_device *device, unsigned where);
void tc_cuda_end(tc_device *device);

/* Where a launch goes. */
void *tc_cuda_stream(const tc_cuda *cuda);

/* Gives the streams and events of parts back; the device's context is current. */
void tc_cuda_drop_parts(tc_cuda *cuda);

/* Gives all recordings back; the device's context is current. */
void tc_cuda_drop_graphs(tc_cuda *cuda);

#endif
