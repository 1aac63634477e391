/* SPDX-License-Identifier: Apache-2.0
 *
 * TAP output for tests in C. One translation unit a program includes this header: the counters are its own.
 *
 *   tc_plan(n)              optional, first: n points will follow
 *   tc_ok(cond, fmt, ...)   one point; returns cond, so that details can be printed where it is false
 *   tc_skip(n, why)         n points that cannot run here, and why
 *   tc_note(fmt, ...)       diagnostic lines
 *   return tc_done();       last: prints the plan where none was, 0 when every point passed
 *
 * A newline in the name of a point is printed as \n, as tap.py does.
 */
#ifndef TC_TESTS_TAP_H
#define TC_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tc_tap_planned = -1, tc_tap_count, tc_tap_failed;

#if defined(__GNUC__)
#define TC_TAP_PRINTF(f, first) __attribute__((format(printf, f, first), unused))
#define TC_TAP_UNUSED __attribute__((unused))
#else
#define TC_TAP_PRINTF(f, first)
#define TC_TAP_UNUSED
#endif

TC_TAP_UNUSED static void tc_plan(int points) {
    tc_tap_planned = points;
    printf("1..%d\n", points);
}

/* Prints a text of up to 64 KiB and ends the line. between: what stands for each newline but a last one. */
TC_TAP_PRINTF(1, 0) static void tc_tap_text(const char *format, va_list args, const char *between) {
    static char text[1 << 16];
    vsnprintf(text, sizeof text, format, args);
    for (const char *c = text; *c; ++c)
        if (*c != '\n')
            putchar(*c);
        else if (c[1])
            fputs(between, stdout);
    putchar('\n');
}

TC_TAP_PRINTF(2, 3) static int tc_tap_ok(int pass, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", pass ? "" : "not ", ++tc_tap_count);
    tc_tap_text(format, args, "\\n");
    fflush(stdout); /* a crash in the next point must not lose this one */
    va_end(args);
    tc_tap_failed += !pass;
    return pass;
}

#define tc_ok(cond, ...) tc_tap_ok(!!(cond), __VA_ARGS__)

TC_TAP_PRINTF(1, 2) static void tc_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("# ");
    tc_tap_text(format, args, "\n# ");
    va_end(args);
}

TC_TAP_UNUSED static void tc_skip(int points, const char *why) {
    for (int i = 0; i < points; ++i)
        printf("ok %d # SKIP %s\n", ++tc_tap_count, why);
}

TC_TAP_UNUSED static int tc_done(void) {
    if (tc_tap_planned < 0)
        printf("1..%d\n", tc_tap_count);
    else if (tc_tap_planned != tc_tap_count)
        tc_note("planned %d points, ran %d", tc_tap_planned, tc_tap_count);
    if (tc_tap_failed)
        tc_note("%d of %d failed", tc_tap_failed, tc_tap_count);
    fflush(stdout);
    return tc_tap_failed || (tc_tap_planned >= 0 && tc_tap_planned != tc_tap_count);
}

#endif
