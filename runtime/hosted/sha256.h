/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_HOSTED_SHA256_H
#define TC_HOSTED_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4) of n bytes. */
void tc_sha256(const void *data, size_t n, uint8_t digest[32]);

#endif
