/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_KERNELS_H
#define TESTS_RUNTIME_KERNELS_H

/* While `watch` is set (single-threaded tests), the name of the instruction set whose kernels ran last. */
extern int kernels_watch;
extern const char *kernels_ran;

#endif
