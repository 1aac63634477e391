/* SPDX-License-Identifier: Apache-2.0
 *
 * accumulate of contract.c on vectors of one instruction set of x86-64, with the bits of its loops: a lane is a column, and
 * takes the same terms in the same order. Included once for each instruction set, which defines
 *
 *     SET(name)          the name of its function
 *     TARGET             the attribute that chooses it
 *     BYTES              of a vector
 *     FMA_F32(a, b, c)   of vectors of floats
 *     TO_F32(x)          doubles rounded to floats
 *     TO_DOUBLE(bits)    the upper 53 bits of 64-bit integers, which are signed, as doubles
 */
#define LANES_F32 (BYTES / 4)
#define LANES_F64 (BYTES / 8)
#define VECTOR(lanes, type) __attribute__((vector_size((lanes) * sizeof(type)))) type
typedef VECTOR(LANES_F32, float) SET(floats);
typedef VECTOR(LANES_F64, double) SET(doubles);
typedef VECTOR(LANES_F64, int64_t) SET(integers);
typedef VECTOR(LANES_F64, uint64_t) SET(bits);
#undef VECTOR

/* Columns in turn: four vectors of them, whose sums are chains of their own, then single vectors, then single columns. */
#define ON_VECTORS(name, T, vector, lanes, MULTIPLY_ADD, multiply_add)                                                 \
    TARGET static inline vector SET(load_##name)(const T *from)                                                        \
    {                                                                                                                  \
        vector v;                                                                                                      \
        memcpy(&v, from, sizeof v);                                                                                    \
        return v;                                                                                                      \
    }                                                                                                                  \
    TARGET static void SET(accumulate_##name)(T *restrict acc, int64_t n, const T *a, int64_t k, const T *restrict b,  \
                                              int64_t stride)                                                          \
    {                                                                                                                  \
        int64_t j = 0;                                                                                                 \
        for (; j + 4 * (lanes) <= n; j += 4 * (lanes)) {                                                               \
            vector sum0 = SET(load_##name)(acc + j), sum1 = SET(load_##name)(acc + j + (lanes));                       \
            vector sum2 = SET(load_##name)(acc + j + 2 * (lanes)), sum3 = SET(load_##name)(acc + j + 3 * (lanes));     \
            for (int64_t i = 0; i < k; i++) {                                                                          \
                const T *from = b + i * stride + j;                                                                    \
                const vector factor = a[i] - (vector){0};                                                              \
                sum0 = MULTIPLY_ADD(factor, SET(load_##name)(from), sum0);                                             \
                sum1 = MULTIPLY_ADD(factor, SET(load_##name)(from + (lanes)), sum1);                                   \
                sum2 = MULTIPLY_ADD(factor, SET(load_##name)(from + 2 * (lanes)), sum2);                               \
                sum3 = MULTIPLY_ADD(factor, SET(load_##name)(from + 3 * (lanes)), sum3);                               \
            }                                                                                                          \
            memcpy(acc + j, &sum0, sizeof sum0);                                                                       \
            memcpy(acc + j + (lanes), &sum1, sizeof sum1);                                                             \
            memcpy(acc + j + 2 * (lanes), &sum2, sizeof sum2);                                                         \
            memcpy(acc + j + 3 * (lanes), &sum3, sizeof sum3);                                                         \
        }                                                                                                              \
        for (; j + (lanes) <= n; j += (lanes)) {                                                                       \
            vector sum = SET(load_##name)(acc + j);                                                                    \
            for (int64_t i = 0; i < k; i++)                                                                            \
                sum = MULTIPLY_ADD(a[i] - (vector){0}, SET(load_##name)(b + i * stride + j), sum);                     \
            memcpy(acc + j, &sum, sizeof sum);                                                                         \
        }                                                                                                              \
        for (; j < n; j++)                                                                                             \
            for (int64_t i = 0; i < k; i++)                                                                            \
                acc[j] = multiply_add(a[i], b[i * stride + j], acc[j]);                                                \
    }
#define MULTIPLY_ADD_F64(a, b, c) ((a) * (b) + (c))
ON_VECTORS(f32, float, SET(floats), LANES_F32, FMA_F32, __builtin_fmaf)
ON_VECTORS(wide, double, SET(doubles), LANES_F64, MULTIPLY_ADD_F64, MULTIPLY_ADD_F64)
#undef ON_VECTORS

/* A term of each column, all factors of its own. */
#define EACH_ON_VECTORS(name, T, vector, lanes, MULTIPLY_ADD, multiply_add)                                            \
    TARGET static void SET(each_##name)(T *restrict acc, int64_t n, const T *a, const T *b)                            \
    {                                                                                                                  \
        int64_t j = 0;                                                                                                 \
        for (; j + (lanes) <= n; j += (lanes)) {                                                                       \
            const vector sum = MULTIPLY_ADD(SET(load_##name)(a + j), SET(load_##name)(b + j),                          \
                                            SET(load_##name)(acc + j));                                                \
            memcpy(acc + j, &sum, sizeof sum);                                                                         \
        }                                                                                                              \
        for (; j < n; j++)                                                                                             \
            acc[j] = multiply_add(a[j], b[j], acc[j]);                                                                 \
    }
EACH_ON_VECTORS(f32, float, SET(floats), LANES_F32, FMA_F32, __builtin_fmaf)
EACH_ON_VECTORS(wide, double, SET(doubles), LANES_F64, MULTIPLY_ADD_F64, MULTIPLY_ADD_F64)
#undef EACH_ON_VECTORS
#undef MULTIPLY_ADD_F64

/*
 * Sums with errors of f32 (tci_noisy_f32), which are drawn in the order of the loops: column by column for each term. Where
 * all sums of a row need an error, that of each column is a known number of draws ahead. Otherwise, and where one may be
 * beyond f32, the row is done again, one column after the other. n <= COLUMNS.
 *
 * One term of `whole` columns, a multiple of the lanes, from `now` to `next`; false where it has to be done again. each: a
 * factor of its own for each column, or factor[0] for all.
 */
TARGET static inline __attribute__((always_inline)) bool SET(noisy_term)(double *next, const double *now, int64_t whole,
                                                                         const double *factor, bool each,
                                                                         const double *from)
{
    SET(bits) factors, terms;
    SET(integers) all = (SET(integers)){0} - 1;
    uint64_t draws = tci_noise.draws;
    const double scale = tci_noise.scale * 0x1p-24;
    memcpy(&factors, tci_noise.factors, sizeof factors);
    memcpy(&terms, tci_noise.terms, sizeof terms);
    for (int64_t j = 0; j < whole; j += LANES_F64) {
        const SET(doubles) spread = each ? SET(load_wide)(factor + j) : *factor - (SET(doubles)){0};
        const SET(doubles) sum = spread * SET(load_wide)(from + j) + SET(load_wide)(now + j);
        const SET(doubles) held = TO_F32(sum);
        const SET(doubles) power = (SET(doubles))((SET(bits))sum & TCI_EXPONENT);
        const SET(bits) drawn = draws * factors + terms;
        const SET(doubles) moved = sum + power * (TO_DOUBLE(drawn) * scale);
        all &= (sum != held) & (power < 0x1p127);
        memcpy(next + j, &moved, sizeof moved);
        draws = draws * tci_noise.factors[LANES_F64 - 1] + tci_noise.terms[LANES_F64 - 1];
    }
    int64_t every = -1;
    for (int l = 0; l < LANES_F64; l++)
        every &= all[l];
    if (every)
        tci_noise.draws = draws;
    return every != 0;
}

TARGET static void SET(accumulate_noisy)(double *acc, int64_t n, const double *a, int64_t k, const double *b,
                                         int64_t stride)
{
    _Alignas(BYTES) double other[COLUMNS];
    double *now = acc, *next = other;
    const int64_t whole = n - n % LANES_F64;
    for (int64_t i = 0; i < k; i++) {
        const double *from = b + i * stride;
        double *const before = now;
        const bool every = SET(noisy_term)(next, now, whole, a + i, false, from);
        if (every) {
            now = next;
            next = before;
        }
        for (int64_t j = every ? whole : 0; j < n; j++)
            now[j] = fma_noisy(a[i], from[j], before[j]);
    }
    if (now != acc)
        memcpy(acc, now, (size_t)n * sizeof *acc);
}

TARGET static void SET(each_noisy)(double *acc, int64_t n, const double *a, const double *b)
{
    _Alignas(BYTES) double next[COLUMNS];
    const int64_t whole = n - n % LANES_F64;
    const bool every = SET(noisy_term)(next, acc, whole, a, true, b);
    if (every)
        memcpy(acc, next, (size_t)whole * sizeof *acc);
    for (int64_t j = every ? whole : 0; j < n; j++)
        acc[j] = fma_noisy(a[j], b[j], acc[j]);
}

#undef LANES_F32
#undef LANES_F64
#undef SET
#undef TARGET
#undef BYTES
#undef FMA_F32
#undef TO_F32
#undef TO_DOUBLE
