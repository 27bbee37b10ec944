/* Lengths and cosines of rows in float64. A row's numbers are added up in the same order wherever it stands, so that equal
   rows score the same to the last bit. Rows of zeros, and rows at the centre, have no direction: they get zero. */
#include "kernels.h"

/* one over a length, given its square; NaN and zero have none */
static double inverse_root(double square) { return square > 0.0 ? 1.0 / sqrt(square) : 0.0; }

/* ‖c‖² of a row, and its product with a query. */
static inline double square_and_product(const float *row, const double *query, int64_t d, double *product) {
    lanes_f64 s[4] = {{0}}, p[4] = {{0}};
    int64_t i = 0;
    for (; i + 16 <= d; i += 16)
        for (int k = 0; k < 4; k++) {
            lanes_f64 x = load_wide(row + i + 4 * k);
            s[k] += x * x, p[k] += x * load_f64(query + i + 4 * k);
        }
    double square = total_f64((s[0] + s[1]) + (s[2] + s[3])), along = total_f64((p[0] + p[1]) + (p[2] + p[3]));
    for (; i < d; i++) square += (double)row[i] * (double)row[i], along += (double)row[i] * query[i];
    *product = along;
    return square;
}

/* ‖z‖² of z = ĉ − μ, where ĉ is a row at unit length; `product` receives z·query if there is one. */
static inline double square_around(const float *row, double inverse, const double *center, const double *query,
                                   int64_t d, double *product) {
    lanes_f64 s[4] = {{0}}, p[4] = {{0}};
    int64_t i = 0;
    for (; i + 16 <= d; i += 16)
        for (int k = 0; k < 4; k++) {
            lanes_f64 z = load_wide(row + i + 4 * k) * inverse - load_f64(center + i + 4 * k);
            s[k] += z * z;
            if (query) p[k] += z * load_f64(query + i + 4 * k);
        }
    double square = total_f64((s[0] + s[1]) + (s[2] + s[3])), along = total_f64((p[0] + p[1]) + (p[2] + p[3]));
    for (; i < d; i++) {
        double z = row[i] * inverse - center[i];
        square += z * z;
        if (query) along += z * query[i];
    }
    if (query) *product = along;
    return square;
}

/* 1/‖c‖ of each row c. */
EXPORTED void KERNEL(inverse_lengths)(int64_t n, int64_t d, const float *rows, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = inverse_root(square_wide(rows + i * d, d));
}

/* 1/‖ĉ − μ‖ of each row at unit length, with the centre taken out. */
EXPORTED void KERNEL(inverse_distances)(int64_t n, int64_t d, const float *rows, const double *center, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double inverse = inverse_root(square_wide(rows + i * d, d));
        out[i] = inverse > 0.0 ? inverse_root(square_around(rows + i * d, inverse, center, NULL, d, NULL)) : 0.0;
    }
}

/* Cosines of rows with a query of unit length. */
EXPORTED void KERNEL(cosines)(int64_t n, int64_t d, const float *rows, const double *query, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double product, square = square_and_product(rows + i * d, query, d, &product);
        out[i] = square > 0.0 ? product / sqrt(square) : 0.0;
    }
}

/* The same of the rows at unit length with a centre taken out. */
EXPORTED void KERNEL(centred_cosines)(int64_t n, int64_t d, const float *rows, const double *query,
                                      const double *center, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double inverse = inverse_root(square_wide(rows + i * d, d)), product = 0.0, square = 0.0;
        if (inverse > 0.0) square = square_around(rows + i * d, inverse, center, query, d, &product);
        out[i] = square > 0.0 ? product / sqrt(square) : 0.0;
    }
}
