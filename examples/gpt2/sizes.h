/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of the network: GPT-2's smallest (124 million weights). Another one is a matter of `-D LAYERS=…` and so on:
 * one of the tests is a small one.
 */
#ifndef SIZES_H
#define SIZES_H

#ifndef LAYERS
#define LAYERS 12
#define HIDDEN 768
#define HEADS 12
#define VOCABULARY 50257
#define CAPACITY 1024 /* tokens that the cache holds */
#endif

enum { HEAD = HIDDEN / HEADS, INNER = 4 * HIDDEN };

#endif
