/* SPDX-License-Identifier: Apache-2.0
 *
 * State buffers: a header that tells whose it is, then the tensors.
 */
#include "internal.h"

typedef struct state_header {
    char magic[8];
    uint32_t abi, zero;
    uint8_t layout[32];
    uint8_t unused[16];
} state_header;

_Static_assert(sizeof(state_header) == TC_STATE_HEADER, "the tensors start at a multiple of TC_ALIGNMENT");

static const char MAGIC[8] = "TCSTATE";

size_t tc_state_bytes(const tc_model *model)
{
    return model ? model->state_bytes : 0;
}

int tc_state_ready(const tc_model *model, const void *state)
{
    const state_header *header = state;
    return tc_bytes_equal(header->magic, MAGIC, sizeof MAGIC) && header->abi == TC_ABI &&
           tc_bytes_equal(header->layout, model->layout, sizeof header->layout);
}

tc_status tc_state_init(const tc_model *model, void *state)
{
    if (!model || !state)
        return TC_STATUS_NULL_POINTER;
    if (!tc_aligned(state, TC_ALIGNMENT))
        return TC_STATUS_MISALIGNED;
    if (!model->state_bytes)
        return TC_STATUS_BAD_ARGUMENT;
    state_header header = {.abi = TC_ABI};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    memcpy(header.layout, model->layout, sizeof header.layout);
    memset(state, 0, model->state_bytes);
    memcpy(state, &header, sizeof header);
    return TC_STATUS_OK;
}

tc_status tc_state_copy(const tc_model *model, void *to, const void *from)
{
    if (!model || !to || !from)
        return TC_STATUS_NULL_POINTER;
    if (!tc_aligned(to, TC_ALIGNMENT) || !tc_aligned(from, TC_ALIGNMENT))
        return TC_STATUS_MISALIGNED;
    if (!model->state_bytes || !tc_state_ready(model, from))
        return TC_STATUS_BAD_STATE;
    if (to == from)
        return TC_STATUS_OK;
    const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    if ((a < b ? b - a : a - b) < model->state_bytes)
        return TC_STATUS_OVERLAP;
    memcpy(to, from, model->state_bytes);
    return TC_STATUS_OK;
}

static tc_status find(const tc_model *model, const void *state, const char *name, const void *data, size_t bytes,
                      const tc_state_info **found)
{
    if (!model || !state || !name || (!data && bytes))
        return TC_STATUS_NULL_POINTER;
    if (!tc_aligned(state, TC_ALIGNMENT))
        return TC_STATUS_MISALIGNED;
    if (!model->state_bytes || !tc_state_ready(model, state))
        return TC_STATUS_BAD_STATE;
    for (unsigned i = 0; i < model->state_count; ++i)
        if (tc_names_equal(model->states[i].name, name) && model->states[i].bytes == bytes) {
            *found = &model->states[i];
            return TC_STATUS_OK;
        }
    return TC_STATUS_BAD_ARGUMENT;
}

tc_status tc_state_export(const tc_model *model, const void *state, const char *name, void *data, size_t bytes)
{
    const tc_state_info *info = NULL;
    const tc_status status = find(model, state, name, data, bytes, &info);
    if (status == TC_STATUS_OK && bytes)
        memcpy(data, (const unsigned char *)state + TC_STATE_HEADER + info->offset, bytes);
    return status;
}

tc_status tc_state_import(const tc_model *model, void *state, const char *name, const void *data, size_t bytes)
{
    const tc_state_info *info = NULL;
    const tc_status status = find(model, state, name, data, bytes, &info);
    if (status == TC_STATUS_OK && bytes)
        memcpy((unsigned char *)state + TC_STATE_HEADER + info->offset, data, bytes);
    return status;
}
