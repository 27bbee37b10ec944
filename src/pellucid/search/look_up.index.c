/* Scores of quantised items: sums of look-ups. */
#include "kernels.h"

/* tokens whose parts of the table stay in the nearest cache, and items that they are looked up for in one go */
#define TOKENS 8
#define ITEMS 512

/* out[:, first:last] of Σ_t table[q, t, codes[i, t]] over the tokens t; the codes must be below `entries`. */
EXPORTED void INDEXED(look_up)(int64_t queries, int64_t tokens, int64_t entries, int64_t items, const double *table,
                               const INDEX *codes, int64_t first, int64_t last, double *out) {
    first = larger_int(first, 0), last = smaller_int(last, items);
    for (int64_t begin = first; begin < last; begin += ITEMS) {
        int64_t end = smaller_int(begin + ITEMS, last);
        for (int64_t q = 0; q < queries; q++) {
            double *score = out + q * items;
            for (int64_t i = begin; i < end; i++) score[i] = 0.0;
            for (int64_t t = 0; t < tokens; t += TOKENS) {
                const double *part = table + (q * tokens + t) * entries;
                int64_t count = smaller_int(TOKENS, tokens - t);
                for (int64_t i = begin; i < end; i++) {
                    const INDEX *code = codes + i * tokens + t;
                    double sum = 0.0;
                    if (count == TOKENS)
                        for (int64_t k = 0; k < TOKENS; k++) sum += part[k * entries + code[k]];
                    else
                        for (int64_t k = 0; k < count; k++) sum += part[k * entries + code[k]];
                    score[i] += sum;
                }
            }
        }
    }
}
