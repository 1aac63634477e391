/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the two tensors of held-out.safetensors: 8 bytes of header length, a JSON header with the offsets of each
 * tensor, the data. Enough JSON for that header and no more; every offset is checked against the file.
 */
#include "held_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64, HEADER_LIMIT = 1 << 16 };

/* Finds "name":{… "data_offsets":[begin,end]} in the header. */
static int find(const char *header, const char *name, unsigned long *begin, unsigned long *end) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    const char *entry = strstr(header, quoted);
    const char *offsets = entry ? strstr(entry, "\"data_offsets\"") : NULL;
    return offsets && sscanf(offsets, "\"data_offsets\" : [ %lu , %lu ]", begin, end) == 2 && *begin <= *end;
}

static void *read_part(FILE *file, unsigned long data_start, unsigned long begin, unsigned long end) {
    void *part = malloc(end - begin + 1);
    if (part && (fseek(file, (long)(data_start + begin), SEEK_SET) || fread(part, 1, end - begin, file) != end - begin)) {
        free(part);
        part = NULL;
    }
    return part;
}

int held_out_read(struct held_out *data, const char *path) {
    unsigned char length_bytes[8];
    unsigned long length = 0, images[2], labels[2];
    char *header = NULL;
    const char *problem = "is not a safetensors file";
    FILE *file = fopen(path, "rb");

    memset(data, 0, sizeof *data);
    if (!file) {
        perror(path);
        return -1;
    }
    if (fread(length_bytes, 1, 8, file) != 8)
        goto fail;
    for (int i = 7; i >= 0; --i)
        length = length << 8 | length_bytes[i];
    if (length > HEADER_LIMIT || !(header = calloc(1, length + 1)) || fread(header, 1, length, file) != length)
        goto fail;
    problem = "has no images and labels of the right size";
    if (!find(header, "images", &images[0], &images[1]) || !find(header, "labels", &labels[0], &labels[1]))
        goto fail;
    data->count = (labels[1] - labels[0]) / sizeof *data->labels;
    if (data->count == 0 || images[1] - images[0] != data->count * PIXELS * sizeof *data->images)
        goto fail;
    problem = "is too short";
    data->images = read_part(file, 8 + length, images[0], images[1]);
    data->labels = read_part(file, 8 + length, labels[0], labels[1]);
    if (!data->images || !data->labels)
        goto fail;
    free(header);
    fclose(file);
    return 0;

fail:
    fprintf(stderr, "%s %s\n", path, problem);
    held_out_free(data);
    free(header);
    fclose(file);
    return -1;
}

void held_out_free(struct held_out *data) {
    free(data->images);
    free(data->labels);
    memset(data, 0, sizeof *data);
}
