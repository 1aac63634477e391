/* SPDX-License-Identifier: Apache-2.0
 *
 * For test_dims.py: reads `NAME LO HI DIVISOR` lines, then `-`, then expressions in prefix form (`+ a b`, `- a b`,
 * `* a b`, `/ a b`, `> a b` the larger, `< a b` the smaller, a number, a name), one a line, and prints the canonical text of each, whether it is proved
 * non-negative, and its bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dims.h"

static tc_arena arena;
static tc_dims dims;
static struct {
    const char *name;
    const tc_expr *expr;
} names[32];
static int name_count;

static const tc_expr *read_expr(char **save)
{
    const char *token = strtok_r(NULL, " \n", save);
    if (!token)
        exit(1);
    if (strlen(token) == 1 && strchr("+-*/><", *token)) {
        const tc_expr *a = read_expr(save), *b = read_expr(save);
        switch (*token) {
        case '+': return tc_expr_add(a, b);
        case '-': return tc_expr_sub(a, b);
        case '*': return tc_expr_mul(a, b);
        case '>': return tc_expr_max(a, b);
        case '<': return tc_expr_min(a, b);
        default: return tc_expr_floordiv(a, b);
        }
    }
    for (int i = 0; i < name_count; ++i)
        if (!strcmp(names[i].name, token))
            return names[i].expr;
    return tc_expr_const(&dims, atoll(token));
}

static void print_bound(tc_bound b)
{
    if (b.known)
        printf(" %lld", (long long)b.value);
    else
        printf(" None");
}

int main(void)
{
    char line[4096];
    tc_dims_init(&dims, &arena);
    while (fgets(line, sizeof line, stdin) && line[0] != '-') {
        char name[64];
        long long lo, hi, divisor;
        if (sscanf(line, "%63s %lld %lld %lld", name, &lo, &hi, &divisor) != 4)
            return 1;
        tc_sym *sym = tc_arena_alloc(&arena, sizeof *sym);
        *sym = (tc_sym){tc_arena_copy(&arena, name), lo, hi, divisor};
        names[name_count].name = sym->name;
        names[name_count++].expr = tc_expr_sym(&dims, sym);
    }
    while (fgets(line, sizeof line, stdin)) {
        char *save = NULL, shifted[4100];
        snprintf(shifted, sizeof shifted, "= %s", line);
        strtok_r(shifted, " ", &save);
        const tc_expr *e = read_expr(&save);
        printf("%s | %d", tc_expr_text(e), tc_expr_nonnegative(e));
        print_bound(tc_expr_lo(e));
        print_bound(tc_expr_hi(e));
        printf(" %lld %d\n", (long long)tc_expr_divisor(e), tc_expr_never_equal(e, dims.zero));
    }
    tc_arena_free(&arena);
    return 0;
}
