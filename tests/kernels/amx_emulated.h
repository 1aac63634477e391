/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiles of AMX in C, for processors that have none: what their intrinsics do by the manual of the instruction set, in
 * the place of these (-include). One thread at a time.
 */
#ifndef AMX_EMULATED_H
#define AMX_EMULATED_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

struct amx_tile {
    int32_t words[16][16];
};
struct amx_config {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
/* One state for all units of a program. */
__attribute__((weak)) struct amx_tile amx_tiles[8];
__attribute__((weak)) struct amx_config amx_at;

/* So is a configuration that has a size beyond those of tiles, or half of one. */
static inline void amx_load_config(const void *from)
{
    memcpy(&amx_at, from, sizeof amx_at);
    for (int i = 0; i < 16; ++i) {
        const int rows = amx_at.rows[i], bytes = amx_at.bytes[i];
        if (rows > 16 || bytes > 64 || (rows == 0) != (bytes == 0) || i >= 8 && rows > 0)
            __builtin_trap();
    }
    memset(amx_tiles, 0, sizeof amx_tiles);
}

static inline void amx_release(void)
{
    memset(&amx_at, 0, sizeof amx_at);
}

/* An instruction of a tile that is not configured is a fault. */
static inline void amx_configured(int tile)
{
    if (amx_at.palette != 1 || amx_at.rows[tile] == 0 || amx_at.bytes[tile] == 0)
        __builtin_trap();
}

static inline void amx_zero(int tile)
{
    amx_configured(tile);
    memset(&amx_tiles[tile], 0, sizeof amx_tiles[tile]);
}

static inline void amx_load(int tile, const void *from, long stride)
{
    amx_zero(tile);
    for (int r = 0; r < amx_at.rows[tile]; ++r)
        memcpy(amx_tiles[tile].words[r], (const char *)from + r * stride, amx_at.bytes[tile]);
}

static inline void amx_store(int tile, void *to, long stride)
{
    amx_configured(tile);
    for (int r = 0; r < amx_at.rows[tile]; ++r)
        memcpy((char *)to + r * stride, amx_tiles[tile].words[r], amx_at.bytes[tile]);
}

static inline int amx_byte(int32_t word, int at, int is_signed)
{
    const uint8_t byte = (uint8_t)((uint32_t)word >> 8 * at);
    return is_signed ? (int8_t)byte : byte;
}

static inline void amx_products(int sum, int a, int b, int a_signed, int b_signed)
{
    amx_configured(sum), amx_configured(a), amx_configured(b);
    /* and operands that are the same tile, or do not fit one another */
    if (sum == a || sum == b || a == b || amx_at.rows[sum] != amx_at.rows[a] || amx_at.bytes[sum] != amx_at.bytes[b] ||
        amx_at.bytes[a] != 4 * amx_at.rows[b] || amx_at.bytes[b] % 4 != 0)
        __builtin_trap();
    for (int r = 0; r < amx_at.rows[sum]; ++r)
        for (int k = 0; k < amx_at.bytes[a] / 4; ++k)
            for (int c = 0; c < amx_at.bytes[sum] / 4; ++c)
                for (int i = 0; i < 4; ++i)
                    amx_tiles[sum].words[r][c] = (int32_t)((uint32_t)amx_tiles[sum].words[r][c] +
                        (uint32_t)(amx_byte(amx_tiles[a].words[r][k], i, a_signed) *
                                   amx_byte(amx_tiles[b].words[k][c], i, b_signed)));
}

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbsud
#undef _tile_dpbusd
#define _tile_loadconfig amx_load_config
#define _tile_release amx_release
#define _tile_zero amx_zero
#define _tile_loadd amx_load
#define _tile_stored amx_store
#define _tile_dpbsud(sum, a, b) amx_products(sum, a, b, 1, 0)
#define _tile_dpbusd(sum, a, b) amx_products(sum, a, b, 0, 1)

#endif
