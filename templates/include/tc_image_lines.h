/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of images of few channels: lines of an image and words of windows, for tc_tile.h. */
#ifndef TC_IMAGE_LINES_H
#define TC_IMAGE_LINES_H

#if defined(TC_ISA_AVX512) && defined(__AVX512VNNI__)

/* Bytes 0 to end-1 of a line: from `low` to high-1 those at `from`, each turned by `turn`, others `padding`; all of them
   where `from` is null. Up to 64 bytes behind them become any. */
static inline void tct_copy_line(uint8_t *to, const void *from, tc_index low, tc_index high, tc_index end, int turn, int padding)
{
    const __m512i fill = _mm512_set1_epi8((char)padding), turned = _mm512_set1_epi8((char)turn);
    const uint8_t *const x = from;
    if (!x)
        low = high = end;
    tc_index i;
    for (i = 0; i < low; i += 64)
        _mm512_storeu_si512(to + i, fill);
    for (i = low; i + 64 <= high; i += 64)
        _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(x + (i - low)), turned));
    if (i < high) {
        const __mmask64 there = ~(__mmask64)0 >> (64 - (high - i));
        _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, x + (i - low)), turned));
    }
    for (i = high; i < end; i += 64)
        _mm512_storeu_si512(to + i, fill);
}

/* A word for each of `count` windows, 16 at a time: of each of `lines` lines `pitch` apart the `bytes` bytes, one or two,
   at `from` and `step` further for each window, up to 8. 128 bytes from those of the last 16 windows on are read. */
static TC_INLINE void tct_join_ends(tc_word *to, const uint8_t *from, tc_index pitch, int lines, int step, int bytes,
                                    tc_index count)
{
    const __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32(step), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                                                                     13, 14, 15));
    /* the 16 bits that have the first byte, and the next 16 */
    const __m512i half = _mm512_srli_epi32(at, 1), next = _mm512_add_epi32(half, _mm512_set1_epi32(1));
    const __m512i halves = _mm512_or_si512(half, _mm512_slli_epi32(next, 16));
    const __m512i odd = _mm512_slli_epi32(_mm512_and_si512(at, _mm512_set1_epi32(1)), 3);
    const __m512i there = _mm512_set1_epi32((1 << 8 * bytes) - 1);
    for (tc_index i = 0; i < count; i += 16, from += 16 * step) {
        __m512i word = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int line = 0; line < lines; ++line) {
            const uint8_t *const x = from + line * pitch;
            __m512i found = _mm512_permutex2var_epi16(_mm512_loadu_si512(x), halves, _mm512_loadu_si512(x + 64));
            if (step % 2)
                found = _mm512_srlv_epi32(found, odd);
            found = _mm512_and_si512(found, there);
            word = _mm512_or_si512(word, _mm512_sll_epi32(found, _mm_cvtsi32_si128(8 * bytes * line)));
        }
        _mm512_storeu_si512(to + i, word);
    }
}

/* Words of 16 columns from a panel whose bytes are turned by `turn`: each byte is that of a term, 0 where it is -1. */
static inline __m512i tct_words_of(const tc_word *panel, const int16_t *terms, int turn)
{
    __m512i words = _mm512_setzero_si512();
    for (int i = 0; i < 4; ++i) {
        if (terms[i] < 0)
            continue;
        __m512i x = _mm512_xor_si512(_mm512_loadu_si512(panel + terms[i] / 4 * 16), _mm512_set1_epi8((char)turn));
        x = _mm512_srl_epi32(x, _mm_cvtsi32_si128(8 * (terms[i] % 4)));
        x = _mm512_and_si512(x, _mm512_set1_epi32(0xff));
        words = _mm512_or_si512(words, _mm512_sll_epi32(x, _mm_cvtsi32_si128(8 * i)));
    }
    return words;
}

#endif

#endif
