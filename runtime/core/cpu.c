/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor's instruction sets. Needs nothing else of the core: the measuring harness compiles it alone.
 */
#include <tensor_compile/runtime.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The architectures of instruction_sets.def, and the one that this is compiled for: 0 for any other, and where the
 * compile command leaves its baseline out. */
enum { X86_64 = 1, AARCH64 = 2, RISCV64 = 4, ARM = 8, RISCV32 = 16 };
#if defined(__x86_64__)
enum { HERE = X86_64 };
#elif defined(__aarch64__) && defined(__ARM_NEON)
enum { HERE = AARCH64 };
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_flen)
enum { HERE = RISCV64 };
#elif defined(__riscv) && __riscv_xlen == 32
enum { HERE = RISCV32 };
#elif defined(__arm__)
enum { HERE = ARM };
#else
enum { HERE = 0 };
#endif

enum {
#define TC_CPU_FEATURE(name, ...) POSITION_##name,
#include <tensor_compile/instruction_sets.def>
};
enum {
#define TC_CPU_FEATURE(name, ...) name = 1 << POSITION_##name,
#include <tensor_compile/instruction_sets.def>
};

/* Where the table says that an extension is found. */
enum { LEAF_1, LEAF_7, LEAF_7_1, LEAF_NONE, LEAF_HWCAP, LEAF_COUNT };

#if defined(__x86_64__)
enum { EAX, EBX, ECX, EDX };
enum { YMM = 0x06, ZMM = 0xe6, TILES = 0x600e6 }; /* what the operating system saves of the registers, in XCR0 */

static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Asks for the registers of tiles, which Linux saves for the processes alone that did so, and all of whose threads may
 * use them then. */
static int tiles_permitted(void)
{
#if defined(__linux__)
    enum { SYS_ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    long result;
    __asm__ __volatile__("syscall"
                         : "=a"(result)
                         : "0"((long)SYS_ARCH_PRCTL), "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                         : "rcx", "r11", "memory");
    return result == 0;
#else
    return 0;
#endif
}

static unsigned features(void)
{
    unsigned leaves[LEAF_COUNT][4] = {{0}}, *r = leaves[LEAF_1], found = 0;
    const unsigned osxsave = 1u << 27;
    if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) || !(r[ECX] & osxsave))
        return 0;
    r = leaves[LEAF_7];
    if (__get_cpuid_count(7, 0, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) && r[EAX] >= 1) {
        r = leaves[LEAF_7_1];
        __cpuid_count(7, 1, r[EAX], r[EBX], r[ECX], r[EDX]);
    }
    const unsigned saved = saved_registers();
#define TC_CPU_FEATURE(name, leaf, register_, bit, needed, ...)                                                        \
    if ((saved & needed) == needed && leaves[leaf][register_] >> bit & 1)                                              \
        found |= name;
#include <tensor_compile/instruction_sets.def>
    if (found & AMX_TILE && !tiles_permitted())
        found &= ~(unsigned)AMX_TILE;
    return found;
}
#elif defined(__aarch64__)
enum { AUXILIARY_HWCAP = 16 };
#if defined(__linux__)
/* The C library's; a program without one knows what it is compiled for. */
extern unsigned long getauxval(unsigned long) __attribute__((weak));
#endif

static unsigned features(void)
{
    unsigned found = 0;
    unsigned long hwcap = 0;
#if defined(__linux__)
    if (getauxval)
        hwcap = getauxval(AUXILIARY_HWCAP);
#endif
#ifdef __ARM_FEATURE_DOTPROD
    found |= DOTPROD;
#endif
#define TC_CPU_FEATURE(name, leaf, register_, bit, ...)                                                                \
    if (leaf == LEAF_HWCAP && hwcap >> (bit)&1)                                                                        \
        found |= name;
#include <tensor_compile/instruction_sets.def>
    return found;
}
#else
static unsigned features(void)
{
    unsigned found = 0;
#ifdef __ARM_FEATURE_FMA
    found |= ARM_FPU;
#endif
#ifdef __ARM_FEATURE_MVE
    found |= HELIUM;
#endif
    return found;
}
#endif

unsigned tc_cpu_detect(void)
{
    unsigned found = 1u << TC_CPU_SCALAR;
    const unsigned have = features();
#define TC_INSTRUCTION_SET(name, upper, number, base, archs, vectors, lanes, registers, pointers, fmas, loads,         \
                           latency, needs, ...)                                                                        \
    if ((HERE & (archs)) && (found >> TC_CPU_##base & 1) && (have & (needs)) == (needs))                               \
        found |= 1u << TC_CPU_##upper;
#include <tensor_compile/instruction_sets.def>
    return found;
}

const char *tc_cpu_name(tc_cpu cpu)
{
    static const char *const names[TC_CPU_COUNT] = {
#define TC_INSTRUCTION_SET(name, upper, ...) [TC_CPU_##upper] = #name,
#include <tensor_compile/instruction_sets.def>
    };
    return (unsigned)cpu < TC_CPU_COUNT ? names[cpu] : "unknown";
}
