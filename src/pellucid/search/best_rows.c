/* The rows that score best beside queries, in float32. For a row c a query scores weight·(q·c) − offset·shift, where weight
   and shift belong to the row and offset to the query; NaN is never among the best. They are kept in heaps (q, size) of
   scores and their places, the smallest score first. */
#include "kernels.h"

/* scores that are compared with the smallest of a heap at a time */
#define GLANCE 32
/* queries that are multiplied with a row at a time, and rows that one or two queries are multiplied with */
#define QUERIES 4
#define ROWS 2

/* Put a score in the place of a heap's smallest, if that is smaller. */
static inline void offer(float score, int64_t place, int64_t size, float *heap, int64_t *places) {
    if (!(score > heap[0])) return;
    int64_t hole = 0;
    for (;;) {
        int64_t child = 2 * hole + 1;
        if (child >= size) break;
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= score) break;
        heap[hole] = heap[child], places[hole] = places[child];
        hole = child;
    }
    heap[hole] = score, places[hole] = place;
}

/* found[r][k] = row[r]·queries[k], for so many of both as the compiler knows; the order of a sum depends on d alone. */
static inline void multiply(const float *queries, int n_queries, const float *const *row, int n_rows, int64_t d,
                            float found[ROWS][QUERIES]) {
    lanes_f32 s[ROWS][QUERIES] = {{{0}}}, t[ROWS][QUERIES] = {{{0}}};
    int64_t i = 0;
    for (; i + 16 <= d; i += 16)
        for (int k = 0; k < n_queries; k++) {
            lanes_f32 x = load_f32(queries + k * d + i), y = load_f32(queries + k * d + i + 8);
            for (int r = 0; r < n_rows; r++) s[r][k] += x * load_f32(row[r] + i), t[r][k] += y * load_f32(row[r] + i + 8);
        }
    for (int k = 0; k < n_queries; k++)
        for (int r = 0; r < n_rows; r++) {
            float total = total_f32(s[r][k] + t[r][k]);
            for (int64_t j = i; j < d; j++) total += row[r][j] * queries[k * d + j];
            found[r][k] = total;
        }
}

/* Put scores into heaps, given all products (q, n); the first column stands for the place `first`. */
EXPORTED void KERNEL(keep_best)(int64_t q, int64_t n, int64_t size, const float *products, const float *weight,
                                const float *offset, const float *shift, int64_t first, float *best, int64_t *places) {
    for (int64_t k = 0; size && k < q; k++)
        for (int64_t i = 0; i < n; i += GLANCE) {
            float scores[GLANCE], *heap = best + k * size;
            int64_t count = smaller_int(GLANCE, n - i);
            int better = 0;
            for (int64_t j = 0; j < count; j++) {
                scores[j] = products[k * n + i + j] * weight[i + j] - offset[k] * shift[i + j];
                better |= scores[j] > heap[0];
            }
            for (int64_t j = 0; better && j < count; j++) offer(scores[j], first + i + j, size, heap, places + k * size);
        }
}

/* The same, given the rows. For a few queries faster than BLAS: a row is read once for all of them, and nothing else is
   moved. One or two queries have time for rows in two places. */
EXPORTED void KERNEL(keep_nearest)(int64_t q, int64_t n, int64_t d, int64_t size, const float *queries,
                                   const float *rows, const float *weight, const float *offset, const float *shift,
                                   int64_t first, float *best, int64_t *places) {
    int64_t used = q <= 2 ? ROWS : 1, apart = (n + used - 1) / used;
    for (int64_t i = 0; size && i < apart; i++) {
        int64_t there = smaller_int(used, i + apart < n ? ROWS : 1); /* an odd number of rows has a middle one */
        const float *row[ROWS] = {rows + i * d, rows + (i + (there - 1) * apart) * d};
        for (int64_t j = 0; j < q; j += QUERIES) {
            const float *some = queries + j * d;
            int64_t count = smaller_int(QUERIES, q - j);
            float found[ROWS][QUERIES];
            if (q == 1) multiply(some, 1, row, 2, d, found);
            else if (q == 2) multiply(some, 2, row, 2, d, found);
            else if (count == 1) multiply(some, 1, row, 1, d, found);
            else if (count == 2) multiply(some, 2, row, 1, d, found);
            else if (count == 3) multiply(some, 3, row, 1, d, found);
            else multiply(some, 4, row, 1, d, found);
            for (int64_t r = 0; r < there; r++)
                for (int64_t k = 0; k < count; k++) {
                    int64_t at = i + r * apart, heap = (j + k) * size;
                    float score = found[r][k] * weight[at] - offset[j + k] * shift[at];
                    offer(score, first + at, size, best + heap, places + heap);
                }
        }
    }
}
