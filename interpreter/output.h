/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files that are never half-written: bytes go to a file beside the path, which commit renames.
 */
#ifndef TCI_OUTPUT_H
#define TCI_OUTPUT_H

#include "diag.h"

#include <stdio.h>

typedef struct tci_output {
    FILE *file;
    const char *path; /* borrowed from open until commit or discard */
    char *temporary;
} tci_output;

bool tci_output_open(tci_output *output, const char *path, tci_diag *diag);

/* Closes and renames; on failure (also of an earlier write) removes the temporary file and leaves `path` as it was. */
bool tci_output_commit(tci_output *output, tci_diag *diag);
void tci_output_discard(tci_output *output);

#endif
