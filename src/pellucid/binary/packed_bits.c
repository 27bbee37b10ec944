/* Sums over the items of concepts, on packed bits: bit i of word k says whether a concept has item 64k + i. */
#include "kernels.h"

#if defined(__x86_64__) && defined(__AVX2__)
#include <cpuid.h>
#include <stdatomic.h>
#endif

/* Four others at a time, so that a word of concept i is read once for all of them. */
static inline __attribute__((always_inline)) void count_rows(int64_t n, int64_t n_words, const uint64_t *words,
                                                             double *shared, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        const uint64_t *own = words + i * n_words;
        double *row = shared + i * n;
        for (int64_t j = 0; j <= i; j += 4) {
            /* beyond i the count is made in vain, and left to the row it belongs to */
            int64_t second = smaller_int(j + 1, i), third = smaller_int(j + 2, i), fourth = smaller_int(j + 3, i);
            const uint64_t *one = words + j * n_words, *two = words + second * n_words;
            const uint64_t *three = words + third * n_words, *four = words + fourth * n_words;
            int64_t a = 0, b = 0, c = 0, d = 0;
            for (int64_t k = 0; k < n_words; k++) {
                a += __builtin_popcountll(own[k] & one[k]);
                b += __builtin_popcountll(own[k] & two[k]);
                c += __builtin_popcountll(own[k] & three[k]);
                d += __builtin_popcountll(own[k] & four[k]);
            }
            row[j] = (double)a, row[second] = (double)b, row[third] = (double)c, row[fourth] = (double)d;
        }
        for (int64_t j = 0; j < i; j++) shared[j * n + i] = row[j];
    }
}

#if defined(__x86_64__) && defined(__AVX2__)
/* With AVX-512 one instruction counts the bits of eight words, in half the time. Counts are exact either way. */
__attribute__((target("avx512f,avx512vpopcntdq"))) static void count_rows_wide(int64_t n, int64_t n_words,
                                                                               const uint64_t *words, double *shared,
                                                                               int64_t begin, int64_t end) {
    count_rows(n, n_words, words, shared, begin, end);
}

static bool counts_wide(void) {
    static atomic_int known; /* 1: no, 2: yes; to ask takes long */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        unsigned a, b, c, d, low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* there is AVX2, so there is this */
        bool saved = (low & 0xe6) == 0xe6 && __get_cpuid_count(7, 0, &a, &b, &c, &d);
        answer = saved && (b & bit_AVX512F) && (c & bit_AVX512VPOPCNTDQ) ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#endif

/* shared[i, j] = shared[j, i] = items that concepts i and j both have, for i from begin to end and j ≤ i. */
EXPORTED void KERNEL(count_shared)(int64_t n, int64_t n_words, const uint64_t *words, double *shared, int64_t begin,
                                   int64_t end) {
    begin = larger_int(begin, 0), end = smaller_int(end, n);
#if defined(__x86_64__) && defined(__AVX2__)
    if (counts_wide()) {
        count_rows_wide(n, n_words, words, shared, begin, end);
        return;
    }
#endif
    count_rows(n, n_words, words, shared, begin, end);
}

/* total = one + two, of lanes of four, two at a time */
static inline void add_rows(double *total, const double *one, const double *two, int64_t wide) {
    for (int64_t j = 0; j < wide; j += 8) {
        lanes_f64 left = load_f64(one + j) + load_f64(two + j), right = load_f64(one + j + 4) + load_f64(two + j + 4);
        memcpy(total + j, &left, sizeof left);
        memcpy(total + j + 4, &right, sizeof right);
    }
}

static inline lanes_f64 sum_of_four(const double *a, const double *b, const double *c, const double *d) {
    return (load_f64(a) + load_f64(b)) + (load_f64(c) + load_f64(d));
}

/* squares[c] += |sum of the rows of X that concept c has|²; four items at a time, whose 16 sums are in a table. */
EXPORTED int64_t KERNEL(add_squared_sums)(int64_t n, int64_t p, int64_t n_columns, int64_t n_words, const double *X,
                                          const uint64_t *words, double *squares) {
    int64_t wide = (n_columns + 7) / 8 * 8; /* the rest are zeros */
    double *sums = ROOM(double, n * wide), *table = ROOM(double, (16 * 16 + 1) * wide);
    if (!sums || !table) {
        free(sums), free(table);
        return NO_MEMORY;
    }
    double *row = table + 16 * 16 * wide;
    memset(sums, 0, (size_t)(n * wide) * sizeof(double));
    memset(table, 0, (size_t)((16 * 16 + 1) * wide) * sizeof(double));
    for (int64_t k = 0; k < n_words; k++) {
        for (int64_t bit = 0; bit < 64; bit++) {
            int64_t item = 64 * k + bit, size = 1 << bit % 4;
            double *part = table + bit / 4 * 16 * wide;
            if (item < p) memcpy(row, X + item * n_columns, (size_t)n_columns * sizeof(double));
            if (item == p) memset(row, 0, (size_t)wide * sizeof(double));
            for (int64_t known = 0; known < size; known++)
                add_rows(part + (size + known) * wide, part + known * wide, row, wide);
        }
        for (int64_t c = 0; c < n; c++) {
            uint64_t word = words[c * n_words + k];
            double *sum = sums + c * wide;
            for (const double *part = table; part < row; part += 4 * 16 * wide, word >>= 16) {
                const double *first = part + (word & 15) * wide, *second = part + (16 + (word >> 4 & 15)) * wide;
                const double *third = part + (32 + (word >> 8 & 15)) * wide;
                const double *fourth = part + (48 + (word >> 12 & 15)) * wide;
                for (int64_t j = 0; j < wide; j += 8) {
                    lanes_f64 left = load_f64(sum + j) + sum_of_four(first + j, second + j, third + j, fourth + j);
                    lanes_f64 right = sum_of_four(first + j + 4, second + j + 4, third + j + 4, fourth + j + 4);
                    right += load_f64(sum + j + 4);
                    memcpy(sum + j, &left, sizeof left);
                    memcpy(sum + j + 4, &right, sizeof right);
                }
            }
        }
    }
    for (int64_t c = 0; c < n; c++) squares[c] += dot_f64(sums + c * wide, sums + c * wide, wide);
    free(sums), free(table);
    return 0;
}
