/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers `cpuid` as a processor without AVX-512 and AMX would (held.py). Preloaded: libraries in which held.py has put a
 * trap in the place of each `cpuid` end here, with the leaf in eax and the sub-leaf in ecx.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#define BIT(n) (1u << (n))

/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, leaf 7 */
enum { FEATURES = 7 };
static const unsigned avx512_ebx = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static const unsigned avx512_ecx = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static const unsigned avx512_amx_edx = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);
static const unsigned later_eax = BIT(4) | BIT(5) | BIT(21) | BIT(23); /* of sub-leaf 1: AVX-VNNI, bf16, AMX, IFMA */

static void answer(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    greg_t *const registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned leaf = (unsigned)registers[REG_RAX], sub = (unsigned)registers[REG_RCX];
    unsigned a, b, c, d;
    __cpuid_count(leaf, sub, a, b, c, d);
    if (leaf == FEATURES && sub == 0)
        b &= ~avx512_ebx, c &= ~avx512_ecx, d &= ~avx512_amx_edx;
    if (leaf == FEATURES && sub == 1)
        a &= ~later_eax;
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
}
