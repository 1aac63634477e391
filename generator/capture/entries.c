/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry functions of a program: constructors of TC_MODEL and TC_FUNCTION register them before main.
 */
#include "internal.h"

static tc_entry *entries;

/* Constructors may run in any order: the list keeps that of the text. */
void tc_register_(tc_entry *entry)
{
    tc_entry **at = &entries;
    while (*at && (*at)->order < entry->order)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

tc_entry *tc_entries(void)
{
    return entries;
}
