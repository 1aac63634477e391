/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of the network. Another one is a matter of `-D SIZE=…` and so on: one of the tests is a small one.
 */
#ifndef SIZES_H
#define SIZES_H

#ifndef SIZE
#define SIZE 224     /* height and width of an image */
#define DIVIDE 1     /* channels are the paper's divided by this */
#define CLASSES 1000
#endif

/* Sandler, Howard, Zhu, Zhmoginov, Chen 2018, table 2: expansion, channels, repetitions, first stride. */
enum { GROUPS = 7, STEM = 32 / DIVIDE, HEAD = 1280 / DIVIDE };
static const struct { int expansion, channels, count, stride; } groups[GROUPS] = {
    {1, 16 / DIVIDE, 1, 1}, {6, 24 / DIVIDE, 2, 2}, {6, 32 / DIVIDE, 3, 2},  {6, 64 / DIVIDE, 4, 2},
    {6, 96 / DIVIDE, 3, 1}, {6, 160 / DIVIDE, 3, 2}, {6, 320 / DIVIDE, 1, 1},
};

#endif
