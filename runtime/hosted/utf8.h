/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes are text. The capture library includes it too: no symbol of it is in two libraries.
 */
#ifndef TENSOR_COMPILE_UTF8_H
#define TENSOR_COMPILE_UTF8_H

#include <stdbool.h>

/* Whether text is UTF-8: no cut, overlong or surrogate sequence, nothing beyond U+10FFFF. */
static inline bool tc_is_utf8(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const unsigned first = *p++;
        const int more = first < 0x80   ? 0
                         : first < 0xc2 ? -1
                         : first < 0xe0 ? 1
                         : first < 0xf0 ? 2
                         : first < 0xf5 ? 3
                                        : -1;
        const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (more < 0 || (more > 0 && (*p < low || *p > high)))
            return false;
        for (int i = 0; i < more; ++i)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

#endif
