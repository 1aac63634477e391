/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies seeded pictures with MobileNetV2 (classify.h).
 *
 *   mobilenet_v2 [THREADS]        (default: TC_NUM_THREADS, else the processors)
 */
#include "model.h" /* made from model.c */

#include "../classify.h"
#include "sizes.h"

static tc_status call(tc_context *context, tc_index batch, const float *image, float *logits)
{
    return mobilenet_v2(context, &(mobilenet_v2_args){.batch = batch, .image = image, .logits = logits});
}

int main(int argc, char **argv)
{
    return classify(&(classifier){call, mobilenet_v2_arena_bytes, 3 * SIZE * SIZE, CLASSES}, threads_wanted(argc, argv));
}
