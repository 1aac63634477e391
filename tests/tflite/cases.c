/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a model of one input and one output with stored cases that are part of the image, and prints how many results
 * are equal to the stored bytes; exit code 1 where one is not. Hosted or on a bare-metal board. COUNTED: and what the last
 * call counted by autotune/clock.h. Macros: see test_tiny.py.
 */
#include MODEL_HEADER

#include <string.h>

#ifdef BARE_METAL
void semihosting_text(const char *text);
static void print(const char *text)
{
    semihosting_text(text);
}
#else
#include <stdio.h>
static void print(const char *text)
{
    fputs(text, stdout);
}
#endif

#ifdef COUNTED
#include "clock.h"
#else
#define tc_clock_begin() 0
#define tc_clock_end(begin) 0
#endif

/* The bytes of all cases, one behind the other. */
__asm__(".section .rodata\n.balign 64\n"
        ".global stored_inputs\nstored_inputs:\n.incbin \"" INPUTS_FILE "\"\n.balign 64\n"
        ".global stored_outputs\nstored_outputs:\n.incbin \"" OUTPUTS_FILE "\"\n.text\n");
extern const int8_t stored_inputs[CASES][INPUT_BYTES], stored_outputs[CASES][OUTPUT_BYTES];

static void print_number(int n)
{
    char text[12];
    int at = 11;
    text[at] = 0;
    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    print(text + at);
}

int main(void)
{
    static tc_context context;
    static _Alignas(64) unsigned char arena[ARENA_BYTES + 1];
    static _Alignas(64) int8_t output[OUTPUT_BYTES];
    int equal = 0, wrong = 0;
    double count = 0;

#ifdef COUNTED
    const char *const why = tc_clock_init();
    if (why) {
        print(why);
        return 2;
    }
#endif
    tc_context_init(&context, arena, ARENA_BYTES);
    for (int i = 0; i < CASES; ++i) {
        memset(output, 85, sizeof output);
        const double begin = tc_clock_begin();
        const tc_status status = MODEL_CALL(&context, &(MODEL_ARGS){.INPUT = stored_inputs[i], .OUTPUT = output});
        count = tc_clock_end(begin);
        if (status != TC_STATUS_OK) {
            print(context.error.message);
            print("\n");
            return 1;
        }
        int differ = 0;
        for (int k = 0; k < OUTPUT_BYTES; ++k)
            differ += output[k] != stored_outputs[i][k];
        equal += !differ;
        wrong += differ;
    }
    print_number(equal);
    print(" of ");
    print_number(CASES);
    print(" cases equal, ");
    print_number(wrong);
    print(" bytes differ\n");
    if (count > 0) {
        print("instructions ");
        print_number((int)count);
        print("\n");
    }
    return wrong > 0;
}
