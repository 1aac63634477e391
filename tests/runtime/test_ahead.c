/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads that wait fetch of the steps that come next (fetching.h): each its own lines, each line once, in order; and
 * that they still wait for each other.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "tap.h"

#include <sched.h>
#include <string.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

/* Pieces of a panel where a thread has few, of two and of four where it has more. */
static void test_stream_pieces(void)
{
    static tc_member members[16];
    tc_frame frame = {.members = members};
    const struct {
        tc_index panels, threads, pieces;
    } cases[] = {{96, 16, 48}, {36, 16, 32}, {15, 16, 16}, {3072, 16, 128}, {36, 4, 16}, {96, 4, 24}, {96, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const tc_index threads = cases[i].threads;
        const tc_pieces got = tc_pieces_of(&frame, 0, threads, tc_stream_work(cases[i].panels, threads));
        tc_ok(got.count == cases[i].pieces, "%d panels of %d threads are %d pieces", (int)cases[i].panels, (int)threads,
              (int)got.count);
    }
}

/* Pieces of stripes are whole images, equally many of each thread; else a thread has one piece. */
static void test_striped_pieces(void)
{
    static tc_member members[16];
    tc_frame frame = {.members = members};
    const uint64_t much = (uint64_t)1 << 40, little = 2 * TC_PIECE_WORK;
    const struct {
        tc_index images, threads, pieces;
        uint64_t work;
    } cases[] = {{16, 2, 16, much}, {16, 16, 16, much}, {32, 16, 32, much}, {33, 16, 16, much}, {20, 2, 10, much},
                 {22, 2, 2, much},  {1, 2, 2, much},    {5, 1, 1, much},    {16, 2, 2, little}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const tc_index threads = cases[i].threads, images = cases[i].images;
        const tc_pieces got = tc_pieces_of(&frame, 0, threads, tc_striped_work(cases[i].work, images, threads));
        tc_ok(got.count == cases[i].pieces, "%d images of %d threads are %d pieces", (int)images, (int)threads,
              (int)got.count);
    }
}

enum { WAITING = 6, WAITS = 400, FETCHED = 60, PANEL_BYTES = 192, LARGE = 4 * TC_AHEAD };

/* Of a step of 60 panels, in two products, of which the first has two operands; the second's panels are larger. */
static const tc_stream two_products[] = {{0, 48, 48, 1, 64, PANEL_BYTES, 0, PANEL_BYTES, 48 * PANEL_BYTES, 0},
                                         {0, 48, 48, 1, 64 + 48 * PANEL_BYTES, PANEL_BYTES, 0, PANEL_BYTES,
                                          48 * PANEL_BYTES, 0},
                                         {48, 12, 12, 1, 64 + 96 * PANEL_BYTES, 2 * PANEL_BYTES, 0, 2 * PANEL_BYTES,
                                          24 * PANEL_BYTES, 0}};

/* What a thread fetches of one step, which is the next one. */
static tc_ahead ahead_of(const unsigned char *base, const tc_stream *streams, int count, tc_index panels,
                         tc_index thread, tc_index threads)
{
    tc_ahead ahead = {0};
    tc_ahead_then(&ahead, base, streams, count, panels, thread, threads);
    tc_ahead_then(&ahead, 0, 0, 0, 0, thread, threads);
    return ahead;
}

/* The threads' lines together are all lines of all panels, and a thread's those of the panels that the kernel gives it. */
static void test_streams(void)
{
    enum { LINES = (96 + 24) * PANEL_BYTES / 64 };
    static const unsigned char weights[64 + LINES * 64];
    for (tc_index threads = 1; threads <= 64; threads = threads * 3 / 2 + 1) {
        int hits[LINES] = {0}, own = 1, once = 1;
        for (tc_index thread = 0; thread < threads; ++thread) {
            tc_index begin, end;
            tc_share(FETCHED, thread, threads, &begin, &end);
            tc_ahead ahead = ahead_of(weights, two_products, 3, FETCHED, thread, threads);
            for (const unsigned char *line; (line = tc_ahead_next(&ahead));) {
                const tc_index at = (line - weights - 64) / 64, panel = at / (PANEL_BYTES / 64);
                const tc_index number = panel < 96 ? panel % 48 : 48 + (panel - 96) / 2;
                own &= at >= 0 && at < LINES && number >= begin && number < end;
                hits[at >= 0 && at < LINES ? at : 0]++;
            }
        }
        for (int i = 0; i < LINES; ++i)
            once &= hits[i] == 1;
        tc_ok(own && once, "%d threads fetch the panels that are theirs", (int)threads);
    }
}

/* Of a state of 3 heads, for each 100 lines of 4 * 64 bytes: as keys are, in tiles of 32 lines, all that are there (the first
 * `count`); and as values are, in columns of 64 bytes. */
static void test_states(void)
{
    enum { HEADS = 3, ROOM = 100, LINE = 256 };
    static const unsigned char state[HEADS * ROOM * LINE];
    for (tc_index threads = 1; threads <= 16; threads += 3)
        for (tc_index count = 1; count <= ROOM; count += 33) {
            const tc_index tiles = (count + 31) / 32;
            const tc_stream keys = {0,         HEADS * tiles,          tiles,      1, 0, 32 * LINE, 0,
                                    32 * LINE, (uint64_t)count * LINE, ROOM * LINE};
            const tc_stream values = {0, HEADS * 4, 4, count, 0, 64, LINE, 64, LINE, ROOM * LINE};
            static int hits[2][HEADS * ROOM * 4];
            memset(hits, 0, sizeof hits);
            int columns = 1, right = 1;
            for (tc_index thread = 0; thread < threads; ++thread) {
                tc_index begin, end;
                tc_share(HEADS * 4, thread, threads, &begin, &end);
                const unsigned char *line;
                tc_ahead ahead = ahead_of(state, &keys, 1, keys.count, thread, threads);
                while ((line = tc_ahead_next(&ahead)))
                    hits[0][(line - state) / 64]++;
                ahead = ahead_of(state, &values, 1, values.count, thread, threads);
                while ((line = tc_ahead_next(&ahead))) {
                    const tc_index at = (line - state) / 64, panel = at / (ROOM * 4) * 4 + at % 4;
                    hits[1][at]++;
                    columns &= panel >= begin && panel < end;
                }
            }
            for (tc_index i = 0; i < HEADS * ROOM * 4; ++i)
                right &= hits[0][i] == (i / 4 % ROOM < count) && hits[1][i] == hits[0][i];
            tc_ok(columns && right, "%d threads fetch %d keys and values that are theirs", (int)threads, (int)count);
        }
}

static tc_index left_of(tc_ahead *ahead, const unsigned char *base, tc_index *last)
{
    tc_index lines = 0;
    for (const unsigned char *line; (line = tc_ahead_next(ahead)); ++lines)
        *last = (line - base) / 64;
    return lines;
}

/* Two steps at most, as much as the second cache keeps, and each line once. */
static void test_two_steps(void)
{
    enum { ALL = TC_AHEAD / 64, SOME = ALL / 4 };
    static const unsigned char weights[5 * TC_AHEAD];
    const tc_stream streams[] = {{0, 1, 1, 1, 0, SOME * 64, 0, 0, SOME * 64, 0},
                                 {0, 1, 1, 1, SOME * 64, LARGE, 0, 0, LARGE, 0},
                                 {0, 1, 1, 1, SOME * 64 + LARGE, 640, 0, 0, 640, 0}};
    tc_index last = -1;
    tc_ahead ahead = {0};
    tc_ahead_then(&ahead, weights, streams, 1, 1, 0, 1);
    tc_ahead_then(&ahead, weights, streams + 1, 1, 1, 0, 1);
    tc_ok(left_of(&ahead, weights, &last) == ALL && last == ALL - 1, "a step and what there is room for of the next");
    tc_ahead_then(&ahead, weights, streams + 2, 1, 1, 0, 1);
    tc_ok(left_of(&ahead, weights, &last) == SOME && last == SOME + ALL - 1, "it goes on where it was: %d", (int)last);
    tc_ahead_then(&ahead, 0, 0, 0, 0, 0, 1);
    tc_ok(left_of(&ahead, weights, &last) == 10 && last == SOME + LARGE / 64 + 9, "what has run is left out");
    tc_ahead_then(&ahead, 0, 0, 0, 0, 0, 1);
    tc_ok(left_of(&ahead, weights, &last) == 0, "there is no more");
}

typedef struct waiting {
    tc_frame frame;
    int done[WAITING], seen;
} waiting;

/* Each step counts what the one before it left, some threads later than others. */
static void wait_and_fetch(void *p, tc_index thread, tc_index threads)
{
    waiting *w = p;
    tc_ahead ahead = ahead_of(w->frame.weights, two_products, 3, FETCHED, thread, threads);
    for (int step = 1; step <= WAITS; ++step) {
        if ((step + thread) % 7 == 0)
            sched_yield();
        w->done[thread] = step;
        tc_barrier_ahead(&w->frame, thread, threads, &ahead);
        if (thread == step % threads)
            for (tc_index i = 0; i < threads; ++i)
                w->seen += w->done[i] == step;
        tc_barrier_ahead(&w->frame, thread, threads, &ahead);
        if (step % 5 == 0)
            tc_ahead_then(&ahead, w->frame.weights, two_products, 3, FETCHED, thread, threads);
    }
}

static void test_waiting(void)
{
    static unsigned char weights[64 + 120 * PANEL_BYTES];
    for (int i = 0; i < 2 * WAITING; ++i) {
        const tc_index threads = i / 2 + 1;
        tc_member members[WAITING] = {0};
        tc_context context = {0};
        waiting w = {.frame = {.context = &context, .weights = weights, .members = i % 2 ? members : NULL}};
        tc_pool *pool = tc_pool_create(threads);
        tc_context_use_pool(&context, pool);
        context.team.run(context.team.user, threads, wait_and_fetch, &w);
        tc_ok(w.seen == WAITS * threads, "%d threads that fetch wait for each other, by %s", (int)threads,
              i % 2 ? "each other's lines" : "one counter");
        tc_pool_destroy(pool);
    }
}

enum { SOON_BYTES = 192, SOON_ITEMS = 2000 };

/* The groups that a thread's tiles of a part meet, one after the other, each once, where its positions are those from `from`
 * to before `to`: tile by tile. *early: how many the first half of a group's tiles meet. *again: one is met in a later
 * block of rows, too. */
static int groups_met(const tc_panels *of, tc_index high, tc_index from, tc_index to, tc_index *groups, int *early,
                      int *again)
{
    static tc_index begins[SOON_ITEMS], group_of[SOON_ITEMS], heights[SOON_ITEMS];
    int items = 0, count = 0;
    tc_index at = 0;
    for (tc_index above = 0; above < of->tiles; above += high) {
        const tc_index here = high < of->tiles - above ? high : of->tiles - above;
        for (tc_index group = 0; group * of->across < of->panels; ++group)
            for (tc_index tile = 0; tile < here; ++tile, ++items, at += of->across)
                begins[items] = at, group_of[items] = group, heights[items] = here;
    }
    int first = items - 1;
    while (begins[first] > from)
        --first;
    *early = *again = 0;
    for (int i = first; i < items && (i == first || begins[i] + of->across <= to); ++i) {
        int known = 0;
        for (int j = 0; j < count; ++j)
            known |= groups[j] == group_of[i], *again |= groups[j] == group_of[i] && j < count - 1;
        if (!known)
            groups[count++] = group_of[i];
        if (begins[i] <= from + heights[first] * of->across / 2)
            *early = count;
    }
    return count;
}

/* What is told of two steps: the panels that a thread's tiles meet but for the first ones, in order, and the first ones of its
 * share of the next step. */
static void test_soon(void)
{
    enum { BYTES = SOON_BYTES, MOST = 200 };
    static const unsigned char weights[1 << 16];
    static const tc_panels steps[][3] = {{{0, BYTES, 10, 128, 4, 2, 15, 15, 15},
                                          {4096, BYTES, 10, 128, 4, 2, 15, 15, 15},
                                          {8192, BYTES, 10, 128, 4, 2, 15, 15, 15}},
                                         {{16384, BYTES, 64, 196, 4, 4, 22, 22, 2}},
                                         {{0, BYTES, 16, 784, 4, 4, 131, 21, 9}}};
    static const int counts[] = {3, 1, 1};
    for (tc_index threads = 1; threads <= 80; threads = threads * 3 / 2 + 1)
        for (int step = 0; step < 3; ++step) {
            int right = 1, enough = 1;
            for (tc_index thread = 0; thread < threads; ++thread) {
                tc_index soon[TC_SOON], want[MOST], wanted = 0, own[MOST], owned = 0, met[64];
                uint64_t sums = 0;
                const int then = (step + 1) % 3;
                tc_soon_of(soon, weights, steps[step], counts[step], steps[then], counts[then], thread, threads);
                for (int behind = 0; behind < 2; ++behind) { /* panel by panel */
                    const tc_panels *const parts = steps[behind ? then : step];
                    tc_index all = 0, at = 0;
                    for (int i = 0; i < counts[behind ? then : step]; ++i)
                        all += parts[i].panels * parts[i].tiles;
                    const tc_index begin = all * thread / threads, end = all * (thread + 1) / threads;
                    for (int i = 0; i < counts[behind ? then : step]; at += parts[i].panels * parts[i].tiles, ++i) {
                        const tc_index stop = at + parts[i].panels * parts[i].tiles;
                        const tc_index from = begin > at ? begin : at, to = end < stop ? end : stop;
                        if (from >= to)
                            continue;
                        int early, again,
                            count = groups_met(parts + i, threads < TC_LARGE_TEAM ? parts[i].block : parts[i].large,
                                               from - at, to - at, met, &early, &again);
                        if (again && !behind) /* tiles are told nothing of such parts */
                            continue;
                        early = from == begin ? early : 0;
                        for (int j = 0; j < count; ++j)
                            for (tc_index panel = met[j] * parts[i].across; panel < (met[j] + 1) * parts[i].across;
                                 ++panel) {
                                const tc_index place = (tc_index)(weights + parts[i].offset) + panel * BYTES;
                                if (!behind)
                                    own[owned++] = place;
                                if (behind == (j < early))
                                    want[wanted++] = place;
                            }
                        sums += behind ? 0 : (uint64_t)(BYTES / 4 * parts[i].rows * (to - from) / parts[i].tiles);
                    }
                }
                tc_index got = 0;
                for (int run = 2; soon[run] != 0; run += 2)
                    for (tc_index at = soon[run]; at < soon[run + 1]; at += BYTES, ++got)
                        right &= got < wanted && at == want[got];
                for (int run = TC_SOON_OWN; run < TC_SOON; run += 2) /* the runs of its own panels are all of them */
                    for (tc_index at = soon[run]; at < soon[run + 1]; at += BYTES) {
                        int known = 0;
                        for (tc_index j = 0; j < owned; ++j)
                            known |= own[j] == at;
                        right &= known;
                    }
                /* at most three runs: of more, the last are left out; who has no panels has no tiles */
                right &= owned == 0 ? got == 0 : got == wanted || got >= wanted / 2;
                /* and no more than enough, so that fetches do not run further and further ahead */
                const uint64_t all = (uint64_t)got * BYTES;
                enough &= sums == 0 ||
                          ((uint64_t)soon[0] * sums <= all << 16 && (uint64_t)(soon[0] + 1) * sums > all << 16);
            }
            tc_ok(right && enough, "step %d, %d threads: what is read soon, at a pace that is enough", step,
                  (int)threads);
        }
}

int main(void)
{
    test_soon();
    test_stream_pieces();
    test_striped_pieces();
    test_streams();
    test_states();
    test_two_steps();
    test_waiting();
    return tc_done();
}
