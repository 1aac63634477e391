/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdint.h>
#include <string.h>

struct tci_names_slot {
    const char *name; /* NULL: empty */
    size_t position;
};

/* The slot of the name, or the empty one that it would have. capacity is a power of two, and one slot is empty. */
static struct tci_names_slot *slot_of(struct tci_names_slot *slots, size_t capacity, const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t at = (size_t)hash & (capacity - 1);
    while (slots[at].name != NULL && strcmp(slots[at].name, name) != 0)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool enlarge(tci_names *names, tci_arena *arena)
{
    const size_t capacity = names->capacity == 0 ? 16 : names->capacity * 2;
    struct tci_names_slot *slots = tci_arena_alloc(arena, capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].name != NULL)
            *slot_of(slots, capacity, names->slots[i].name) = names->slots[i];
    names->slots = slots;
    names->capacity = capacity;
    return true;
}

bool tci_names_add(tci_names *names, tci_arena *arena, const char *name, size_t position)
{
    if (2 * names->count >= names->capacity && !enlarge(names, arena))
        return false;
    struct tci_names_slot *slot = slot_of(names->slots, names->capacity, name);
    if (slot->name == NULL) {
        *slot = (struct tci_names_slot){name, position};
        names->count++;
    }
    return true;
}

bool tci_names_find(const tci_names *names, const char *name, size_t *position)
{
    if (names->count == 0)
        return false;
    const struct tci_names_slot *slot = slot_of(names->slots, names->capacity, name);
    *position = slot->position;
    return slot->name != NULL;
}
