/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: for every node, in the order in which they run, how many elements it has and whether all are whole; where
 * they are not, the elements as doubles, row-major.
 */
#include "roundings.h"

#include <math.h>
#include <string.h>

typedef struct header {
    int64_t count, whole;
} header;

bool tci_makes_integers(tci_op op, tci_dtype from, tci_dtype to)
{
    if (op == TCI_OP_round || op == TCI_OP_floor)
        return true;
    return op == TCI_OP_cast && tci_dtype_is_float(from) && !tci_dtype_is_float(to) && to != TCI_BOOL;
}

static double at(const tci_tensor *dense, int64_t i)
{
    return tci_wide_of(dense->dtype, dense->data + (size_t)i * tci_dtype_size(dense->dtype));
}

bool tci_roundings_write(const tci_scope *scope, const tci_node *node, const tci_tensor *in)
{
    FILE *file = scope->roundings->file;
    tci_tensor dense;
    if (!tci_tensor_dense(&dense, in, node->loc, scope->diag))
        return false;
    header head = {tci_tensor_elements(&dense), 1};
    for (int64_t i = 0; i < head.count; i++)
        head.whole &= at(&dense, i) == rint(at(&dense, i));
    fwrite(&head, sizeof head, 1, file);
    for (int64_t i = 0; i < head.count && !head.whole; i++) {
        const double value = at(&dense, i);
        fwrite(&value, sizeof value, 1, file);
    }
    tci_tensor_release(&dense);
    return true;
}

/* The file's floats for the node; r->ended where it has none. The file does not hold whole ones: each is the integer next
 * to `own`, as it is where both floats are nearly the same. */
static bool read_floats(const tci_scope *scope, const tci_node *node, const tci_tensor *own, tci_tensor *theirs)
{
    tci_roundings *r = scope->roundings;
    const int64_t count = tci_tensor_elements(own);
    header head;
    if (fread(&head, sizeof head, 1, r->file) != 1 || head.count != count) {
        r->ended = true;
        return true;
    }
    if (!tci_tensor_make(theirs, TCI_WIDE, own->rank, own->shape, node->loc, scope->diag))
        return false;
    double *to = (double *)theirs->data;
    for (int64_t i = 0; i < count && head.whole; i++)
        to[i] = rint(at(own, i));
    if (!head.whole && fread(to, sizeof *to, (size_t)count, r->file) != (size_t)count)
        return tci_node_fail(scope, node, "the file of roundings is short");
    return true;
}

static void apply(tci_run *run, const tci_tensor *in, const tci_tensor *out)
{
    const tci_tensor *both[2] = {out, in};
    tci_for_each_run(2, both, run, NULL);
}

bool tci_roundings_follow(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_run *run,
                          const tci_tensor *out)
{
    tci_roundings *r = scope->roundings;
    tci_tensor own = {0}, theirs = {0}, other = {0};
    bool ok = tci_tensor_dense(&own, in, node->loc, scope->diag) &&
              (r->ended || read_floats(scope, node, &own, &theirs));
    apply(run, in, out);
    if (ok && !r->ended) {
        ok = tci_tensor_make(&other, out->dtype, out->rank, out->shape, node->loc, scope->diag);
        if (ok)
            apply(run, &theirs, &other);
        const size_t size = tci_dtype_size(out->dtype);
        for (int64_t i = 0; i < tci_tensor_elements(&own) && ok; i++) {
            char *to = out->data + (size_t)i * size, *from = other.data + (size_t)i * size;
            const double a = at(&theirs, i), b = at(&own, i);
            if (!memcmp(to, from, size) || (isnan(a) && isnan(b)))
                continue;
            if (fabs(a - b) <= r->atol + r->rtol * fabs(b)) {
                memcpy(to, from, size);
                r->taken++;
            } else if (r->apart++ == 0) {
                r->first = node->loc;
            }
        }
    }
    tci_tensor_release(&own);
    tci_tensor_release(&theirs);
    tci_tensor_release(&other);
    return ok;
}
