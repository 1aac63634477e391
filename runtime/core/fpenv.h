/* SPDX-License-Identifier: Apache-2.0
 *
 * The floating-point environment of a call (docs/numerics.md): round to nearest even, denormals on, no traps. Every
 * thread of a call enters it and gives the caller's back, sticky flags included.
 */
#ifndef TC_CORE_FPENV_H
#define TC_CORE_FPENV_H

#include <stdint.h>

#if defined(__x86_64__)

typedef unsigned tc_fpenv;

static inline tc_fpenv tc_fpenv_enter(void)
{
    const unsigned saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80); /* all exceptions masked; rounding, flush and denormal bits clear */
    return saved;
}

static inline void tc_fpenv_leave(tc_fpenv saved)
{
    __builtin_ia32_ldmxcsr(saved);
}

#elif defined(__aarch64__)

typedef uint64_t tc_fpenv;

static inline tc_fpenv tc_fpenv_enter(void)
{
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return saved;
}

static inline void tc_fpenv_leave(tc_fpenv saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}

#elif defined(__riscv) && defined(__riscv_flen)

typedef unsigned long tc_fpenv;

static inline tc_fpenv tc_fpenv_enter(void)
{
    unsigned long saved; /* RISC-V has denormals and no traps: the rounding mode is all there is */
    __asm__ volatile("frcsr %0" : "=r"(saved) : : "memory");
    __asm__ volatile("fscsr zero" : : : "memory");
    return saved;
}

static inline void tc_fpenv_leave(tc_fpenv saved)
{
    __asm__ volatile("fscsr %0" : : "r"(saved) : "memory");
}

#elif defined(__arm__) && defined(__ARM_FP)

typedef uint32_t tc_fpenv;

static inline tc_fpenv tc_fpenv_enter(void)
{
    uint32_t saved;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(saved) : : "memory");
    /* rounding mode, flush to zero, default NaN, alternative half precision, trap enables, vector length and stride; where
     * there is Helium, the bits of the length say which lanes its instructions leave out, and 4 says none */
#ifdef __ARM_FEATURE_MVE
    const uint32_t others = ~UINT32_C(0x07f09f00);
#else
    const uint32_t others = ~UINT32_C(0x07f79f00);
#endif
    __asm__ volatile("vmsr fpscr, %0" : : "r"(saved & others) : "memory");
    return saved;
}

static inline void tc_fpenv_leave(tc_fpenv saved)
{
    __asm__ volatile("vmsr fpscr, %0" : : "r"(saved) : "memory");
}

#else /* arithmetic in software has one environment */

typedef int tc_fpenv;

static inline tc_fpenv tc_fpenv_enter(void)
{
    return 0;
}

static inline void tc_fpenv_leave(tc_fpenv saved)
{
    (void)saved;
}

#endif

#endif
