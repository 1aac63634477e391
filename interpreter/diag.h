/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the interpreter: the first one is kept, as a line ready to be printed.
 */
#ifndef TCI_DIAG_H
#define TCI_DIAG_H

#include <stdbool.h>

/* A place in a text; file is NULL where there is none. */
typedef struct tci_loc {
    const char *file;
    int line;
} tci_loc;

typedef struct tci_diag {
    bool failed;
    char text[1024]; /* "file:line: error: ..." without a line end; cut where longer */
} tci_diag;

/* Records an error unless there is one already. Returns false, so that callers can `return tci_fail(...)`. */
__attribute__((format(printf, 3, 4))) bool tci_fail(tci_diag *diag, tci_loc loc, const char *format, ...);

#endif
