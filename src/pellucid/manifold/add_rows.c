/* Sums of the rows that have the same label. */
#include "kernels.h"

EXPORTED void KERNEL(add_rows)(int64_t n, int64_t d, int64_t m, const float *X, const int64_t *labels, double *sums) {
    (void)m;
    for (int64_t i = 0; i < n; i++) {
        double *sum = sums + labels[i] * d;
        const float *row = X + i * d;
        for (int64_t j = 0; j < d; j++) sum[j] += row[j];
    }
}
