/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's words for kernels that are compiled for the processor: included before a generated .cu, which is then a C++
 * file. A kernel is called once for each thread of a block; __syncthreads hands on to the others (emulate.cc). A
 * launch's one parameter is passed by its address. Blocks of a cluster run side by side; a kernel that has such says how
 * many they are (TC_CLUSTER).
 */
#ifndef EMULATE_H
#define EMULATE_H

#include <stddef.h>
#include <string.h>

struct emulated_index {
    unsigned x;
};

extern "C" {
extern emulated_index emulated_thread, emulated_block, emulated_grid;
void emulated_barrier(void);
void emulated_warp_barrier(void);
void emulated_cluster_barrier(void);
void emulated_group_barrier(int group); /* of 128 threads of the block */
void emulated_poll(void); /* lets the others go on; who never has what it polls for is an error */
unsigned char *emulated_block_memory(unsigned rank); /* that a launch asks for, of a block of the cluster */
unsigned char *emulated_own_memory(void);
void *emulated_slot(unsigned lane); /* 32 bytes of each lane, for the others of its warp */

/* A kernel as it is called here, and a launch of it, so many blocks a cluster. reverse: threads and blocks in descending
 * order. */
typedef void emulated_kernel(const void *arguments);
void emulated_launch(emulated_kernel *kernel, const void *arguments, unsigned blocks, unsigned cluster, unsigned threads,
                     int reverse);
}

#define emulated_memory emulated_own_memory()

#define threadIdx emulated_thread
#define blockIdx emulated_block
#define gridDim emulated_grid
#define __syncthreads emulated_barrier
#define __syncwarp emulated_warp_barrier
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__ &
#define TC_CLUSTER(symbol, blocks) extern "C" const unsigned symbol##_cluster = blocks;

/* Tells the driver of the tests the bytes of a kernel's parameter. */
#define EMULATED_BYTES(symbol) extern "C" const size_t symbol##_bytes = emulated_bytes(symbol);

template <class A> constexpr size_t emulated_bytes(void (*)(const A &))
{
    return sizeof(A);
}

/* What the lane `from` of the warp has. */
template <class T> static inline T emulated_shuffle(T value, unsigned from)
{
    T found;
    static_assert(sizeof value <= 32, "a slot's bytes");
    memcpy(emulated_slot(emulated_thread.x % 32), &value, sizeof value);
    emulated_warp_barrier();
    memcpy(&found, emulated_slot(from % 32), sizeof found);
    emulated_warp_barrier();
    return found;
}

#define __shfl_sync(mask, value, lane) emulated_shuffle(value, (unsigned)(lane))
#define __shfl_xor_sync(mask, value, bits) emulated_shuffle(value, threadIdx.x % 32 ^ (unsigned)(bits))
#define __shfl_down_sync(mask, value, by)                                                                              \
    emulated_shuffle(value, threadIdx.x % 32 + (by) < 32 ? threadIdx.x % 32 + (by) : threadIdx.x % 32)

/* A product of the matrix units: fragments of 16 x 8 and 8 x 8 words of `terms` each; element(word, i) is one of them. */
template <class F>
static inline void emulated_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], int terms, F element)
{
    struct words {
        unsigned a[4], b[2];
    };
    memcpy(((words *)emulated_slot(emulated_thread.x % 32))->a, a, sizeof a);
    memcpy(((words *)emulated_slot(emulated_thread.x % 32))->b, b, sizeof b);
    emulated_warp_barrier();
    const int group = emulated_thread.x % 32 / 4, member = emulated_thread.x % 4;
    float rows[2][8][2], columns[2][8][2]; /* of this thread's results: what two of them share is widened once */
    for (int half = 0; half < 2; ++half)
        for (int word = 0; word < 8; ++word) {
            const words *of_a = (words *)emulated_slot(group * 4 + word % 4);
            const words *of_b = (words *)emulated_slot((member * 2 + half) * 4 + word % 4);
            for (int i = 0; i < terms; ++i) {
                rows[half][word][i] = element(of_a->a[half + word / 4 * 2], i);
                columns[half][word][i] = element(of_b->b[word / 4], i);
            }
        }
    for (int e = 0; e < 4; ++e)
        for (int word = 0; word < 8; ++word)
            for (int i = 0; i < terms; ++i)
                c[e] += rows[e / 2][word][i] * columns[e % 2][word][i];
    emulated_warp_barrier();
}

/* Four matrices of 8 x 8 elements of 16 bits, of which thread t gives the address of a line (tc_half.cuh). */
static inline void emulated_matrix(unsigned (&to)[4], const void *from, bool turned)
{
    const int lane = emulated_thread.x % 32;
    memcpy(emulated_slot(lane), &from, sizeof from);
    emulated_warp_barrier();
    for (int r = 0; r < 4; ++r) {
        to[r] = 0;
        for (int e = 0; e < 2; ++e) {
            const int line = turned ? lane % 4 * 2 + e : lane / 4, place = turned ? lane / 4 : lane % 4 * 2 + e;
            const unsigned short *row;
            memcpy(&row, emulated_slot(r * 8 + line), sizeof row);
            to[r] |= (unsigned)row[place] << 16 * e;
        }
    }
    emulated_warp_barrier();
}

/* wgmma.m64nNk16 as PTX describes it, of operands in swizzled lines of 128 bytes: what one thread holds of it. */
template <int N, int TURNED, class F>
static inline void emulated_wgmma(float (&c)[N / 8][4], unsigned long long a, unsigned long long b, F wide)
{
    const unsigned char *const memory = emulated_memory;
    const auto element = [&](unsigned long long operand, unsigned offset) {
        unsigned at = (unsigned)(operand & 0x3fff) * 16 + offset;
        at ^= (at >> 7 & 7) << 4;
        unsigned short bits;
        memcpy(&bits, memory + at, 2);
        return wide(bits);
    };
    const unsigned leading = (unsigned)(b >> 16 & 0x3fff) * 16, stride = (unsigned)(b >> 32 & 0x3fff) * 16;
    const unsigned lane = emulated_thread.x % 32, warp = emulated_thread.x / 32 % 4;
    float rows[2][16]; /* what all results of a row share */
    for (unsigned half = 0; half < 2; ++half)
        for (unsigned k = 0; k < 16; ++k) {
            const unsigned row = warp * 16 + lane / 4 + half * 8;
            rows[half][k] = element(a, row / 8 * ((unsigned)(a >> 32 & 0x3fff) * 16) + row % 8 * 128 + k * 2);
        }
    for (int j = 0; j < N / 8; ++j)
        for (int column = 0; column < 2; ++column)
            for (unsigned k = 0; k < 16; ++k) {
                const unsigned n = j * 8 + lane % 4 * 2 + column;
                const float y = element(b, TURNED ? n / 64 * leading + k / 8 * stride + k % 8 * 128 + n % 64 * 2
                                                  : n / 8 * stride + n % 8 * 128 + k * 2);
                c[j][column] += rows[0][k] * y;
                c[j][2 + column] += rows[1][k] * y;
            }
}

/* The same, whose first operand is in registers: a warp's 16 rows are fragments of mma.m16n8k16. */
template <int N, int TURNED, class F>
static inline void emulated_wgmma_held(float (&c)[N / 8][4], const unsigned (&a)[4], unsigned long long b, F wide)
{
    const unsigned leading = (unsigned)(b >> 16 & 0x3fff) * 16, stride = (unsigned)(b >> 32 & 0x3fff) * 16;
    const unsigned lane = emulated_thread.x % 32;
    memcpy(emulated_slot(lane), a, sizeof a);
    emulated_warp_barrier();
    const unsigned char *const memory = emulated_memory;
    float rows[2][16];
    for (unsigned half = 0; half < 2; ++half)
        for (unsigned k = 0; k < 16; ++k) {
            const unsigned word = ((unsigned *)emulated_slot(lane / 4 * 4 + k / 2 % 4))[half + k / 8 * 2];
            rows[half][k] = wide((unsigned short)(word >> 16 * (k % 2)));
        }
    for (int j = 0; j < N / 8; ++j)
        for (int column = 0; column < 2; ++column)
            for (unsigned k = 0; k < 16; ++k) {
                const unsigned n = j * 8 + lane % 4 * 2 + column;
                unsigned at = TURNED ? n / 64 * leading + k / 8 * stride + k % 8 * 128 + n % 64 * 2
                                     : n / 8 * stride + n % 8 * 128 + k * 2;
                at += (unsigned)(b & 0x3fff) * 16;
                at ^= (at >> 7 & 7) << 4;
                unsigned short bits;
                memcpy(&bits, memory + at, 2);
                const float y = wide(bits);
                c[j][column] += rows[0][k] * y;
                c[j][2 + column] += rows[1][k] * y;
            }
    emulated_warp_barrier();
}

/* A tensor map of the driver of the tests: lines of elements of 16 bits, line_bytes apart. */
struct emulated_map {
    const unsigned char *address;
    long long terms, lines, line_bytes;
    unsigned box;
};

/* A barrier in shared memory: a phase ends when all have arrived and all bytes have come. */
struct emulated_full {
    int bytes;
    unsigned left : 12, count : 12, phase : 8;
};

static inline void emulated_barrier_init(unsigned long *at, int count)
{
    emulated_full made = {};
    made.left = made.count = (unsigned)count;
    memcpy(at, &made, sizeof made);
}

static inline void emulated_change(unsigned long *at, int bytes, int arrivals)
{
    emulated_full *const full = (emulated_full *)at;
    full->bytes += bytes;
    full->left -= (unsigned)arrivals;
    if (!full->bytes && !full->left)
        full->left = full->count, ++full->phase;
}

static inline void emulated_arrive(unsigned long *at)
{
    emulated_change(at, 0, 1);
}

static inline void emulated_expect(unsigned long *at, int bytes)
{
    emulated_change(at, bytes, 1);
}

static inline void emulated_full_wait(const volatile unsigned long *at, int parity)
{
    while ((((const volatile emulated_full *)at)->phase & 1) == parity)
        emulated_poll();
}

template <class F>
static inline void emulated_bulk_copy(unsigned char *to, const void *words, int term, int line, unsigned long *full, F place)
{
    emulated_map map;
    memcpy(&map, words, sizeof map);
    for (unsigned i = 0; i < map.box; ++i)
        for (int v = 0; v < 8; ++v)
            for (int e = 0; e < 8; ++e) {
                const long long at = term + v * 8 + e, of = line + (long long)i;
                unsigned char *const put = to + place((int)i, v) + e * 2;
                memset(put, 0, 2);
                if (at < map.terms && of < map.lines)
                    memcpy(put, map.address + of * map.line_bytes + at * 2, 2);
            }
    emulated_change(full, -(int)map.box * 128, 0);
}

struct float4 {
    float x, y, z, w;
};

struct uint4 {
    unsigned x, y, z, w;
};

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

struct float2 {
    float x, y;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

static inline void atomicMin(unsigned long long *cell, unsigned long long value)
{
    if (value < *cell)
        *cell = value;
}

#endif
