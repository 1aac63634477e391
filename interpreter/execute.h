/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a function of a module. Weights and states are asked for by their absolute names.
 */
#ifndef TCI_EXECUTE_H
#define TCI_EXECUTE_H

#include "ops.h"

/* The value of an `assign`, under the state's absolute name (owned). */
typedef struct tci_assignment {
    char *name;
    tci_tensor value;
} tci_assignment;

typedef struct tci_run_env {
    tci_scope scope;
    /* Gives a tensor to be released by the caller; false after an error at loc. kind is "weight" or "state". */
    bool (*load)(void *user, bool state, const char *name, tci_loc loc, tci_tensor *tensor, tci_diag *diag);
    void *user;
    tci_assignment *assignments; /* one a state; the last assignment counts */
    size_t assignment_count;
    int depth; /* of nested calls */
} tci_run_env;

/* arguments: one a parameter, borrowed. results: function->result_count tensors, zeroed, released by the caller whether
 * the call succeeds or not. prefix is put before names of weights and states. */
bool tci_execute(tci_run_env *env, const tci_function *function, const char *prefix, const tci_tensor *arguments,
                 tci_tensor *results);

/* Releases the assignments. */
void tci_run_env_finish(tci_run_env *env);

/* Whether a tensor has the declared type; where not, an error "what has the type ..., declared is ...". */
bool tci_check_type(const tci_scope *scope, const tci_type *type, const tci_tensor *tensor, const char *what,
                    tci_loc loc);

#endif
