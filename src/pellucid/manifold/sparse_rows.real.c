/* Rows of a sparse matrix: those of row i are data[pointers[i]] to data[pointers[i + 1]], in columns indices[…]. */
#include "kernels.h"

/* data = scale · given, its rows and columns scaled by `root`, and the sums of the absolute values of rows first to
   last. */
EXPORTED void TYPED(scale_rows)(int64_t n, int64_t count, const REAL *given, const int32_t *indices,
                                const int64_t *pointers, const double *root, double factor, REAL *data, double *sums,
                                int64_t first, int64_t last) {
    (void)n, (void)count;
    for (int64_t i = first; i < last; i++) {
        double total[4] = {0}, own = factor * root[i];
        int64_t k = pointers[i], end = pointers[i + 1];
        for (; k + 4 <= end; k += 4)
            for (int l = 0; l < 4; l++) {
                double value = given[k + l] * own * root[indices[k + l]];
                data[k + l] = (REAL)value;
                total[l] += fabs(value);
            }
        for (; k < end; k++) {
            double value = given[k] * own * root[indices[k]];
            data[k] = (REAL)value;
            total[0] += fabs(value);
        }
        sums[i] = (total[0] + total[1]) + (total[2] + total[3]);
    }
}

/* y = data · x for rows first to last. */
EXPORTED void TYPED(sparse_rows)(int64_t n, int64_t count, const REAL *data, const int32_t *indices,
                                 const int64_t *pointers, const double *x, double *y, int64_t first, int64_t last) {
    (void)n, (void)count;
    for (int64_t i = first; i < last; i++) {
        double total[4] = {0};
        int64_t k = pointers[i], end = pointers[i + 1];
        for (; k + 4 <= end; k += 4)
            for (int l = 0; l < 4; l++) total[l] += data[k + l] * x[indices[k + l]];
        for (; k < end; k++) total[0] += data[k] * x[indices[k]];
        y[i] = (total[0] + total[1]) + (total[2] + total[3]);
    }
}
