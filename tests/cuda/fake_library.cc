/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcublasLt.so.13 without a GPU, over the driver of the tests (fake_driver.cc): what runtime/cuda asks it for, by
 * plain loops, with the library's numbers. It proposes three algorithms, by their first word: 1 takes no workspace, 2
 * takes 4 KiB, which it writes all over, and is the fastest, 3 does not run. Relu of 1 makes 0 of NaN, that of 2 keeps it.
 *
 *   FAKE_LIBRARY_VERSION  what it says it is (130102)
 *   FAKE_CUDA_FAIL        as the driver has it, with the library's functions
 */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace
{

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { F32 = 0, F16 = 2, BF16 = 14, COMPUTE_F32 = 68, PAGE = 4096 };

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t stride;
};

struct operation {
    int compute, turned_a, turned_b;
    unsigned epilogue;
    const void *bias;
};

struct algorithm {
    uint64_t words[8];
};

struct found {
    algorithm which;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

/* One product on a stream. */
struct work {
    operation how;
    layout a_layout, b_layout, c_layout, d_layout;
    const unsigned char *a, *b, *c;
    unsigned char *d, *workspace;
    size_t workspace_bytes;
    float beta;
};

int living; /* handles, descriptions and layouts */

template <class F> F driver(const char *name)
{
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return (F)dlsym(library, name);
}

int entered(const char *name)
{
    static const auto ask = driver<int (*)(const char *)>("fake_cuda_entered");
    return ask(name);
}

float wide(const unsigned char *from, int type, uint64_t at)
{
    float value;
    uint16_t half;
    if (type == F32) {
        memcpy(&value, from + 4 * at, 4);
        return value;
    }
    memcpy(&half, from + 2 * at, 2);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, 4);
    if (type == BF16)
        return value;
    const int exponent = half >> 10 & 31, digits = half & 1023;
    const float size = exponent == 31 ? (digits ? NAN : INFINITY)
                       : exponent     ? ldexpf((float)(1024 + digits), exponent - 25)
                                      : ldexpf((float)digits, -24);
    return half >> 15 ? -size : size;
}

void put(unsigned char *to, int type, uint64_t at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (type == F32) {
        memcpy(to + 4 * at, &value, 4);
    } else if (type == BF16) {
        const uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        memcpy(to + 2 * at, &half, 2);
    } else {
        const _Float16 half = (_Float16)value;
        memcpy(to + 2 * at, &half, 2);
    }
}

/* d = function(op(a) op(b) + beta c + bias), by columns. */
void multiply(const void *data)
{
    work w;
    memcpy(&w, data, sizeof w);
    memset(w.workspace, 0xee, w.workspace_bytes);
    const uint64_t terms = w.how.turned_a ? w.a_layout.rows : w.a_layout.columns;
    for (uint64_t j = 0; j < w.d_layout.columns; ++j)
        for (uint64_t i = 0; i < w.d_layout.rows; ++i) {
            double sum = 0;
            for (uint64_t k = 0; k < terms; ++k) {
                const uint64_t in_a = w.how.turned_a ? i * (uint64_t)w.a_layout.stride + k
                                                     : k * (uint64_t)w.a_layout.stride + i;
                const uint64_t in_b = w.how.turned_b ? k * (uint64_t)w.b_layout.stride + j
                                                     : j * (uint64_t)w.b_layout.stride + k;
                sum += (double)wide(w.a, w.a_layout.type, in_a) * (double)wide(w.b, w.b_layout.type, in_b);
            }
            float value = (float)sum;
            if (w.beta != 0)
                value += w.beta * wide(w.c, w.c_layout.type, j * (uint64_t)w.c_layout.stride + i);
            if (w.how.epilogue & 4)
                value += wide((const unsigned char *)w.how.bias, w.d_layout.type, i);
            if (w.how.epilogue & 2)
                value = w.workspace_bytes ? (value < 0 ? 0 : value) : fmaxf(value, 0);
            if (w.how.epilogue & 32)
                value *= 0.5f * (1 + tanhf(0.7978845608f * (value + 0.044715f * value * value * value)));
            put(w.d, w.d_layout.type, j * (uint64_t)w.d_layout.stride + i, value);
        }
}

bool describes(const layout *one, uint64_t rows, uint64_t columns)
{
    return one->rows == rows && one->columns == columns && one->stride >= (int64_t)rows;
}

/* What the library would refuse, and what ours never asks for. */
int legal(const operation *how, const layout *a, const layout *b, const layout *c, const layout *d)
{
    const uint64_t terms = how->turned_a ? a->rows : a->columns;
    const bool narrow = a->type == BF16 || a->type == F16;
    if (a->type != b->type || !narrow || how->compute != COMPUTE_F32 || c->type != d->type ||
        (d->type != F32 && d->type != a->type))
        return NOT_SUPPORTED;
    if (!describes(a, how->turned_a ? terms : d->rows, how->turned_a ? d->rows : terms) ||
        !describes(b, how->turned_b ? d->columns : terms, how->turned_b ? terms : d->columns) ||
        !describes(c, d->rows, d->columns))
        return INVALID_VALUE;
    if ((how->epilogue & 4) && !how->bias)
        return NOT_SUPPORTED;
    return how->epilogue == 1 || !(how->epilogue & ~38u) ? OK : NOT_SUPPORTED;
}

size_t workspace_of(const algorithm *which)
{
    return which->words[0] == 2 ? PAGE : 0;
}

} // namespace

extern "C" {

size_t cublasLtGetVersion(void)
{
    const char *asked = getenv("FAKE_LIBRARY_VERSION");
    return asked ? (size_t)atoi(asked) : 130102;
}

const char *cublasLtGetStatusName(int status)
{
    return status == NOT_SUPPORTED      ? "CUBLAS_STATUS_NOT_SUPPORTED"
           : status == INVALID_VALUE    ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                        : "CUBLAS_STATUS_EXECUTION_FAILED";
}

int cublasLtCreate(void **handle)
{
    if (int failed = entered("cublasLtCreate"))
        return failed;
    *handle = &living;
    ++living;
    return OK;
}

int cublasLtDestroy(void *)
{
    if (--living)
        fprintf(stderr, "fake library: %d objects left\n", living);
    return OK;
}

int cublasLtMatmulDescCreate(void **made, int compute, int scale)
{
    *made = new operation{compute, 0, 0, 1, nullptr};
    ++living;
    return scale == F32 ? OK : INVALID_VALUE;
}

int cublasLtMatmulDescDestroy(void *one)
{
    --living;
    delete (operation *)one;
    return OK;
}

int cublasLtMatmulDescSetAttribute(void *one, int attribute, const void *value, size_t bytes)
{
    operation *const how = (operation *)one;
    void *const to = attribute == 3   ? (void *)&how->turned_a
                     : attribute == 4 ? (void *)&how->turned_b
                     : attribute == 7 ? (void *)&how->epilogue
                     : attribute == 8 ? (void *)&how->bias
                                      : nullptr;
    if (!to || bytes != (attribute == 8 ? 8u : 4u))
        return INVALID_VALUE;
    memcpy(to, value, bytes);
    return OK;
}

int cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t stride)
{
    *made = new layout{type, rows, columns, stride};
    ++living;
    return OK;
}

int cublasLtMatrixLayoutDestroy(void *one)
{
    --living;
    delete (layout *)one;
    return OK;
}

int cublasLtMatmulPreferenceCreate(void **made)
{
    *made = new uint64_t(0);
    ++living;
    return OK;
}

int cublasLtMatmulPreferenceDestroy(void *one)
{
    --living;
    delete (uint64_t *)one;
    return OK;
}

int cublasLtMatmulPreferenceSetAttribute(void *one, int attribute, const void *value, size_t bytes)
{
    if (attribute == 1 && bytes == 8)
        memcpy(one, value, 8);
    return (attribute == 1 && bytes == 8) || (attribute >= 5 && attribute <= 8 && bytes == 4) ? OK : INVALID_VALUE;
}

int cublasLtMatmulAlgoCheck(void *handle, const operation *how, const layout *a, const layout *b, const layout *c,
                            const layout *d, const algorithm *which, found *to)
{
    if (int failed = entered("cublasLtMatmulAlgoCheck"))
        return failed;
    *to = {*which, workspace_of(which), OK, 1, {}};
    return handle ? legal(how, a, b, c, d) : NOT_INITIALIZED;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, const operation *how, const layout *a, const layout *b, const layout *c,
                                   const layout *d, const uint64_t *preference, int most, found *to, int *count)
{
    *count = 0;
    if (int status = legal(how, a, b, c, d))
        return status;
    for (uint64_t i = 1; i <= 3 && *count < most; ++i) {
        const algorithm which = {{i, 0x1234}};
        if (workspace_of(&which) <= *preference)
            to[(*count)++] = {which, workspace_of(&which), OK, 1, {}};
    }
    return handle ? OK : NOT_INITIALIZED;
}

int cublasLtMatmul(void *, const operation *how, const float *alpha, const void *a, const layout *a_layout, const void *b,
                   const layout *b_layout, const float *beta, const void *c, const layout *c_layout, void *d,
                   const layout *d_layout, const algorithm *which, void *workspace, size_t workspace_bytes, void *stream)
{
    static const auto put_work =
        driver<int (*)(void (*)(const void *), const void *, size_t, unsigned, void *)>("fake_cuda_work");
    if (int failed = entered("cublasLtMatmul"))
        return failed;
    if (int status = legal(how, a_layout, b_layout, c_layout, d_layout))
        return status;
    if (which->words[0] > 2 || which->words[1] != 0x1234)
        return NOT_SUPPORTED;
    const uintptr_t together = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d |
                               (how->epilogue & 4 ? (uintptr_t)how->bias : 0);
    if (together % 16 || (uintptr_t)workspace % 256 || *alpha != 1 || workspace_bytes < workspace_of(which))
        return INVALID_VALUE;
    const work made = {*how, *a_layout, *b_layout, *c_layout, *d_layout, (const unsigned char *)a,
                       (const unsigned char *)b, (const unsigned char *)c, (unsigned char *)d,
                       (unsigned char *)workspace, workspace_bytes, *beta};
    return put_work(multiply, &made, sizeof made, which->words[0] == 2 ? 2 : 4, stream) ? INVALID_VALUE : OK;
}
}
