/* SPDX-License-Identifier: Apache-2.0
 *
 * What this machine can do at most, for one instruction set (the compiler's flags choose it):
 *
 *   PROGRAM THREADS SIZE…     lines: clock MHZ             additions in a second of integers that wait for each other: one
 *                                                          a cycle on every processor
 *                                    fma GFLOPS            independent multiply-adds of f32, all threads together
 *                                    read BYTES MB         megabytes in a second of reads, each thread its own BYTES;
 *                                                          of many bytes in one stream or in four, whichever is faster,
 *                                                          in huge pages where the system gives them
 *
 * Every figure is the best of several tries: what else the machine does can only make one smaller. -DLANES: floats of a
 * vector.
 */
#define _DEFAULT_SOURCE /* madvise */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "multiply_adds.h"

enum { MOST = 256, LINKS = 64, TRIES = 30, FEW = 6, LARGE = 1 << 24, LINE = 64, HUGE = 1 << 21 };
static const double LEAST = 0.001; /* seconds of a try */

typedef uint32_t wide __attribute__((vector_size(LANES * 4)));

static pthread_barrier_t barrier;
static double rates[MOST];
static enum { CLOCK, FMA, READ } measured;
static size_t bytes; /* of READ */
static volatile float sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Operations in a second of `loops` iterations. */
static double multiply(long loops)
{
    const double from = now();
    sink = multiply_adds(loops);
    return (double)loops * MULTIPLY_ADDS * 2 / (now() - from);
}

#define FOUR(x) x x x x

/* Additions in a second of `loops` iterations. */
static double add(long loops)
{
    unsigned long sum = 1, step = 1;
    __asm__ volatile("" : "+r"(step));
    const double from = now();
    for (long n = 0; n < loops; n++) {
#define LINK                                                                                                           \
    sum += step;                                                                                                       \
    __asm__ volatile("" : "+r"(sum));
        FOUR(FOUR(FOUR(LINK)))
    }
    const double taken = now() - from;
    sink = (float)sum;
    return (double)loops * LINKS / taken;
}

/* Bytes in a second of `loops` passes. apart: vectors from one to the next of the four that are read in turn, 1 or a quarter
 * of all. */
static double read_all(const wide *data, size_t count, size_t apart, long loops)
{
    wide s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const size_t step = apart == 1 ? 8 : 2, second = apart == 1 ? 4 : 1, steps = count / 8;
    const double from = now();
    for (long n = 0; n < loops; n++) {
        const wide *at = data;
        for (size_t i = 0; i < steps; i++, at += step) {
            s0 |= at[0], s1 |= at[apart], s2 |= at[2 * apart], s3 |= at[3 * apart];
            s0 |= at[second], s1 |= at[apart + second], s2 |= at[2 * apart + second], s3 |= at[3 * apart + second];
        }
        __asm__ volatile("" ::: "memory");
    }
    const double taken = now() - from;
    s0 |= s1 | s2 | s3;
    sink = (float)s0[0];
    return (double)loops * (double)(steps * 8 * sizeof *data) / taken;
}

static double rate_of(const wide *data, size_t count, size_t apart, long loops)
{
    return measured == READ ? read_all(data, count, apart, loops) : measured == FMA ? multiply(loops) : add(loops);
}

static void *memory_for(size_t size)
{
    const size_t page = size >= HUGE ? HUGE : LINE;
    void *const made = aligned_alloc(page, (size + page - 1) / page * page);
    if (!made) {
        fputs("no memory\n", stderr);
        exit(1);
    }
#ifdef MADV_HUGEPAGE
    if (page == HUGE)
        madvise(made, size, MADV_HUGEPAGE); /* where it fails, pages are small */
#endif
    memset(made, 1, size);
    return made;
}

static void *measure(void *argument)
{
    double *rate = argument, best = 0;
    const int reads = measured == READ;
    const size_t count = bytes / sizeof(wide);
    const int large = reads && bytes > LARGE;
    wide *const data = reads ? memory_for(bytes) : NULL;
    /* of an iteration */
    const double amount = reads ? (double)bytes : measured == FMA ? MULTIPLY_ADDS * 2 : LINKS;
    const double once = amount / rate_of(data, count, 1, reads ? 1 : 10000);
    const long loops = 1 + (long)(LEAST / once);
    for (int i = 0; i < (large ? 2 * FEW : TRIES); i++) { /* the same for all threads */
        pthread_barrier_wait(&barrier);
        const double got = rate_of(data, count, large && i % 2 ? count / 8 * 2 : 1, loops);
        best = got > best ? got : best;
    }
    free(data);
    *rate = best;
    return NULL;
}

static double together(int threads)
{
    pthread_t others[MOST];
    double sum = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, measure, &rates[i])) {
            fputs("a thread cannot be started\n", stderr);
            exit(1);
        }
    measure(&rates[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < threads; i++)
        sum += rates[i];
    return sum;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > MOST) {
        fprintf(stderr, "usage: %s THREADS [BYTES…]\n", argv[0]);
        return 2;
    }
    printf("clock %.1f\n", together(1) / 1e6);
    measured = FMA;
    printf("fma %.3f\n", together(threads) / 1e9);
    measured = READ;
    for (int i = 2; i < argc; i++) {
        bytes = (size_t)strtoull(argv[i], NULL, 10) / LINE * LINE;
        printf("read %zu %.1f\n", bytes, together(threads) / 1e6);
    }
    return 0;
}
