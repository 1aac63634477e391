/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that read or write at indices that are data. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_INDEXING_H
#define TENSOR_COMPILE_OPS_INDEXING_H

#include "../model.h"

/* table[n, d...], index (i32 or i64, any shape) -> [index's shape, d...]. An index outside 0..n-1 is a status at run
 * time, negative ones too. ATen: embedding. */
#define tc_embedding(index, table) tc_embedding_at(TC_HERE, index, table)
tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table);

/* x's slices along `axis` at each index: [x's dims before axis, index's shape, x's dims after]. Range as embedding.
 * ATen: index_select, for an index of any rank. */
#define tc_gather(x, index, axis) tc_gather_at(TC_HERE, x, index, axis)
tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

#endif
