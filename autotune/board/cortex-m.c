/* SPDX-License-Identifier: Apache-2.0
 *
 * Start of the measuring harness on a Cortex-M without an operating system, and what newlib needs of a board: memory,
 * text out, an end. To be linked with `tensor-compile tune --link-args` and a linker script of this folder; a board of
 * your own has its own start, and puts text out where you read it.
 *
 *   -DUART=0x40004000   text goes to that UART, one of Arm's CMSDK as the MPS2 boards have it; the harness says `exit N`
 *                       as its last line. Without: to the debugger, by semihosting, and so does the exit code.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

extern uint32_t __stack_end, __data_load, __data_start, __data_end, __bss_start, __bss_end;
extern char __heap_start, __heap_end;
int main(int argc, char **argv);

#ifdef UART
#define UART_DATA (*(volatile uint32_t *)(UART + 0))
#define UART_STATE (*(volatile uint32_t *)(UART + 4))
#define UART_CONTROL (*(volatile uint32_t *)(UART + 8))
#define UART_DIVIDER (*(volatile uint32_t *)(UART + 16))

static void put(const char *text, int count)
{
    UART_DIVIDER = 25000000 / 115200;
    UART_CONTROL = 1; /* it sends */
    for (int i = 0; i < count; ++i) {
        while (UART_STATE & 1) /* full */
            ;
        UART_DATA = (uint32_t)(unsigned char)text[i];
    }
}

void _exit(int code)
{
    (void)code;
    for (;;)
        ;
}
#else
static intptr_t semihosting(intptr_t operation, const void *argument)
{
    register intptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void put(const char *text, int count)
{
    char line[65];
    for (int at = 0; at < count;) {
        int n = 0;
        while (n < 64 && at < count)
            line[n++] = text[at++];
        line[n] = 0;
        semihosting(0x04, line); /* SYS_WRITE0 */
    }
}

void _exit(int code)
{
    const intptr_t block[2] = {0x20026, code}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);                  /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}
#endif

int _write(int file, const char *text, int count)
{
    (void)file;
    put(text, count);
    return count;
}

void *_sbrk(intptr_t more)
{
    static char *end = &__heap_start;
    if (more > &__heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return end - more;
}

int _fstat(int file, struct stat *about)
{
    (void)file;
    about->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _lseek(int file, int offset, int from)
{
    (void)file, (void)offset, (void)from;
    return 0;
}

int _read(int file, char *text, int count)
{
    (void)file, (void)text, (void)count;
    return 0;
}

int _kill(int process, int signal)
{
    (void)process, (void)signal;
    return -1;
}

int _getpid(void)
{
    return 1;
}

static void fault(void)
{
    static const char text[] = "failed the processor stopped with a fault\nexit 1\n";
    put(text, sizeof text - 1);
    _exit(1);
}

void reset(void);
void reset(void)
{
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xe000ed88;
    *cpacr |= 0xfu << 20; /* full access to CP10 and CP11: floats and vectors */
    __asm__ volatile("dsb\n\tisb");
    for (uint32_t *to = &__data_start, *from = &__data_load; to < &__data_end;)
        *to++ = *from++;
    for (uint32_t *to = &__bss_start; to < &__bss_end;)
        *to++ = 0;
    _exit(main(0, 0));
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {&__stack_end,  (void *)reset,
                                                                                   (void *)fault, (void *)fault,
                                                                                   (void *)fault, (void *)fault,
                                                                                   (void *)fault};
