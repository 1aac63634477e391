/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of the network. Another one is a matter of `-D SIZE=…` and so on: one of the tests is a small one.
 */
#ifndef SIZES_H
#define SIZES_H

#ifndef SIZE
#define SIZE 224       /* height and width of an image */
#define WIDTH 64       /* channels of the first stage; each stage has twice those of the one before */
#define BLOCKS 3, 4, 6, 3
#define CLASSES 1000
#endif

enum { STAGES = 4, EXPANSION = 4 };
static const int blocks[STAGES] = {BLOCKS};

#endif
