/* SPDX-License-Identifier: Apache-2.0
 *
 * External weights: a file mapped read-only.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "sha256.h"

#include <tensor_compile/hosted.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 128, PAYLOAD_HASH = 56 }; /* core/weights.c */

tc_status tc_weights_open(tc_weights_file *file, const tc_model *model, const char *path, int verify)
{
    if (!file)
        return TC_STATUS_NULL_POINTER;
    *file = (tc_weights_file){NULL, 0};
    if (!model || !path)
        return TC_STATUS_NULL_POINTER;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return TC_STATUS_SYSTEM;
    struct stat info;
    void *data = MAP_FAILED;
    tc_status status = TC_STATUS_SYSTEM;
    if (fstat(fd, &info) == 0) {
        status = info.st_size < HEADER || (uintmax_t)info.st_size > SIZE_MAX ? TC_STATUS_BAD_WEIGHTS : TC_STATUS_OK;
        if (status == TC_STATUS_OK &&
            (data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
            status = TC_STATUS_SYSTEM;
    }
    const int error = errno;
    close(fd);
    errno = error;
    if (status != TC_STATUS_OK)
        return status;
    const size_t bytes = (size_t)info.st_size;
    status = tc_weights_check(model, data, bytes);
    if (status == TC_STATUS_OK && verify) {
        uint8_t digest[32];
        tc_sha256((const uint8_t *)data + HEADER, bytes - HEADER, digest);
        if (memcmp(digest, (const uint8_t *)data + PAYLOAD_HASH, sizeof digest))
            status = TC_STATUS_BAD_WEIGHTS;
    }
    if (status == TC_STATUS_OK)
        *file = (tc_weights_file){data, bytes};
    else
        munmap(data, bytes);
    return status;
}

void tc_weights_close(tc_weights_file *file)
{
    if (!file || !file->data)
        return;
    munmap((void *)(uintptr_t)file->data, file->bytes);
    *file = (tc_weights_file){NULL, 0};
}
