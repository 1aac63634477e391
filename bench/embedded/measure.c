/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a model of one input and one output on an emulated board: instructions, stack, and whether every byte of
 * the result is the stored one. qemu-system-arm -icount shift=0 counts an instruction a nanosecond. Macros: run.py.
 */
#include MODEL_HEADER

#include "count.h"

__asm__(".section .rodata\n.balign 64\n"
        ".global stored_inputs\nstored_inputs:\n.incbin \"" INPUTS_FILE "\"\n.balign 64\n"
        ".global stored_outputs\nstored_outputs:\n.incbin \"" OUTPUTS_FILE "\"\n.text\n");
extern const int8_t stored_inputs[CASES][INPUT_BYTES], stored_outputs[CASES][OUTPUT_BYTES];

int main(void)
{
    static tc_context context;
    static _Alignas(64) unsigned char arena[ARENA_BYTES + 1];
    static _Alignas(64) int8_t output[OUTPUT_BYTES];
    int wrong = 0;

    tc_context_init(&context, arena, ARENA_BYTES);
    stack_paint();
    count_start();
    const uint32_t start = count_ticks();
    for (int i = 0; i < REPEAT; ++i)
        if (MODEL_CALL(&context, &(MODEL_ARGS){.INPUT = stored_inputs[0], .OUTPUT = output}) != TC_STATUS_OK)
            return 2;
    const uint32_t instructions = count_since(start);
    const uint32_t stack = stack_used(__builtin_frame_address(0));
    for (int k = 0; k < OUTPUT_BYTES; ++k)
        wrong += output[k] != stored_outputs[0][k];
    print_number("instructions ", instructions / REPEAT);
    print_number("stack ", stack);
    print_number("context ", sizeof context);
    print_number("wrong ", (uint32_t)wrong);
    return wrong > 0;
}
