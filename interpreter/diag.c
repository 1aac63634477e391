/* SPDX-License-Identifier: Apache-2.0 */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>

bool tci_fail(tci_diag *diag, tci_loc loc, const char *format, ...)
{
    if (diag->failed)
        return false;
    diag->failed = true;
    int used;
    if (loc.file != NULL && loc.line > 0)
        used = snprintf(diag->text, sizeof diag->text, "%s:%d: error: ", loc.file, loc.line);
    else if (loc.file != NULL)
        used = snprintf(diag->text, sizeof diag->text, "%s: error: ", loc.file);
    else
        used = snprintf(diag->text, sizeof diag->text, "error: ");
    if (used >= 0 && (size_t)used < sizeof diag->text) {
        va_list args;
        va_start(args, format);
        vsnprintf(diag->text + used, sizeof diag->text - (size_t)used, format, args);
        va_end(args);
    }
    return false;
}
