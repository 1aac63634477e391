/* SPDX-License-Identifier: Apache-2.0 */
#include "products.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Of the library's interface: cudaDataType, cublasComputeType_t, cublasLtEpilogue_t, cublasLtMatmulDescAttributes_t. */
enum { TYPE_F32 = 0, TYPE_F16 = 2, TYPE_BF16 = 14 };
enum { COMPUTE_F32 = 68 };
enum { EPILOGUE_NONE = 1, EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4, EPILOGUE_GELU = 32 };
enum { FIRST_TURNED = 3, SECOND_TURNED = 4, EPILOGUE = 7, BIAS_POINTER = 8 };
enum { OK = 0, NOT_SUPPORTED = 15 };
enum { BIAS_ALIGNED = 16 };

const char *tc_lt_open(tc_lt *lt, unsigned major)
{
    memset(lt, 0, sizeof *lt);
    snprintf(lt->name, sizeof lt->name, "libcublasLt.so.%u", major);
    void *library = dlopen(lt->name, RTLD_NOW | RTLD_LOCAL), *found;
    if (!library)
        return "not found: is cuBLAS of that version installed, and in the search path?";
#define FIND(field, symbol, result, parameters)                                                                        \
    if (!(found = dlsym(library, symbol))) {                                                                           \
        dlclose(library);                                                                                              \
        return symbol " not found";                                                                                    \
    }                                                                                                                  \
    memcpy(&lt->field, &found, sizeof found);
    TC_LT_FUNCTIONS(FIND)
#undef FIND
    const int status = lt->create(&lt->handle);
    if (status != OK)
        lt->handle = NULL;
    return status == OK ? NULL : lt->status_name(status);
}

void tc_lt_close(tc_lt *lt)
{
    if (lt->handle)
        lt->destroy(lt->handle);
    lt->handle = NULL;
}

static int type_of(tc_dtype dtype)
{
    return dtype == TC_DTYPE_F32 ? TYPE_F32 : dtype == TC_DTYPE_F16 ? TYPE_F16 : TYPE_BF16;
}

/* `lines` lines of `count` neighbours, which are the library's columns. */
static int layout(const tc_lt *lt, void **made, tc_dtype dtype, int64_t count, int64_t lines, int64_t stride)
{
    return lt->layout_create(made, type_of(dtype), (uint64_t)count, (uint64_t)lines, stride);
}

/* An operand whose lines are terms where it is turned. */
static int operand(const tc_lt *lt, void **made, const tc_device_product *p, int64_t lines, int64_t stride, int turned)
{
    return turned ? layout(lt, made, p->operand, lines, p->terms, stride)
                  : layout(lt, made, p->operand, p->terms, lines, stride);
}

static int set(const tc_lt *lt, const tc_lt_plan *plan, int attribute, int value)
{
    return lt->operation_set(plan->operation, attribute, &value, sizeof value);
}

static int epilogue(const tc_device_product *p)
{
    static const int functions[] = {[TC_PRODUCT_GELU] = EPILOGUE_GELU, [TC_PRODUCT_RELU] = EPILOGUE_RELU};
    const int function = functions[p->function];
    return p->has_bias || function ? (p->has_bias ? EPILOGUE_BIAS : 0) | function : EPILOGUE_NONE;
}

/* Until a call sets it: the library looks at no more of it than how it is aligned. */
static int some_bias(const tc_lt *lt, const tc_lt_plan *plan)
{
    const void *const aligned = (const void *)(uintptr_t)BIAS_ALIGNED;
    return lt->operation_set(plan->operation, BIAS_POINTER, &aligned, sizeof aligned);
}

int tc_lt_plan_make(const tc_lt *lt, const tc_device_product *p, tc_lt_plan *plan)
{
    *plan = (tc_lt_plan){0};
    int status = lt->operation_create(&plan->operation, COMPUTE_F32, TYPE_F32);
    /* The library's first operand has terms as rows unless it is turned: ours has, unless its lines are terms. */
    status = status ? status : set(lt, plan, FIRST_TURNED, !p->second_turned);
    status = status ? status : set(lt, plan, SECOND_TURNED, p->first_turned);
    status = status ? status : set(lt, plan, EPILOGUE, epilogue(p));
    status = status || !p->has_bias ? status : some_bias(lt, plan);
    status = status ? status : operand(lt, &plan->first, p, p->columns, p->second_stride, p->second_turned);
    status = status ? status : operand(lt, &plan->second, p, p->rows, p->first_stride, p->first_turned);
    status = status ? status : layout(lt, &plan->added, p->result, p->columns, p->rows, p->added_stride);
    status = status ? status : layout(lt, &plan->result, p->result, p->columns, p->rows, p->result_stride);
    if (status)
        tc_lt_plan_drop(lt, plan);
    return status;
}

void tc_lt_plan_drop(const tc_lt *lt, tc_lt_plan *plan)
{
    void *const layouts[] = {plan->first, plan->second, plan->added, plan->result};
    for (int i = 0; i < 4; ++i)
        if (layouts[i])
            lt->layout_destroy(layouts[i]);
    if (plan->operation)
        lt->operation_destroy(plan->operation);
    *plan = (tc_lt_plan){0};
}

static tc_lt_algorithm algorithm_of(const tc_device_product *product)
{
    tc_lt_algorithm made;
    memcpy(made.words, product->algorithm, sizeof made.words);
    return made;
}

int tc_lt_plan_check(const tc_lt *lt, const tc_device_product *product, const tc_lt_plan *plan)
{
    const tc_lt_algorithm algorithm = algorithm_of(product);
    tc_lt_found found = {0};
    const int status = lt->check(lt->handle, plan->operation, plan->first, plan->second, plan->added, plan->result,
                                 &algorithm, &found);
    return status ? status : found.status ? found.status : found.workspace > product->workspace ? NOT_SUPPORTED : OK;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

int tc_lt_multiply(const tc_lt *lt, const tc_device_product *product, const tc_lt_plan *plan,
                   const tc_device_operands *at, void *stream)
{
    const tc_lt_algorithm algorithm = algorithm_of(product);
    const float alpha = 1, beta = (float)product->has_added;
    const void *bias = pointer(at->bias);
    const int status = product->has_bias ? lt->operation_set(plan->operation, BIAS_POINTER, &bias, sizeof bias) : OK;
    return status ? status
                  : lt->multiply(lt->handle, plan->operation, &alpha, pointer(at->second), plan->first,
                                 pointer(at->first), plan->second, &beta,
                                 pointer(product->has_added ? at->added : at->result), plan->added, pointer(at->result),
                                 plan->result, &algorithm, pointer(at->workspace), (size_t)product->workspace, stream);
}

/* To the nearest, ties to even. */
static uint16_t bf16(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* NaN stays one */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t f16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) /* 65520 and more */
        return (uint16_t)(sign | 0x7c00);
    /* Below 2^-14 halves are multiples of 2^-24. */
    const uint32_t exponent = magnitude >> 23, drop = exponent >= 113 ? 13 : 126 - exponent;
    if (drop > 24)
        return (uint16_t)sign;
    const uint32_t digits = exponent >= 113 ? magnitude - (112u << 23) : (magnitude & 0x7fffff) | 0x800000;
    const uint32_t kept = digits >> drop, left = digits & ((1u << drop) - 1), half = 1u << (drop - 1);
    return (uint16_t)(sign | (kept + (left > half || (left == half && (kept & 1)))));
}

void tc_lt_round(uint16_t *to, const float *from, size_t count, tc_dtype dtype)
{
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        to[i] = dtype == TC_DTYPE_F16 ? f16(bits) : bf16(bits);
    }
}
