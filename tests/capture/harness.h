/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures one body within a test: messages and graph text as strings.
 */
#ifndef TC_TESTS_CAPTURE_HARNESS_H
#define TC_TESTS_CAPTURE_HARNESS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct captured {
    bool ok;
    char *errors, *text; /* text: NULL where not ok */
} captured;

static captured capture_body(tc_graph_body *body)
{
    captured out = {0};
    size_t size;
    FILE *errors = open_memstream(&out.errors, &size);
    tc_graph *g = tc_graph_create(errors);
    tc_entry entry = {"test", body, {"test.c", 1}, true, NULL, NULL, 0};
    out.ok = tc_capture(g, 1, (tc_entry *const[]){&entry});
    if (out.ok) {
        FILE *text = open_memstream(&out.text, &size);
        tc_text_write(g, text);
        fclose(text);
    }
    fclose(errors);
    tc_graph_destroy(g);
    return out;
}

static void captured_free(captured *c)
{
    free(c->errors);
    free(c->text);
}

#endif
