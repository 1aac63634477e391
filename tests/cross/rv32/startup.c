/* SPDX-License-Identifier: Apache-2.0
 *
 * Start of a bare-metal program of RISC-V under qemu-system-riscv32 (-M virt -bios none) or qemu-riscv32, both with
 * semihosting: memory, main, and its exit code to the emulator. No library, no heap.
 */
#include <stdint.h>

extern uint32_t __bss_start, __bss_end;
int main(void);
void semihosting_text(const char *text);

static intptr_t semihosting(intptr_t operation, const void *argument)
{
    register intptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n\t.option norvc\n\t.balign 16\n\tslli zero, zero, 0x1f\n\tebreak\n\t"
                     "srai zero, zero, 7\n\t.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

void semihosting_text(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

void begin(void);
void begin(void)
{
    for (uint32_t *to = &__bss_start; to < &__bss_end;)
        *to++ = 0;
    const intptr_t block[2] = {0x20026, main()}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);                    /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}

__asm__(".section .start, \"ax\"\n.global reset\nreset:\n\tla sp, __stack_end\n\tj begin\n.text\n");
