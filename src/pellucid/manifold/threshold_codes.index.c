/* Codes by threshold: which atoms are active, in how many codes two of them are, and sums of their rows.

   The active atoms of row i are active[begin[i]] to active[begin[i + 1]], in rising order. */
#include "kernels.h"
#include "marks.h"
#include "unit_length.h"

/* how often an atom of a row may be counted in 16 bits */
#define LIMIT 60000
/* rows of a symmetric matrix that are mirrored at once: as many columns lie in a cache line */
#define LINE 8

/* Columns of the products that reach the threshold, row after row, none for rows that are not there, and how many each
   row has. Returns how many they are. */
EXPORTED int64_t INDEXED(above)(int64_t n, int64_t K, const float *products, float threshold, const uint8_t *present,
                                INDEX *active, int64_t *counts) {
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *row = products + i * K;
        int64_t before = used, k = 0;
        for (; present[i] && k + 64 <= K; k += 64) {
            uint8_t marks[64];
            for (int j = 0; j < 64; j++) marks[j] = row[k + j] >= threshold;
            for (uint64_t bits = bits_of(marks); bits; bits &= bits - 1)
                active[used++] = (INDEX)(k + __builtin_ctzll(bits));
        }
        for (; present[i] && k < K; k++)
            if (row[k] >= threshold) active[used++] = (INDEX)k;
        counts[i] = used - before;
    }
    return used;
}

/* Whether these are atoms of K. */
static inline bool all_known(const INDEX *active, int64_t n, int64_t K) {
    bool unknown = false;
    for (int64_t k = 0; k < n; k++) {
        int64_t atom = active[k];
        unknown |= (atom < 0) | (atom >= K);
    }
    return !unknown;
}

/* For every atom the rows in which it is active, and where in their lists it stands: those of atom a from starts[a]
   on. Returns whether the codes are some of K atoms at all. */
EXPORTED int64_t INDEXED(inverted)(int64_t n, int64_t K, int64_t count, const INDEX *active, const int64_t *begin,
                                   int32_t *rows, int32_t *places, int64_t *starts) {
    bool known = begin[0] == 0 && begin[n] == count;
    for (int64_t i = 0; i < n; i++) known &= begin[i] <= begin[i + 1];
    if (!known || !all_known(active, count, K)) return false;
    memset(starts, 0, (size_t)(K + 1) * sizeof(int64_t));
    for (int64_t k = 0; k < count; k++) starts[active[k]]++;
    for (int64_t a = 0, before = 0; a <= K; a++) before += starts[a], starts[a] = before; /* where the next begins */
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t k = begin[i + 1] - 1; k >= begin[i]; k--) {
            int64_t free_ = --starts[active[k]];
            rows[free_] = (int32_t)i;
            places[free_] = (int32_t)k;
        }
    return true;
}

/* Add a block of counts to a symmetric matrix, at rows from a and columns from b on, and to its mirror image, which is
   `below` all of these rows or only partly. */
static inline __attribute__((always_inline)) void add_block(const uint16_t *counts, int64_t wide, int64_t a,
                                                            int64_t rows, int64_t b, int64_t columns, bool below,
                                                            double weight, double *second, int64_t K) {
    double sums[LINE][LINE];
    for (int64_t t = 0; t < rows; t++)
        for (int64_t j = 0; j < columns; j++) {
            sums[t][j] = second[(a + t) * K + b + j] + weight * counts[t * wide + b + j];
            second[(a + t) * K + b + j] = sums[t][j];
        }
    for (int64_t j = 0; j < columns; j++)
        for (int64_t t = 0; t < (below ? rows : smaller_int(rows, b + j - a + 1)); t++)
            second[(b + j) * K + a + t] = sums[t][j];
}

/* Add rows of counts, from column a on, to a symmetric matrix; they become zero. */
static void add_counts(uint16_t *counts, int64_t wide, int64_t a, int64_t rows, double weight, double *second,
                       int64_t K) {
    for (int64_t b = a; b < K; b += LINE) {
        uint64_t any = 0;
        for (int64_t t = 0; t < rows; t++) {
            uint64_t eight[2];
            memcpy(eight, counts + t * wide + b, sizeof eight);
            any |= eight[0] | eight[1];
        }
        if (!any) continue;
        if (rows == LINE && a < b && b + LINE <= K) add_block(counts, wide, a, LINE, b, LINE, true, weight, second, K);
        else add_block(counts, wide, a, rows, b, smaller_int(LINE, K - b), false, weight, second, K);
    }
    memset(counts, 0, (size_t)(rows * wide) * sizeof *counts);
}

/* In how many codes atoms a and b are active, times a weight, is added to second[a, b], for a from first to last;
   counted in 16 bits, so that a row stays in cache, for b ≥ a alone. */
EXPORTED int64_t INDEXED(count_pairs)(int64_t n, int64_t K, int64_t count, const INDEX *active, const int64_t *begin,
                                      const int32_t *rows, const int32_t *places, const int64_t *starts, int64_t first,
                                      int64_t last, double weight, double *second) {
    (void)n, (void)count;
    int64_t wide = K + LINE; /* a whole line can be read at the end */
    uint16_t *counts = ROOM(uint16_t, LINE * wide);
    if (!counts) return NO_MEMORY;
    memset(counts, 0, (size_t)(LINE * wide) * sizeof *counts);
    for (int64_t a = first; a < last; a += LINE) {
        int64_t many = smaller_int(LINE, last - a);
        for (int64_t t = 0; t < many; t++) {
            uint16_t *row = counts + t * wide;
            for (int64_t k = starts[a + t], waiting = 1; k < starts[a + t + 1]; k++, waiting++) {
                for (int64_t p = places[k]; p < begin[rows[k] + 1]; p++) row[active[p]]++;
                if (waiting % LIMIT == 0) add_counts(counts, wide, a, t + 1, weight, second, K);
            }
        }
        add_counts(counts, wide, a, many, weight, second, K);
    }
    free(counts);
    return 0;
}

/* In how many of `each` rows every atom is active, for images first to last. */
EXPORTED void INDEXED(image_sums)(int64_t n, int64_t K, int64_t images, int64_t count, const INDEX *active,
                                  const int64_t *begin, int64_t each, int64_t first, int64_t last, float *sums) {
    (void)n, (void)count, (void)images;
    for (int64_t image = first; image < last; image++) {
        float *total = sums + image * K;
        for (int64_t k = begin[image * each]; k < begin[(image + 1) * each]; k++) total[active[k]]++;
    }
}

/* Sums of so many lanes of the table's rows, which stay in registers. */
static inline __attribute__((always_inline)) void add_lanes(const INDEX *active, int64_t n, const float *table,
                                                            int64_t d, int lanes, float *total) {
    lanes_f32 sums[8] = {0};
    for (int64_t k = 0; k < n; k++) {
        const float *row = table + active[k] * d;
        for (int l = 0; l < lanes; l++) sums[l] += load_f32(row + 8 * l);
    }
    memcpy(total, sums, (size_t)lanes * sizeof *sums);
}

/* Sums of the table's rows over the active atoms of rows from `first` on, of unit length; zeros where there are none.
   Returns whether the table has them all. */
EXPORTED int64_t INDEXED(add_atoms)(int64_t n, int64_t K, int64_t d, int64_t count, int64_t m, const INDEX *active,
                                 const int64_t *begin, const float *table, int64_t first, float *out) {
    if (first < 0 || first + m > n) return false;
    for (int64_t i = 0; i < m; i++) {
        int64_t start = begin[first + i], size = begin[first + i + 1] - start, j = 0;
        float *total = out + i * d;
        const INDEX *own = active + start;
        if (start < 0 || size < 0 || start + size > count || !all_known(own, size, K)) return false;
        for (; j + 64 <= d; j += 64) add_lanes(own, size, table + j, d, 8, total + j);
        for (; j + 32 <= d; j += 32) add_lanes(own, size, table + j, d, 4, total + j);
        for (; j + 8 <= d; j += 8) add_lanes(own, size, table + j, d, 1, total + j);
        for (; j < d; j++) {
            total[j] = 0.0f;
            for (int64_t k = 0; k < size; k++) total[j] += table[own[k] * d + j];
        }
        scale_to_unit(total, d);
    }
    return true;
}
