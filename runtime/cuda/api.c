/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1, found at run time.
 */
#include "api.h"

#include <dlfcn.h>
#include <string.h>

static const char LIBRARY[] = "libcuda.so.1";

const char *tc_cuda_api_load(tc_cuda_api *api)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return LIBRARY;
    void *found;
    /* POSIX has dlsym answer for functions too; C has no cast for it. */
#define FIND(field, symbol, parameters)                                                                                \
    if (!(found = dlsym(library, symbol))) {                                                                           \
        dlclose(library);                                                                                              \
        return symbol;                                                                                                 \
    }                                                                                                                  \
    memcpy(&api->field, &found, sizeof found);
    TC_CUDA_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

const char *tc_cuda_error(const tc_cuda_api *api, int error)
{
    const char *name = NULL;
    return api->error_name(error, &name) == 0 && name ? name : "unknown error";
}

const char *tc_cuda_error_text(const tc_cuda_api *api, int error)
{
    const char *text = NULL;
    return api->error_text(error, &text) == 0 && text ? text : "";
}
