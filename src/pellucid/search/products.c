/* Scores of many rows in float32. */
#include "kernels.h"

/* queries that a row is multiplied by at a time */
#define AT_A_TIME 4
/* how far ahead of several products the rows are asked for, in numbers; one product alone is as fast as memory */
#define AHEAD 1024

/* found[k] = queries[k]·row for `count` of them, which the compiler knows. */
static inline void dot_few(const float *queries, int count, const float *row, int64_t d, float *found) {
    lanes_f32 s[AT_A_TIME] = {{0}}, t[AT_A_TIME] = {{0}};
    int64_t i = 0;
    for (; i + 16 <= d; i += 16) {
        if (count == AT_A_TIME) __builtin_prefetch((const void *)((uintptr_t)(row + i) + AHEAD * sizeof(float)));
        lanes_f32 x = load_f32(row + i), y = load_f32(row + i + 8);
        for (int k = 0; k < count; k++) {
            s[k] += x * load_f32(queries + k * d + i);
            t[k] += y * load_f32(queries + k * d + i + 8);
        }
    }
    for (int k = 0; k < count; k++) {
        found[k] = total_f32(s[k] + t[k]);
        for (int64_t j = i; j < d; j++) found[k] += row[j] * queries[k * d + j];
    }
}

/* out = queries·rowsᵀ. For a few queries faster than BLAS: rows are read one after the other, each once for all queries,
   and nothing else is moved. */
EXPORTED void KERNEL(products)(int64_t q, int64_t n, int64_t d, const float *queries, const float *rows, float *out) {
    for (int64_t i = 0; i < n; i++) {
        const float *row = rows + i * d;
        float found[AT_A_TIME];
        for (int64_t j = 0; j < q; j += AT_A_TIME) {
            const float *some = queries + j * d;
            int64_t count = smaller_int(AT_A_TIME, q - j);
            if (count == 4) dot_few(some, 4, row, d, found);
            else if (count == 3) dot_few(some, 3, row, d, found);
            else if (count == 2) dot_few(some, 2, row, d, found);
            else dot_few(some, 1, row, d, found);
            for (int64_t k = 0; k < count; k++) out[(j + k) * n + i] = found[k];
        }
    }
}
