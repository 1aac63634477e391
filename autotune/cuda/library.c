/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROPOSED = 64, ALIGNED = 16 };
enum { WORKSPACE_BYTES = 1, FIRST_ALIGNED = 5, RESULT_ALIGNED = 8 }; /* cublasLtMatmulPreferenceAttributes_t */
static const uint64_t MOST_WORKSPACE = 32 << 20;                     /* what the library recommends for an H100 */

void tc_library_begin(tc_library_case *one)
{
    memset(one, 0, sizeof *one);
    for (int i = 0; i < TC_MATRIX_COUNT; ++i)
        one->places[i].buffer = -1;
}

int tc_library_line(tc_library_case *one, const char *line)
{
    static const char *const names[] = {"first", "second", "added", "result", "bias"};
    tc_device_product *p = &one->product;
    char name[16];
    int function, buffer, turned;
    long long rows, columns, terms, offset, stride;
    if (sscanf(line, "product %lld %lld %lld %d %d", &rows, &columns, &terms, &function, &one->most) == 5) {
        p->rows = rows, p->columns = columns, p->terms = terms;
        p->function = (uint8_t)function;
        return one->most > 0 && one->most <= MOST_PROPOSED;
    }
    if (sscanf(line, "matrix %15s %d %lld %lld %d", name, &buffer, &offset, &stride, &turned) != 5)
        return 0;
    int which = 0;
    while (which < TC_MATRIX_COUNT && strcmp(name, names[which]))
        ++which;
    if (which == TC_MATRIX_COUNT)
        return 0;
    one->places[which] = (tc_matrix_place){buffer, offset};
    if (which == TC_FIRST)
        p->first_stride = stride, p->first_turned = (uint8_t)turned;
    else if (which == TC_SECOND)
        p->second_stride = stride, p->second_turned = (uint8_t)turned;
    else if (which == TC_ADDED)
        p->added_stride = stride, p->has_added = 1;
    else if (which == TC_RESULT)
        p->result_stride = stride;
    else
        p->has_bias = 1;
    if (which == TC_RESULT && !p->has_added)
        p->added_stride = stride;
    return 1;
}

/* cublaslt_VERSION_wWORKSPACE_BYTES, without zeros at the end. */
void tc_library_name(const tc_device_product *product, char name[TC_ALGORITHM_NAME])
{
    const unsigned char *const bytes = (const unsigned char *)product->algorithm;
    int count = sizeof product->algorithm;
    while (count > 1 && !bytes[count - 1])
        --count;
    int at = snprintf(name, TC_ALGORITHM_NAME, "cublaslt_%u_w%llu_", product->version,
                      (unsigned long long)product->workspace);
    for (int i = 0; i < count; ++i)
        at += snprintf(name + at, TC_ALGORITHM_NAME - (size_t)at, "%02x", bytes[i]);
}

int tc_library_named(tc_device_product *product, const char *name)
{
    unsigned char *const bytes = (unsigned char *)product->algorithm;
    unsigned long long workspace;
    unsigned value;
    int used = 0;
    if (sscanf(name, "cublaslt_%u_w%llu_%n", &product->version, &workspace, &used) != 2 || !used)
        return 0;
    product->workspace = workspace;
    memset(bytes, 0, sizeof product->algorithm);
    for (size_t i = 0; i < sizeof product->algorithm && sscanf(name + used, "%2x", &value) == 1; ++i, used += 2)
        bytes[i] = (unsigned char)value;
    return !name[used];
}

static int prefer(const tc_lt *lt, void **preference)
{
    const uint32_t aligned = ALIGNED;
    int status = lt->preference_create(preference);
    status = status ? status : lt->preference_set(*preference, WORKSPACE_BYTES, &MOST_WORKSPACE, sizeof MOST_WORKSPACE);
    for (int i = FIRST_ALIGNED; i <= RESULT_ALIGNED && !status; ++i)
        status = lt->preference_set(*preference, i, &aligned, sizeof aligned);
    return status;
}

int tc_library_propose(const tc_lt *lt, const tc_library_case *one, tc_device_product *to)
{
    tc_lt_found found[MOST_PROPOSED];
    tc_lt_plan plan = {0};
    void *preference = NULL;
    int count = 0, kept = 0;
    if (tc_lt_plan_make(lt, &one->product, &plan) || prefer(lt, &preference) ||
        lt->propose(lt->handle, plan.operation, plan.first, plan.second, plan.added, plan.result, preference, one->most,
                    found, &count))
        count = 0;
    for (int i = 0; i < count; ++i)
        if (!found[i].status) {
            tc_device_product *made = &to[kept++];
            *made = one->product;
            made->version = (unsigned)lt->version();
            made->workspace = found[i].workspace;
            memcpy(made->algorithm, found[i].algorithm.words, sizeof made->algorithm);
        }
    if (preference)
        lt->preference_destroy(preference);
    tc_lt_plan_drop(lt, &plan);
    return kept;
}
