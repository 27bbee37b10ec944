/* Rows of unit length. */
#ifndef PELLUCID_UNIT_LENGTH_H
#define PELLUCID_UNIT_LENGTH_H

#include "lanes.h"

/* Σ aᵢ² in float64, for rows so short that square_wide would leave much of them to its end */
static inline double square_of(const float *a, int64_t n) {
    lanes_f64 s = {0}, t = {0}, u = {0};
    int64_t i = 0;
    for (; i + 12 <= n; i += 12) {
        s += load_wide(a + i) * load_wide(a + i);
        t += load_wide(a + i + 4) * load_wide(a + i + 4);
        u += load_wide(a + i + 8) * load_wide(a + i + 8);
    }
    for (; i + 4 <= n; i += 4) s += load_wide(a + i) * load_wide(a + i);
    double total = total_f64((s + t) + u);
    for (; i < n; i++) total += (double)a[i] * (double)a[i];
    return total;
}

static inline void scale(float *row, int64_t n, float factor) {
    for (int64_t i = 0; i < n; i++) row[i] *= factor;
}

/* A row to unit length, unless it is zero. Returns whether it is not. */
static inline bool scale_to_unit(float *row, int64_t n) {
    double square = square_of(row, n);
    if (square > 0.0) scale(row, n, (float)(1.0 / sqrt(square)));
    return square > 0.0;
}

#endif
