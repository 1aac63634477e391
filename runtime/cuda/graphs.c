/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded calls: the launches of a variant as one CUDA graph, made at the first call with its dims. Kernels of a
 * recording read the addresses of inputs, outputs and states from a table in the device's memory, so a call with other
 * ones writes the table and starts the same graph.
 */
#include "device.h"

#include <stdlib.h>
#include <string.h>

enum { RELAXED = 2 };      /* of capture: other threads of the program are not looked at */
enum { WITHOUT_TIME = 2 }; /* of events */

/* made: what is started; table: of `count` externals, which hold `written`; dims behind them. */
struct tc_cuda_graph {
    struct tc_cuda_graph *next;
    const tc_variant *variant;
    void *made;
    tc_cuda_address table;
    uint64_t *written;
    tc_index *dims;
    unsigned count, dim_count;
    int by_dims;
};

static void drop(tc_cuda *cuda, tc_cuda_graph *graph)
{
    if (graph->made)
        cuda->api.graph_drop_made(graph->made);
    if (graph->table)
        cuda->api.release(graph->table);
    free(graph->written);
    free(graph->dims);
    free(graph);
}

void tc_cuda_drop_graphs(tc_cuda *cuda)
{
    while (cuda->graphs) {
        tc_cuda_graph *next = cuda->graphs->next;
        drop(cuda, cuda->graphs);
        cuda->graphs = next;
    }
}

/* The recording of a variant for dims, which becomes the first of the list; NULL: there is none. */
static tc_cuda_graph *find(tc_cuda *cuda, const tc_variant *variant, const tc_index *dims, unsigned dim_count)
{
    for (tc_cuda_graph **at = &cuda->graphs; *at; at = &(*at)->next) {
        tc_cuda_graph *graph = *at;
        if (graph->variant != variant || (graph->by_dims && memcmp(graph->dims, dims, dim_count * sizeof *dims)))
            continue;
        *at = graph->next;
        graph->next = cuda->graphs;
        return cuda->graphs = graph;
    }
    return NULL;
}

/* Makes room for one more recording of dims that vary: the one that was used longest ago goes. */
static void make_room(tc_cuda *cuda)
{
    int kept = 0;
    tc_cuda_graph **oldest = NULL;
    for (tc_cuda_graph **at = &cuda->graphs; *at; at = &(*at)->next)
        if ((*at)->by_dims)
            ++kept, oldest = at;
    if (kept < cuda->graphs_asked || !oldest)
        return;
    tc_cuda_graph *graph = *oldest;
    *oldest = graph->next;
    drop(cuda, graph);
}

static tc_cuda_graph *create(tc_cuda *cuda, const tc_variant *variant, const tc_index *dims, unsigned dim_count,
                             int by_dims, unsigned count)
{
    tc_cuda_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    *graph = (tc_cuda_graph){.variant = variant, .count = count, .dim_count = dim_count, .by_dims = by_dims};
    graph->written = calloc(count + 1, sizeof *graph->written);
    graph->dims = calloc(dim_count + 1, sizeof *graph->dims);
    if (!graph->written || !graph->dims) {
        drop(cuda, graph);
        return NULL;
    }
    if (dim_count)
        memcpy(graph->dims, dims, dim_count * sizeof *dims);
    tc_cuda_note(cuda, cuda->api.allocate(&graph->table, (count + 1) * sizeof(uint64_t)), "cuMemAlloc");
    return graph;
}

/* The addresses go to the table, behind what the stream already has to do. Those that do not reach it are written at the
 * next call. */
static void write_table(tc_cuda *cuda, tc_cuda_graph *graph, const uint64_t *externals)
{
    const size_t bytes = graph->count * sizeof *externals;
    if (!bytes || !memcmp(graph->written, externals, bytes))
        return;
    memcpy(graph->written, externals, bytes);
    const int code = cuda->api.upload(graph->table, graph->written, bytes, cuda->device.stream);
    tc_cuda_note(cuda, code, "cuMemcpyHtoDAsync");
    if (code)
        memset(graph->written, 0, bytes);
}

static void start(tc_cuda *cuda, const tc_cuda_graph *graph)
{
    if (!cuda->device.refused)
        tc_cuda_note(cuda, cuda->api.graph_launch(graph->made, cuda->device.stream), "cuGraphLaunch");
}

int tc_cuda_begin(tc_device *device, const tc_variant *variant, const tc_index *dims, unsigned dim_count, int varies,
                  uint64_t *externals, unsigned count)
{
    tc_cuda *cuda = (tc_cuda *)device;
    if (varies == TC_DEVICE_VARIES || cuda->graphs_asked < 0 ||
        (varies == TC_DEVICE_BY_DIMS && cuda->graphs_asked == 0))
        return 1;
    tc_cuda_graph *graph = find(cuda, variant, dims, dim_count);
    if (graph) {
        write_table(cuda, graph, externals);
        start(cuda, graph);
        return 0;
    }
    if (varies == TC_DEVICE_BY_DIMS)
        make_room(cuda);
    graph = create(cuda, variant, dims, dim_count, varies == TC_DEVICE_BY_DIMS, count);
    if (!graph)
        return 1; /* without memory for a recording the launches are what there is to do */
    if (!device->refused)
        write_table(cuda, graph, externals);
    if (!device->refused)
        tc_cuda_note(cuda, cuda->api.record_begin(device->own_stream, RELAXED), "cuStreamBeginCapture");
    if (device->refused) {
        drop(cuda, graph);
        return 0;
    }
    for (unsigned i = 0; i < count; ++i)
        externals[i] = TC_DEVICE_INDIRECT | (graph->table + i * sizeof *externals);
    cuda->recording = graph;
    return 1;
}

/* -- parts beside the row ------------------------------------------------------------------------------------------ */

void *tc_cuda_stream(const tc_cuda *cuda)
{
    if (!cuda->recording)
        return cuda->device.stream;
    return cuda->part ? cuda->parts[cuda->part - 1].stream : cuda->device.own_stream;
}

static void make_event(tc_cuda *cuda, void **event)
{
    if (!*event)
        tc_cuda_note(cuda, cuda->api.event_create(event, WITHOUT_TIME), "cuEventCreate");
}

/* The stream follows what the other one has to do by now. */
static void follow(tc_cuda *cuda, void *stream, void *event)
{
    tc_cuda_note(cuda, cuda->api.stream_follow(stream, event, 0), "cuStreamWaitEvent");
}

static void record(tc_cuda *cuda, void *event, void *stream)
{
    tc_cuda_note(cuda, cuda->api.event_record(event, stream), "cuEventRecord");
}

static void begin_part(tc_cuda *cuda, tc_cuda_part *part)
{
    if (!part->stream)
        tc_cuda_note(cuda, cuda->api.stream_create(&part->stream, TC_CUDA_NON_BLOCKING), "cuStreamCreate");
    make_event(cuda, &part->ended);
    if (part->stream && part->ended)
        follow(cuda, part->stream, cuda->forked);
}

static void join(tc_cuda *cuda)
{
    for (unsigned i = 0; i < TC_DEVICE_PARTS; ++i)
        if (cuda->parts_open >> i & 1) {
            record(cuda, cuda->parts[i].ended, cuda->parts[i].stream);
            follow(cuda, cuda->device.own_stream, cuda->parts[i].ended);
        }
    cuda->waits |= 1;
}

void tc_cuda_branch(tc_device *device, unsigned where)
{
    tc_cuda *cuda = (tc_cuda *)device;
    if (!cuda->recording)
        return;
    cuda->part = where <= TC_DEVICE_PARTS ? where : 0;
    if (where == TC_DEVICE_FORK) {
        make_event(cuda, &cuda->forked);
        if (cuda->forked)
            record(cuda, cuda->forked, device->own_stream);
    } else if (where == TC_DEVICE_JOIN) {
        join(cuda);
    } else if (where && !(cuda->parts_open >> (where - 1) & 1) && !device->refused) {
        begin_part(cuda, &cuda->parts[where - 1]);
        cuda->parts_open |= (unsigned)!device->refused << (where - 1);
        cuda->waits |= 1u << where;
    }
    if (where > TC_DEVICE_PARTS)
        cuda->parts_open = 0;
}

void tc_cuda_drop_parts(tc_cuda *cuda)
{
    for (unsigned i = 0; i < TC_DEVICE_PARTS; ++i) {
        if (cuda->parts[i].ended)
            cuda->api.event_destroy(cuda->parts[i].ended);
        if (cuda->parts[i].stream)
            cuda->api.stream_destroy(cuda->parts[i].stream);
    }
    if (cuda->forked)
        cuda->api.event_destroy(cuda->forked);
}

void tc_cuda_end(tc_device *device)
{
    tc_cuda *cuda = (tc_cuda *)device;
    tc_cuda_graph *graph = cuda->recording;
    void *recorded = NULL;
    if (!graph)
        return;
    cuda->recording = NULL;
    tc_cuda_note(cuda, cuda->api.record_end(device->own_stream, &recorded), "cuStreamEndCapture");
    if (recorded) {
        if (!device->refused)
            tc_cuda_note(cuda, cuda->api.graph_make(&graph->made, recorded, 0), "cuGraphInstantiate");
        cuda->api.graph_drop(recorded);
    }
    if (device->refused || !graph->made) {
        drop(cuda, graph);
        return;
    }
    graph->next = cuda->graphs;
    cuda->graphs = graph;
    start(cuda, graph);
}
