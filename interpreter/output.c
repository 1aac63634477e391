/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tci_output_open(tci_output *output, const char *path, tci_diag *diag)
{
    const size_t length = strlen(path) + 32;
    *output = (tci_output){.path = path, .temporary = malloc(length)};
    if (output->temporary == NULL)
        return tci_fail(diag, (tci_loc){path, 0}, "out of memory");
    snprintf(output->temporary, length, "%s.%ld.tmp", path, (long)getpid());
    output->file = fopen(output->temporary, "wb");
    if (output->file != NULL)
        return true;
    tci_fail(diag, (tci_loc){path, 0}, "cannot be written: %s", strerror(errno));
    free(output->temporary);
    return false;
}

void tci_output_discard(tci_output *output)
{
    fclose(output->file);
    remove(output->temporary);
    free(output->temporary);
}

bool tci_output_commit(tci_output *output, tci_diag *diag)
{
    errno = 0;
    bool ok = fflush(output->file) == 0 && !ferror(output->file);
    int reason = errno;
    if (fclose(output->file) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && rename(output->temporary, output->path) != 0) {
        ok = false;
        reason = errno;
    }
    if (!ok) {
        remove(output->temporary);
        tci_fail(diag, (tci_loc){output->path, 0}, "cannot be written: %s", reason ? strerror(reason) : "short write");
    }
    free(output->temporary);
    return ok;
}
