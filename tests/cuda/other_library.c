/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a model whose library is there in another version, then the same as if it were tuned with an earlier one, and
 * prints the reasons, and after closing what the last one is about: nothing of the first is left.
 */
#include <tensor_compile/cuda.h>
#include <tensor_compile/driver.h>

#include <stdio.h>

#include "products.h"

enum { MOST = 16, EARLIER = 120900 };

int main(void)
{
    tc_device_kernel kernels[MOST];
    tc_device_product products[MOST];
    tc_device_code code = *products_model.device;
    for (unsigned i = 0; i < code.kernel_count && i < MOST; ++i) {
        kernels[i] = code.kernels[i];
        if (kernels[i].product) {
            products[i] = *kernels[i].product;
            products[i].version = EARLIER;
            kernels[i].product = &products[i];
        }
    }
    code.kernels = kernels;
    tc_model earlier = products_model;
    earlier.device = &code;
    const tc_model *const models[] = {&products_model, &earlier};
    tc_cuda *cuda;
    tc_error error;
    if (code.kernel_count > MOST || tc_cuda_open(&cuda, 0, &error) != TC_STATUS_OK)
        return 1;
    for (int i = 0; i < 2; ++i) {
        if (tc_cuda_load(cuda, models[i], NULL, &error) != TC_STATUS_NO_DEVICE)
            return 1;
        puts(error.message);
    }
    tc_cuda_close(cuda);
    puts(error.subject);
    return 0;
}
