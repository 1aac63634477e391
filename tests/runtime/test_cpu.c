/* SPDX-License-Identifier: Apache-2.0
 *
 * What tc_cpu_detect makes of cpuid and of the registers that the operating system saves: processors as their vendors
 * document them, and answers that no set may be taken from. The instructions are replaced, the decisions are the core's.
 */
#include <stdint.h>
#include <string.h>

#include "tap.h"

#if defined(__x86_64__)

/* In place of <cpuid.h> of GCC and of Clang. */
#define _CPUID_H_INCLUDED
#define __CPUID_H

typedef struct processor {
    const char *name;
    unsigned highest;                       /* leaf */
    unsigned ecx1, ebx7, ecx7, subleaves7, eax71;
    unsigned saved;                         /* XCR0 */
    const char *sets;
    unsigned edx7;
    int refused;                            /* the system gives no tiles */
} processor;

static const processor *at;

static int __get_cpuid_count(unsigned leaf, unsigned subleaf, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    if (leaf > at->highest)
        return 0;
    *a = leaf == 7 ? (subleaf == 0 ? at->subleaves7 : subleaf == 1 ? at->eax71 : 0) : 0;
    *b = leaf == 7 && subleaf == 0 ? at->ebx7 : 0;
    *c = leaf == 1 ? at->ecx1 : leaf == 7 && subleaf == 0 ? at->ecx7 : 0;
    *d = leaf == 7 && subleaf == 0 ? at->edx7 : 0;
    return 1;
}

static int __get_cpuid(unsigned leaf, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    return __get_cpuid_count(leaf, 0, a, b, c, d);
}

#define __cpuid_count(leaf, subleaf, a, b, c, d) __get_cpuid_count(leaf, subleaf, &(a), &(b), &(c), &(d))

/* xgetbv, and the call of the system, the core's only assembler instructions. */
static int asked; /* for tiles */
#define __asm__
#define volatile(...) low = at->saved, (void)(high = 0)
#define __volatile__(...) result = at->refused ? -1 : 0, ++asked
#include "../../runtime/core/cpu.c"
#undef __volatile__
#undef volatile
#undef __asm__

enum {
    /* leaf 1, ecx */
    OLD = 1u << 0 | 1u << 9, /* SSE3, SSSE3 */
    XSAVE = 1u << 27,
    AVX1 = 1u << 28,
    FMA3 = 1u << 12,
    HALF = 1u << 29,
    MODERN = OLD | XSAVE | AVX1 | FMA3 | HALF,
    /* leaf 7, ebx */
    AVX_2 = 1u << 5,
    F = 1u << 16,
    DQ = 1u << 17,
    BW = 1u << 30,
    /* leaf 7, ecx, and its first subleaf, eax */
    VNNI = 1u << 11,
    VNNI_OF_AVX = 1u << 4,
    BF16 = 1u << 5,
    /* leaf 7, edx */
    TILE = 1u << 24,
    TILE_INT8 = 1u << 25,
    /* XCR0 */
    SSE_SAVED = 0x3,
    YMM_SAVED = 0x7,
    ZMM_SAVED = 0xe7,
    TILES_SAVED = 0x600e7
};
#define VL (1u << 31)
#define SKYLAKE (AVX_2 | F | DQ | BW | VL)

#if defined(__linux__)
#define TILES_OF_LINUX " avx512_amx"
#else
#define TILES_OF_LINUX ""
#endif

static const processor processors[] = {
    {"no leaf 1", 0, MODERN, SKYLAKE, VNNI, 1, BF16, ZMM_SAVED, "scalar x86_64", 0, 0},
    {"Nehalem", 11, OLD, 0, 0, 0, 0, SSE_SAVED, "scalar x86_64", 0, 0},
    {"Sandy Bridge", 13, OLD | XSAVE | AVX1, 0, 0, 0, 0, YMM_SAVED, "scalar x86_64", 0, 0},
    {"Piledriver: FMA without AVX2", 13, MODERN, 0, 0, 0, 0, YMM_SAVED, "scalar x86_64", 0, 0},
    {"Haswell", 13, MODERN, AVX_2, 0, 0, 0, YMM_SAVED, "scalar x86_64 avx2", 0, 0},
    {"Haswell without F16C", 13, MODERN & ~HALF, AVX_2, 0, 0, 0, YMM_SAVED, "scalar x86_64", 0, 0},
    {"Haswell whose system saves no AVX registers", 13, MODERN, AVX_2, 0, 0, 0, SSE_SAVED, "scalar x86_64", 0, 0},
    {"Haswell whose system has no XSAVE", 13, MODERN & ~XSAVE, AVX_2, 0, 0, 0, YMM_SAVED, "scalar x86_64", 0, 0},
    {"Alder Lake", 32, MODERN, AVX_2, 0, 1, VNNI_OF_AVX, YMM_SAVED, "scalar x86_64 avx2 avx_vnni", 0, 0},
    {"a first subleaf that is not there", 32, MODERN, AVX_2, 0, 0, VNNI_OF_AVX, YMM_SAVED, "scalar x86_64 avx2", 0, 0},
    {"Knights Landing: F without the others", 13, MODERN, AVX_2 | F, 0, 0, 0, ZMM_SAVED, "scalar x86_64 avx2", 0, 0},
    {"Skylake-X", 22, MODERN, SKYLAKE, 0, 0, 0, ZMM_SAVED, "scalar x86_64 avx2 avx512", 0, 0},
    {"Skylake-X whose system saves no AVX-512 registers", 22, MODERN, SKYLAKE, VNNI, 1, BF16, YMM_SAVED,
     "scalar x86_64 avx2", 0, 0},
    {"Cascade Lake", 22, MODERN, SKYLAKE, VNNI, 0, 0, ZMM_SAVED, "scalar x86_64 avx2 avx512 avx512_vnni", 0, 0},
    {"Cooper Lake, Zen 4", 22, MODERN, SKYLAKE, VNNI, 1, BF16, ZMM_SAVED,
     "scalar x86_64 avx2 avx512 avx512_vnni avx512_bf16", 0, 0},
    {"Sapphire Rapids whose system saves no tiles", 32, MODERN, SKYLAKE, VNNI, 1, BF16 | VNNI_OF_AVX, ZMM_SAVED,
     "scalar x86_64 avx2 avx_vnni avx512 avx512_vnni avx512_bf16", TILE | TILE_INT8, 0},
    {"Sapphire Rapids whose system refuses tiles", 32, MODERN, SKYLAKE, VNNI, 1, BF16 | VNNI_OF_AVX, TILES_SAVED,
     "scalar x86_64 avx2 avx_vnni avx512 avx512_vnni avx512_bf16", TILE | TILE_INT8, 1},
    {"tiles without products of bytes", 32, MODERN, SKYLAKE, VNNI, 1, BF16 | VNNI_OF_AVX, TILES_SAVED,
     "scalar x86_64 avx2 avx_vnni avx512 avx512_vnni avx512_bf16", TILE, 0},
    {"Sapphire Rapids", 32, MODERN, SKYLAKE, VNNI, 1, BF16 | VNNI_OF_AVX, TILES_SAVED,
     "scalar x86_64 avx2 avx_vnni avx512 avx512_vnni avx512_bf16" TILES_OF_LINUX, TILE | TILE_INT8, 0},
};

static void test_processor(const processor *p)
{
    static const char *const order[] = {"scalar", "x86_64",      "avx2",        "avx_vnni",
                                        "avx512", "avx512_vnni", "avx512_bf16", "avx512_amx"};
    char found[200] = "";
    at = p;
    const unsigned cpus = tc_cpu_detect();
    unsigned named = 0;
    for (unsigned i = 0; i < sizeof order / sizeof *order; ++i)
        for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu)
            if (cpus >> cpu & 1 && !strcmp(tc_cpu_name((tc_cpu)cpu), order[i])) {
                named |= 1u << cpu;
                strcat(strcat(found, *found ? " " : ""), order[i]);
            }
    tc_ok(named == cpus && !strcmp(found, p->sets), "%s: %s", p->name, found);
    tc_ok(!asked || p->saved == TILES_SAVED, "the system is asked for tiles alone that it saves");
    asked = 0;
}

int main(void)
{
    for (unsigned i = 0; i < sizeof processors / sizeof *processors; ++i)
        test_processor(&processors[i]);
    tc_ok(TC_CPU_SCALAR == 0 && TC_CPU_X86_64 == 1 && TC_CPU_AVX2 == 2 && TC_CPU_AVX512 == 3 && TC_CPU_NEON == 4 &&
              TC_CPU_RV64 == 5 && TC_CPU_M4F == 6 && TC_CPU_AVX_VNNI == 7 && TC_CPU_AVX512_VNNI == 8 &&
              TC_CPU_AVX512_BF16 == 9 &&
              TC_CPU_M55 == 10 && TC_CPU_M0 == 11 && TC_CPU_RV32 == 12 && TC_CPU_NEON_DOT == 13 &&
              TC_CPU_AVX512_AMX == 14,
          "numbers stay what they were");
    return tc_done();
}

#else

int main(void)
{
    tc_skip(1, "this machine is no x86-64");
    return tc_done();
}

#endif
