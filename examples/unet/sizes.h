/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of the network. Another one is a matter of `-D WIDTH=…` and so on: one of the tests is a small one.
 */
#ifndef SIZES_H
#define SIZES_H

#ifndef WIDTH
#define WIDTH 16     /* channels of the first level; each level has twice those of the one above */
#define LEVELS 4     /* the lowest one is 2^(LEVELS - 1) times smaller than the image */
#define LARGEST 256  /* the largest height and width */
#define CLASSES 2
#endif

enum { DIVISOR = 1 << (LEVELS - 1) };

#endif
