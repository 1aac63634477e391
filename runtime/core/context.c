/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts and the processor's instruction sets.
 */
#include "internal.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* What the operating system saves of the vector registers (XCR0). */
static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

unsigned tc_cpu_detect(void)
{
    unsigned found = 1u << TC_CPU_SCALAR;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    found |= 1u << TC_CPU_X86_64;
    const unsigned needed = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, OSXSAVE, AVX, F16C */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed)
        return found;
    const unsigned saved = saved_registers(), ymm = 0x06, zmm = 0xe6;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return found;
    const unsigned avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if ((saved & ymm) == ymm && (b & avx2)) {
        found |= 1u << TC_CPU_AVX2;
        if ((saved & zmm) == zmm && (b & avx512) == avx512)
            found |= 1u << TC_CPU_AVX512;
    }
#elif defined(__aarch64__) && defined(__ARM_NEON)
    found |= 1u << TC_CPU_NEON;
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_flen)
    found |= 1u << TC_CPU_RV64;
#elif defined(__arm__) && defined(__ARM_FEATURE_FMA)
    found |= 1u << TC_CPU_M4F;
#endif
    return found;
}

const char *tc_cpu_name(tc_cpu cpu)
{
    static const char *const names[TC_CPU_COUNT] = {
        [TC_CPU_SCALAR] = "scalar", [TC_CPU_X86_64] = "x86_64", [TC_CPU_AVX2] = "avx2", [TC_CPU_AVX512] = "avx512",
        [TC_CPU_NEON] = "neon",     [TC_CPU_RV64] = "rv64",     [TC_CPU_M4F] = "m4f"};
    return (unsigned)cpu < TC_CPU_COUNT ? names[cpu] : "unknown";
}

static unsigned detect(void *user)
{
    (void)user;
    return tc_cpu_detect();
}

tc_status tc_context_init(tc_context *context, void *arena, size_t arena_bytes)
{
    return tc_context_init_with(context, arena, arena_bytes, detect, NULL);
}

tc_status tc_context_init_with(tc_context *context, void *arena, size_t arena_bytes, unsigned (*ask)(void *user),
                               void *user)
{
    if (!context)
        return TC_STATUS_NULL_POINTER;
    memset(context, 0, sizeof *context);
    if (!ask || (!arena && arena_bytes))
        return tc_refuse(context, TC_STATUS_NULL_POINTER, NULL, &(tc_detail){.subject = ask ? "arena" : "detect"},
                       "%s is NULL");
    context->arena = arena; /* one that is misaligned, too: a call then says so, where this status is not looked at */
    context->arena_bytes = arena_bytes;
    context->team.threads = 1;
    context->cpus = ask(user);
    return tc_aligned(arena, TC_ALIGNMENT)
               ? TC_STATUS_OK
               : tc_refuse(context, TC_STATUS_MISALIGNED, NULL,
                         &(tc_detail){.subject = "arena", .position = -1, .low = TC_ALIGNMENT, .high = TC_ALIGNMENT},
                         "arena is not aligned to %l bytes");
}

void tc_context_limit_cpu(tc_context *context, tc_cpu best)
{
    if (context && (unsigned)best < TC_CPU_COUNT)
        context->cpus &= (2u << best) - 1;
}
