/* SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of a call fetch before they read it: at barriers, while they wait; and in tiles of products, which are told
 * of it. For generated drivers; part of driver.h.
 */
#ifndef TENSOR_COMPILE_FETCHING_H
#define TENSOR_COMPILE_FETCHING_H

#include "driver.h"

/* What a step reads once, of weights or of a state, in panels that its team shares: panel i of `count` is number `first` + i
 * of those. A panel is `runs` runs of `bytes` neighbouring bytes, `between` from one to the next. Panels lie in groups of
 * `across`, `apart` from one to the next, whose first runs end at most `reach` behind the group's begin; groups are `outer`
 * apart. offset: of the first panel. */
typedef struct tc_stream {
    tc_index first, count, across, runs;
    uint64_t offset, bytes, between, apart, reach, outer;
} tc_stream;

/* A thread's part of such a step, panels `first` to last-1 of the streams up to `end`, of which the one before `stream` is
 * under way. */
typedef struct tc_ahead_step {
    const unsigned char *base;
    const tc_stream *stream, *end;
    tc_index first, last;
} tc_ahead_step;

/* What a thread is going to read of the next two such steps and has not fetched yet: of a run the bytes from `at` to before
 * `stop`, `runs` more runs of its panel, panels from `panel` to before `last` of the stream, and what follows in the steps
 * from number `step`. */
typedef struct tc_ahead {
    const unsigned char *at, *stop, *run;
    const tc_stream *stream;
    uint64_t bytes, room, fetched; /* of a run; that may still be fetched; that were, of the step under way */
    tc_index runs, panel, last;
    tc_ahead_step steps[2];
    int step;
} tc_ahead;

/* Bytes that a thread fetches: half of a small second cache. */
enum { TC_AHEAD = 1 << 19 };

/* The first of the two steps has run or is running; the one behind the second has `panels` panels, of which thread `thread`
 * reads its share. */
__attribute__((noinline, unused)) static void tc_ahead_then(tc_ahead *ahead, const unsigned char *base,
                                                            const tc_stream *streams, int count, tc_index panels,
                                                            tc_index thread, tc_index threads)
{
    ahead->steps[0] = ahead->steps[1];
    ahead->steps[1] = (tc_ahead_step){base, streams, count ? streams + count : streams, 0, 0}; /* no sum with NULL */
    tc_share(panels, thread, threads, &ahead->steps[1].first, &ahead->steps[1].last);
    if (ahead->step == 1) {
        ahead->step = 0;
        ahead->room = TC_AHEAD - ahead->fetched;
        return;
    }
    ahead->at = ahead->stop = 0;
    ahead->runs = ahead->panel = ahead->last = 0;
    ahead->room = TC_AHEAD;
}

/* Goes on to the next stream that the thread has panels of; 0: there is none. */
static inline int tc_ahead_stream(tc_ahead *ahead)
{
    while (ahead->panel >= ahead->last) {
        tc_ahead_step *const step = &ahead->steps[ahead->step];
        if (step->stream != step->end) {
            const tc_stream *const s = ahead->stream = step->stream++;
            const tc_index first = step->first - s->first, last = step->last - s->first;
            ahead->panel = first > 0 ? first : 0;
            ahead->last = last < s->count ? last : s->count;
        } else if (ahead->step == 0) {
            ahead->step = 1;
            ahead->fetched = 0;
        } else {
            return 0;
        }
    }
    return 1;
}

/* Goes on to the next run; 0: there is none. */
static inline int tc_ahead_run(tc_ahead *ahead)
{
    if (ahead->runs > 0) {
        ahead->runs--;
        ahead->run += ahead->stream->between;
    } else {
        if (!tc_ahead_stream(ahead))
            return 0;
        const tc_stream *const s = ahead->stream;
        const uint64_t group = (uint64_t)(ahead->panel / s->across),
                       at = (uint64_t)(ahead->panel % s->across) * s->apart;
        ahead->run = ahead->steps[ahead->step].base + s->offset + group * s->outer + at;
        ahead->bytes = s->reach - at < s->bytes ? s->reach - at : s->bytes;
        ahead->runs = s->runs - 1;
        ahead->panel++;
    }
    ahead->at = ahead->run;
    ahead->stop = ahead->run + ahead->bytes;
    return 1;
}

/* The next line that is to be fetched; NULL: there is none. */
static inline const unsigned char *tc_ahead_next(tc_ahead *ahead)
{
    if (ahead->at == ahead->stop && !tc_ahead_run(ahead))
        return 0;
    const uint64_t left = (uint64_t)(ahead->stop - ahead->at), line = left < 64 ? left : 64;
    if (ahead->room < line)
        return 0;
    ahead->room -= line;
    ahead->fetched += line;
    ahead->at += line;
    return ahead->at - line;
}

/* A barrier whose threads fetch what they read next to their second caches while they wait for others, some lines between two
 * looks at it: a processor has few places for lines on their way. */
__attribute__((noinline, unused)) static void tc_barrier_ahead(tc_frame *frame, tc_index thread, tc_index threads,
                                                               tc_ahead *ahead)
{
    if (threads == 1)
        return;
    tc_arrival arrival = tc_arrive(frame, thread, threads);
    for (const unsigned char *line = 0; tc_waits(frame, &arrival);) {
        for (int i = 0; i < 4 && (line = tc_ahead_next(ahead)); ++i)
            __builtin_prefetch(line, 0, 2);
        if (!line) {
            tc_wait(frame, &arrival);
            return;
        }
    }
}

/* The packed weights of a product: `panels` panels of `bytes` bytes, one behind the other, from `offset` on, which `rows` rows
 * meet; size: bytes of an element. Its team shares tiles of rows and of `across` panels, a group: `tiles` tiles of rows, in
 * blocks of `block` of them, in each the groups, in each its tiles. large: the same of a large team. A block of 0: what a
 * thread reads is not known. */
typedef struct tc_panels {
    uint64_t offset, bytes;
    tc_index panels, rows, size, across, tiles, block, large;
} tc_panels;

/* The threads of a large team: each with 8 pieces at least, as large products have, they share those in 64 and more, in which
 * kernels know a large team. */
enum { TC_LARGE_TEAM = 8 };

/* Numbers that tell a product's tiles what their thread reads soon (tc_soon_share in tc_micro.h): a pace, what is left of
 * it, up to three runs, an empty one, and up to three runs of the thread's own panels. */
enum { TC_SOON_RUNS = 3, TC_SOON_OWN = 4 + 2 * TC_SOON_RUNS, TC_SOON = TC_SOON_OWN + 2 * TC_SOON_RUNS };

/* A thread's share of a product's panels: groups `first` to before `first` + `count`, where group 0 stands behind the last
 * one; those of several blocks of rows are met once a block. The step before has fetched the first `early` of them: two,
 * where less than half of the first one is the thread's. */
typedef struct tc_soon_groups {
    tc_index first, count, early;
} tc_soon_groups;

/* Where position `at` is: *block, *group, and as the result how many tiles of rows the block has. Positions are those of panels
 * in tiles of rows: a tile and group has as many as the group has panels. high: tiles of rows of a block. */
static inline tc_index tc_soon_group_at(const tc_panels *of, tc_index high, tc_index at, tc_index *block,
                                        tc_index *group)
{
    *block = at / (high * of->panels);
    const tc_index above = *block * high, here = high < of->tiles - above ? high : of->tiles - above;
    *group = (at - above * of->panels) / (here * of->across);
    return here;
}

/* How many groups the positions from `from` to `last` meet, those of each block of rows. */
static inline tc_index tc_soon_groups_met(const tc_panels *of, tc_index high, tc_index from, tc_index last)
{
    const tc_index all = (of->panels + of->across - 1) / of->across;
    tc_index block, group, end_block, end;
    tc_soon_group_at(of, high, from, &block, &group);
    tc_soon_group_at(of, high, last, &end_block, &end);
    return (end_block - block) * all + end + 1 - group;
}

/* What the thread that has the positions from `from` to before `to` reads. A tile of two threads is the later one's. */
static inline tc_soon_groups tc_soon_groups_of(const tc_panels *of, tc_index high, tc_index from, tc_index to)
{
    tc_soon_groups groups;
    tc_index block;
    const tc_index last = to - of->across > from ? to - of->across : from;
    const tc_index half = from + tc_soon_group_at(of, high, from, &block, &groups.first) * of->across / 2;
    groups.count = tc_soon_groups_met(of, high, from, last);
    const tc_index early = tc_soon_groups_met(of, high, from, half < last ? half : last);
    groups.early = early * of->across < of->panels + of->across ? early : 1; /* of a single group, twice */
    return groups;
}

/* Appends the runs of a part's groups from `from` to before `to`, in which group 0 stands behind the last one, to the
 * `*count` ones that there are, as far as there is room. Returns their bytes. */
static inline uint64_t tc_soon_runs(tc_index *runs, int *count, const unsigned char *weights, const tc_panels *of,
                                    tc_index from, tc_index to)
{
    const tc_index all = (of->panels + of->across - 1) / of->across;
    uint64_t bytes = 0;
    while (from < to && *count < TC_SOON_RUNS) {
        const tc_index turn = from / all * all, end = to < turn + all ? to : turn + all;
        const tc_index first = (from - turn) * of->across, last = (end - turn) * of->across;
        tc_index *const run = runs + 2 * (*count)++;
        run[0] = (tc_index)(uintptr_t)(weights + of->offset + (uint64_t)first * of->bytes);
        run[1] = run[0] + ((last < of->panels ? last : of->panels) - first) * (tc_index)of->bytes;
        bytes += (uint64_t)(run[1] - run[0]);
        from = end;
    }
    return bytes;
}

/* What thread `thread` reads of the product of these parts, but for what was fetched in the step before, and first in the
 * one of the parts `next`, of which there may be none. */
__attribute__((noinline, unused)) static void tc_soon_of(tc_index *soon, const unsigned char *weights,
                                                         const tc_panels *parts, int count, const tc_panels *next,
                                                         int next_count, tc_index thread, tc_index threads)
{
    int runs = 0, own = 0;
    uint64_t all = 0, terms = 0;
    for (int i = 0; i < TC_SOON; ++i)
        soon[i] = 0;
    for (int behind = 0; behind < 2; ++behind) {
        const tc_panels *const of = behind ? next : parts;
        const int most = behind ? next_count : count;
        tc_index positions = 0, begin = 0;
        for (int i = 0; i < most; ++i)
            positions += of[i].panels * of[i].tiles;
        const tc_index first = positions * thread / threads, end = positions * (thread + 1) / threads;
        for (int i = 0; i < most; begin += of[i].panels * of[i].tiles, ++i) {
            const tc_index stop = begin + of[i].panels * of[i].tiles,
                           block = threads < TC_LARGE_TEAM ? of[i].block : of[i].large;
            const tc_index from = first > begin ? first : begin, to = end < stop ? end : stop;
            if (from >= to || block == 0)
                continue;
            const tc_soon_groups groups = tc_soon_groups_of(of + i, block, from - begin, to - begin);
            if (behind && from == first) {
                all += tc_soon_runs(soon + 2, &runs, weights, of + i, groups.first, groups.first + groups.early);
            } else if (!behind && groups.count * of[i].across < of[i].panels + of[i].across) {
                /* groups that are met again are fetched each time, by tiles that are told nothing */
                const tc_index early = from == first ? groups.early : 0; /* another part comes later */
                all += tc_soon_runs(soon + 2, &runs, weights, of + i, groups.first + early,
                                    groups.first + groups.count);
                tc_soon_runs(soon + TC_SOON_OWN, &own, weights, of + i, groups.first, groups.first + groups.count);
                terms += of[i].bytes / (uint64_t)of[i].size * (uint64_t)of[i].rows * (uint64_t)(to - from) /
                         (uint64_t)of[i].tiles;
            }
        }
    }
    if (terms)
        soon[0] = (tc_index)((all << 16) / terms);
    else
        soon[2] = 0;
}

#endif
