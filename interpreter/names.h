/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and the positions of what they name, found in constant time: a text may have many thousands of them.
 */
#ifndef TCI_NAMES_H
#define TCI_NAMES_H

#include <stdbool.h>

#include "arena.h"

struct tci_names_slot;

typedef struct tci_names {
    size_t count, capacity;
    struct tci_names_slot *slots;
} tci_names; /* starts as {0} */

/* Adds a name, which the caller keeps alive; the first of equal names stays. False where memory is out. */
bool tci_names_add(tci_names *names, tci_arena *arena, const char *name, size_t position);

/* False where the name is not there. */
bool tci_names_find(const tci_names *names, const char *name, size_t *position);

#endif
