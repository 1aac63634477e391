/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a run's tensors come from and go to: inputs, weights and states in safetensors files, results as safetensors or
 * as the bytes of a weight blob.
 */
#ifndef TCI_DATA_H
#define TCI_DATA_H

#include "execute.h"

#include <tensor_compile/safetensors.h>

/* A tensor under a name, for writing. */
typedef struct tci_named {
    const char *name;
    const tci_tensor *tensor;
} tci_named;

typedef struct tci_data {
    const tci_scope *scope;
    const char *weights_dir; /* relative weight files are looked for here */
    tc_safetensors inputs, state;
    bool has_state;          /* else every state is zero */
    tc_safetensors *weights; /* one a file of the module, opened when first needed */
    bool *opened;
} tci_data;

/* inputs_path and state_path may be NULL. finish may be called after a failure. */
bool tci_data_init(tci_data *data, const tci_scope *scope, const char *weights_dir, const char *inputs_path,
                   const char *state_path);
void tci_data_finish(tci_data *data);

/* tci_run_env.load, with a tci_data as user. */
bool tci_data_load(void *user, bool state, const char *name, tci_loc loc, tci_tensor *tensor, tci_diag *diag);

/* The argument of a parameter, from the inputs. */
bool tci_data_input(tci_data *data, const tci_entry *parameter, tci_tensor *tensor);

/* Fails, naming the first element, where a float tensor holds NaN or an infinity. */
bool tci_data_check_finite(const tci_scope *scope, const char *what, const char *name, const tci_tensor *tensor,
                           tci_loc loc);

/* Writes safetensors; under --f64 with the dtype F64 in place of every float's. */
bool tci_data_write(const char *path, const tci_named *tensors, size_t count, tci_diag *diag);

/* Writes the elements only, each tensor filled up with zeros to a multiple of 64 bytes. */
bool tci_data_pack(const char *path, const tci_named *tensors, size_t count, tci_diag *diag);

#endif
