/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies seeded pictures with ResNet-50 (classify.h).
 *
 *   resnet50 [THREADS]        (default: TC_NUM_THREADS, else the processors)
 */
#include "model.h" /* made from model.c */

#include "../classify.h"
#include "sizes.h"

static tc_status call(tc_context *context, tc_index batch, const float *image, float *logits)
{
    return resnet50(context, &(resnet50_args){.batch = batch, .image = image, .logits = logits});
}

int main(int argc, char **argv)
{
    return classify(&(classifier){call, resnet50_arena_bytes, 3 * SIZE * SIZE, CLASSES}, threads_wanted(argc, argv));
}
