/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies with one mistake each, on the line that AT marks, and what is said about it.
 */
#ifndef TC_TESTS_CAPTURE_MISTAKES_H
#define TC_TESTS_CAPTURE_MISTAKES_H

#include "harness.h"
#include "tap.h"

TC_UNUSED static int at;
#define AT (at = __LINE__)

/* An input of the next free name. */
TC_UNUSED static tc_tensor in_(tc_site site, tc_graph *g, int count, const tc_dim *type)
{
    static int next;
    return tc_input_at(site, g, tc_name(g, "in%d", next++), count, type);
}
#define IN(...) in_(TC_HERE, g, TC_DIM_LIST(__VA_ARGS__))
#define F(...) IN(TC_F32, __VA_ARGS__)

/* The message and, where `placed`, its line. */
TC_UNUSED static void expect(const char *name, tc_graph_body *body, const char *message, bool placed)
{
    at = 0;
    captured c = capture_body(body);
    const char *found = strstr(c.errors, message);
    tc_ok(!c.ok && found, "%s: %s", name, message);
    if (placed && found) {
        const char *line = found;
        while (line > c.errors && line[-1] != '\n')
            --line;
        const char *colon = strstr(line, ".c:");
        tc_ok(colon && atoi(colon + 3) == at, "%s: reported at its line", name);
    }
    if (!found)
        tc_note("got: %s", c.errors);
    captured_free(&c);
}

/* What a list of cases X(name, message, statements), a macro CASES(X), is made of: a body each, then what is expected of
   each. */
#define BODY(name, message, ...)                                                                                      \
    static void body_##name(TC_UNUSED tc_graph *g)                                                                    \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
    }
#define EXPECT(name, message, ...) expect(#name, body_##name, message, true);

/* A program of nothing else. */
#define MISTAKES(cases)                                                                                               \
    cases(BODY) int main(void)                                                                                        \
    {                                                                                                                 \
        cases(EXPECT) return tc_done();                                                                               \
    }

#endif
