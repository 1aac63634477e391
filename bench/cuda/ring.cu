/* SPDX-License-Identifier: Apache-2.0
 *
 * What compute-sanitizer's racecheck follows of barriers in shared memory: a ring of pieces that one warp brings and two
 * warps read, ordered by mbarriers alone, as contraction_lines.cu.in orders its pieces.
 *
 *   nvcc -arch=sm_90a -o ring bench/cuda/ring.cu && compute-sanitizer --tool racecheck ./ring 0
 *
 * 0: plain stores, an arrival of each lane behind them; 1: cp.async, waited for before the arrival; 2: cp.async, whose end
 * arrives (noinc). 3 to 5: the same, where all lanes of a warp that has read arrive; before, one behind __syncwarp does.
 * As 2, but: 6, that lane arrives for 32; 7, those that have read arrive by bar.arrive, and bar.sync waits for them.
 */
#include <cstdint>
#include <cstdio>

enum { PIECES = 16, STAGES = 4, LINE = 128 };
enum form { ONE, ALL, ONE_FOR_ALL, NAMED };

__device__ uint32_t at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void wait(uint64_t *barrier, int parity)
{
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(
                     at(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ void arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(barrier)) : "memory");
}

template <int MODE> __device__ void bring(float *to, const float *from, uint64_t *full)
{
    if (MODE == 0)
        *(float4 *)to = *(const float4 *)from;
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(to)), "l"(from) : "memory");
    if (MODE == 1)
        asm volatile("cp.async.wait_all;" ::: "memory");
    if (MODE == 2)
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(full)) : "memory");
    else
        arrive(full);
}

template <form FORM> __device__ void leave(uint64_t *empty, int slot, int thread)
{
    __syncwarp();
    if (FORM == NAMED)
        asm volatile("bar.arrive %0, 96;" ::"r"(slot + 1) : "memory");
    else if (FORM == ALL || thread % 32 == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(at(empty)), "n"(FORM == ONE_FOR_ALL ? 32 : 1) : "memory");
}

template <form FORM> __device__ void wait_for_room(uint64_t *empty, int slot, int piece)
{
    if (FORM != NAMED)
        wait(empty, piece / STAGES % 2 ^ 1);
    else if (piece >= STAGES)
        asm volatile("bar.sync %0, 96;" ::"r"(slot + 1) : "memory");
}

template <int MODE, form FORM> __global__ void ring(const float *from, float *to)
{
    __shared__ float memory[STAGES][LINE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        for (int i = 0; i < STAGES; ++i)
            for (int side = 0; side < 2; ++side)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at((side ? empty : full) + i)),
                             "r"(!side ? 32 : FORM == ONE ? 2 : 64)
                             : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int piece = 0; piece < PIECES; ++piece) {
        const int slot = piece % STAGES, parity = piece / STAGES % 2;
        if (thread >= 64) {
            const int lane = thread - 64;
            wait_for_room<FORM>(empty + slot, slot, piece);
            bring<MODE>(memory[slot] + lane * 4, from + piece * LINE + lane * 4, full + slot);
        } else {
            wait(full + slot, parity);
            for (int i = 0; i < LINE; i += 4)
                sum += memory[slot][i + thread % 4];
            leave<FORM>(empty + slot, slot, thread);
        }
    }
    for (int slot = 0; FORM == NAMED && thread >= 64 && slot < STAGES; ++slot)
        wait_for_room<FORM>(empty, slot, STAGES);
    if (thread < 64)
        to[thread] = sum;
}

int main(int argc, char **argv)
{
    void (*const modes[])(const float *, float *) = {ring<0, ONE>, ring<1, ONE>, ring<2, ONE>,         ring<0, ALL>,
                                                     ring<1, ALL>, ring<2, ALL>, ring<2, ONE_FOR_ALL>, ring<2, NAMED>};
    const int mode = argc > 1 ? argv[1][0] - '0' : 0;
    float *from, *to;
    if (mode < 0 || mode > 7)
        return 2;
    cudaMalloc(&from, PIECES * LINE * sizeof(float)), cudaMalloc(&to, 64 * sizeof(float));
    cudaMemset(from, 0, PIECES * LINE * sizeof(float));
    modes[mode]<<<1, 96>>>(from, to);
    printf("%d: %s\n", mode, cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
