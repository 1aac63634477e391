/* SPDX-License-Identifier: Apache-2.0
 *
 * Start of a bare-metal program on the boards mps2-an386 (Cortex-M4 with FPU) and mps3-an547 (Cortex-M55) under an
 * emulator with semihosting, and on any Cortex-M by its flags: memory, the FPU where there is one, main, and its exit code
 * to the emulator. No library, no heap.
 */
#include <stdint.h>

extern uint32_t __stack_end, __data_load, __data_start, __data_end, __bss_start, __bss_end;
int main(void);
void semihosting_text(const char *text);

static intptr_t semihosting(intptr_t operation, const void *argument) {
    register intptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void semihosting_text(const char *text) {
    semihosting(0x04, text); /* SYS_WRITE0 */
}

static void leave(int code) {
    const intptr_t block[2] = {0x20026, code}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);                  /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}

static void fault(void) {
    semihosting_text("fault\n");
    leave(99);
}

void reset(void);
void reset(void) {
#if defined __ARM_FP || defined __ARM_FEATURE_MVE
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xe000ed88;
    *cpacr |= 0xfu << 20; /* full access to CP10 and CP11: floats and vectors */
    __asm__ volatile("dsb\n\tisb");
#endif
    for (uint32_t *to = &__data_start, *from = &__data_load; to < &__data_end;)
        *to++ = *from++;
    for (uint32_t *to = &__bss_start; to < &__bss_end;)
        *to++ = 0;
    leave(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &__stack_end, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault};
