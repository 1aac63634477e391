/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry functions of a program: constructors of TC_MODEL and TC_FUNCTION register them before main.
 */
#include <string.h>

#include "internal.h"

static tc_entry *entries;

/* Constructors of one file may run in any order: the list keeps that of the lines. */
void tc_register_(tc_entry *entry)
{
    tc_entry **at = &entries, **behind = &entries;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->site.file, entry->site.file) || (*at)->site.line < entry->site.line)
            behind = &(*at)->next;
    entry->next = *behind;
    *behind = entry;
}

tc_entry *tc_entries(void)
{
    return entries;
}
