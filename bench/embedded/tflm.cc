/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a .tflite model by TensorFlow Lite Micro on an emulated board, as measure.c does with ours: instructions of
 * Invoke, stack, the arena that the interpreter uses, and whether every byte is the stored one. Macros: tflm.py.
 */
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"
#include "tensorflow/lite/schema/schema_generated.h"

extern "C" {
#include "count.h"
void DebugLog(const char *, va_list)
{
}
int DebugVsnprintf(char *, size_t, const char *, va_list)
{
    return 0;
}
extern const int8_t stored_inputs[CASES][INPUT_BYTES], stored_outputs[CASES][OUTPUT_BYTES];
extern const unsigned char model_data[];
}

__asm__(".section .rodata\n.balign 64\n"
        ".global model_data\nmodel_data:\n.incbin \"" MODEL_FILE "\"\n.balign 64\n"
        ".global stored_inputs\nstored_inputs:\n.incbin \"" INPUTS_FILE "\"\n.balign 64\n"
        ".global stored_outputs\nstored_outputs:\n.incbin \"" OUTPUTS_FILE "\"\n.text\n");

namespace {

alignas(16) unsigned char arena[512 * 1024];
alignas(4) unsigned char resolver_room[sizeof(tflite::MicroMutableOpResolver<7>)];
alignas(8) unsigned char interpreter_room[sizeof(tflite::MicroInterpreter)];

} /* namespace */

int main()
{
    /* in place: nothing here runs constructors before main, or destructors behind it */
    auto &resolver = *new (resolver_room) tflite::MicroMutableOpResolver<7>;
    resolver.AddFullyConnected();
    resolver.AddConv2D();
    resolver.AddDepthwiseConv2D();
    resolver.AddAveragePool2D();
    resolver.AddAdd();
    resolver.AddReshape();
    resolver.AddSoftmax();
    auto &interpreter =
        *new (interpreter_room) tflite::MicroInterpreter(tflite::GetModel(model_data), resolver, arena, sizeof arena);
    if (interpreter.AllocateTensors() != kTfLiteOk)
        return 2;
    memcpy(interpreter.input(0)->data.int8, stored_inputs[0], INPUT_BYTES);
    stack_paint();
    count_start();
    const uint32_t start = count_ticks();
    if (interpreter.Invoke() != kTfLiteOk)
        return 3;
    const uint32_t instructions = count_since(start);
    const uint32_t stack = stack_used(__builtin_frame_address(0));
    uint32_t wrong = 0;
    for (int k = 0; k < OUTPUT_BYTES; ++k)
        wrong += interpreter.output(0)->data.int8[k] != stored_outputs[0][k];
    print_number("instructions ", instructions);
    print_number("stack ", stack);
    print_number("arena ", (uint32_t)interpreter.arena_used_bytes());
    print_number("wrong ", wrong);
    return 0;
}
