/* SPDX-License-Identifier: Apache-2.0
 *
 * A block under capture: what control.c opens and control_close.c closes.
 */
#ifndef TC_CAPTURE_BLOCKS_H
#define TC_CAPTURE_BLOCKS_H

#include "internal.h"

typedef enum tc_block_kind { TC_BLOCK_SCAN, TC_BLOCK_WHILE, TC_BLOCK_THEN, TC_BLOCK_ELSE } tc_block_kind;

/* "TC_SCAN" ... */
extern const char *const tc_block_names[];

/* A tensor of the function around, and what stands for it in the block. */
typedef struct tc_pair {
    tc_tensor outer, inner;
    struct tc_pair *next;
} tc_pair;

typedef struct tc_pairs {
    tc_pair *first, **end;
    int count;
} tc_pairs;

typedef struct tc_collected {
    tc_tensor x, *all;
    struct tc_collected *next;
} tc_collected;

struct tc_block {
    tc_block_kind kind;
    tc_site site;
    tc_region *scope;
    const char *names;           /* of the variables as written: "&h, &c", behind the head's first word */
    tc_tensor *const *variables; /* ending with NULL */
    int count;
    tc_tensor *before, *inside; /* the variables' values before the block, and what they are within */
    tc_pairs captured, slices;
    tc_collected *collected, **collected_end;
    const tc_expr *iterations;
    tc_tensor test;    /* of a while: of the block; of a condition: of the function around */
    tc_captured *then; /* of TC_ELSE */
    tc_tensor *made;   /* of TC_IF, closed: what the variables became */
    int errors;        /* reported before it */
    bool left;         /* by break, return or goto, which was reported */
};

void tc_pairs_append(tc_graph *g, tc_pairs *to, tc_tensor outer, tc_tensor inner);
/* The inner tensor of `outer`; NULL where there is none. */
tc_tensor tc_pairs_find(const tc_pairs *in, tc_tensor outer);
/* A parameter of f, named "what3" for number 3. */
tc_tensor tc_block_parameter(tc_graph *g, tc_captured *f, const char *what, int number, const tc_type *type);
/* The name of variable i as the user wrote it. */
const char *tc_block_variable(tc_graph *g, const struct tc_block *b, int i);
/* What holds in one function holds in the other too. */
void tc_copy_guards(tc_graph *g, const tc_captured *from, tc_captured *to);

#endif
