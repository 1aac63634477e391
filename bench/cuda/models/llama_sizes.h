/* SPDX-License-Identifier: Apache-2.0
 *
 * Of llama.c and its weights: Llama 3.2 1B's. -DLAYERS, -DVOCABULARY: fewer of them.
 */
#ifndef LLAMA_SIZES_H
#define LLAMA_SIZES_H

#ifndef LAYERS
#define LAYERS 16
#endif
#ifndef VOCABULARY
#define VOCABULARY 128256
#endif

enum { HIDDEN = 2048, HEADS = 32, KV_HEADS = 8, HEAD = 64, INTERMEDIATE = 8192, CAPACITY = 1024 };

#endif
