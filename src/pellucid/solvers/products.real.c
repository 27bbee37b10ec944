/* Vectors of symmetric matrices, as many as the panel of a preconditioner needs. */
#include "design_newton.h"
#include "kernels.h"

/* ½(a bᵀ + b aᵀ) of the rows of A and B, as the entries on and above the diagonal, those beside it times √2. */
EXPORTED void TYPED(symmetric_products)(int64_t n, int64_t dimension, int64_t size, const double *A, const double *B,
                                        REAL *out) {
    for (int64_t p = 0; p < n; p++) {
        const double *a = A + p * dimension, *b = B + p * dimension;
        REAL *row = out + p * size;
        for (int64_t i = 0, k = 0; i < dimension; k += dimension - i++) {
            if (k + dimension - i > size) return; /* `out` is no room for them */
            row[k] = (REAL)(a[i] * b[i]);
            for (int64_t j = i + 1; j < dimension; j++)
                row[k + j - i] = (REAL)(0.5 * basis_factor(0, 1) * (a[i] * b[j] + a[j] * b[i]));
        }
    }
}
