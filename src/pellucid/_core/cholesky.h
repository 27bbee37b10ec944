/* A Cholesky factor that grows and shrinks by one coordinate, for the kernels that keep a set of free coordinates.

   Throughout, free_[0..n) lists the coordinates, row i of L belongs to free_[i], and the diagonal of L holds 1/l_ii.
   Rows of L stand `wide` apart, those of G `m`. */
#ifndef PELLUCID_CHOLESKY_H
#define PELLUCID_CHOLESKY_H

#include "lanes.h"

/* a pivot (squared distance to the span of the others, of 1) that a factorisation in one go trusts */
#define SAFE_PIVOT 1e-10
/* a pivot below this share of what cancelled in it is nothing but round-off */
#define ROUND_OFF 1e-14

/* Solve Lz = x in place. */
static inline void forward_substitute(const double *L, int64_t wide, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - dot_f64(L + i * wide, x, i)) * L[i * wide + i];
}

/* Solve Lᵀz = x in place. */
static inline void back_substitute(const double *L, int64_t wide, int64_t n, double *x) {
    for (int64_t i = n - 1; i >= 0; i--) {
        x[i] *= L[i * wide + i];
        add_scaled_f64(x, -x[i], L + i * wide, i);
    }
}

/* Cholesky factor of G[free, free] = LLᵀ; false if a pivot is not above `least`, too small to trust. `free_` NULL takes
   all. By hand, since LAPACK's overhead exceeds the work at these sizes; two rows at a time, which is faster. */
static inline bool factorise(double *L, int64_t wide, const int64_t *free_, int64_t n, const double *G, int64_t m,
                             double least) {
#define AT(i) (free_ ? free_[i] : (i))
    int64_t odd = n % 2;
    if (odd) {
        double first = G[AT(0) * m + AT(0)];
        if (first <= least) return false;
        L[0] = 1.0 / sqrt(first);
    }
    for (int64_t i = odd; i < n; i += 2) {
        const double *first = G + AT(i) * m, *second = G + AT(i + 1) * m;
        double *one = L + i * wide, *two = L + (i + 1) * wide;
        for (int64_t j = 0; j < i; j++) {
            const double *row = L + j * wide;
            double s = first[AT(j)] - dot_f64(one, row, j), t = second[AT(j)] - dot_f64(two, row, j);
            one[j] = s * row[j];
            two[j] = t * row[j];
        }
        double s = first[AT(i)] - dot_f64(one, one, i);
        double t = second[AT(i)] - dot_f64(one, two, i);
        double u = second[AT(i + 1)] - dot_f64(two, two, i);
        if (s <= least) return false;
        one[i] = 1.0 / sqrt(s);
        two[i] = t * one[i];
        u -= two[i] * two[i];
        if (u <= least) return false;
        two[i + 1] = 1.0 / sqrt(u);
    }
    return true;
#undef AT
}

/* As factorise where G[free, free] may be singular: reorders free_ so that the first coordinates are as independent as
   a greedy choice makes them, factorises those, and returns how many they are. */
static inline int64_t factorise_pivoted(double *L, int64_t wide, int64_t *free_, int64_t n, const double *G, int64_t m,
                                        double *pivots) {
    for (int64_t i = 0; i < n; i++) pivots[i] = G[free_[i] * m + free_[i]];
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (pivots[i] > pivots[best]) best = i;
        if (pivots[best] <= SAFE_PIVOT) return k;
        int64_t j = free_[k];
        free_[k] = free_[best], free_[best] = j;
        double pivot = pivots[k];
        pivots[k] = pivots[best], pivots[best] = pivot;
        double *row = L + k * wide, *other = L + best * wide;
        for (int64_t i = 0; i < k; i++) {
            double entry = row[i];
            row[i] = other[i], other[i] = entry;
        }
        row[k] = 1.0 / sqrt(pivots[k]);
        for (int64_t i = k + 1; i < n; i++) {
            double *below = L + i * wide;
            below[k] = (G[free_[i] * m + free_[k]] - dot_f64(below, row, k)) * row[k];
            pivots[i] -= below[k] * below[k];
        }
    }
    return n;
}

/* Add coordinate j as row n of the factor, unless it depends on the others; z receives G[free, free]⁻¹G[free, j], and
   if it depends L[n, n] receives a bound on the curvature along (−z, 1).

   The pivot is ‖b_j − Σ z_i b_i‖², so what cancels in it, and its round-off, grows with (1 + Σ|z_i|)². */
static inline bool append(double *L, int64_t wide, int64_t *free_, int64_t n, const double *G, int64_t m, int64_t j,
                          double *z) {
    double *row = L + n * wide, pivot = G[j * m + j], size = 1.0;
    for (int64_t i = 0; i < n; i++) {
        row[i] = (G[j * m + free_[i]] - dot_f64(L + i * wide, row, i)) * L[i * wide + i];
        pivot -= row[i] * row[i];
        z[i] = row[i];
    }
    back_substitute(L, wide, n, z);
    for (int64_t i = 0; i < n; i++) size += fabs(z[i]);
    if (pivot <= ROUND_OFF * size * size) {
        row[n] = larger(fabs(pivot), EPSILON * size * size); /* how far from flat the direction (−z, 1) may be */
        return false;
    }
    row[n] = 1.0 / sqrt(pivot);
    free_[n] = j;
    return true;
}

/* Take the coordinate at `position` out of the factor: rows move up, rotations restore the triangle. */
static inline void delete_coordinate(double *L, int64_t wide, int64_t *free_, int64_t n, int64_t position) {
    for (int64_t i = position; i < n - 1; i++) {
        free_[i] = free_[i + 1];
        memcpy(L + i * wide, L + (i + 1) * wide, (size_t)(i + 1) * sizeof(double));
        L[i * wide + i + 1] = 1.0 / L[(i + 1) * wide + i + 1];
    }
    for (int64_t i = position; i < n - 1; i++) {
        double *row = L + i * wide, length = sqrt(row[i] * row[i] + row[i + 1] * row[i + 1]);
        double cosine = row[i] / length, sine = row[i + 1] / length;
        row[i] = 1.0 / length;
        for (int64_t r = i + 1; r < n - 1; r++) {
            double *below = L + r * wide, first = below[i], second = below[i + 1];
            below[i] = cosine * first + sine * second;
            below[i + 1] = cosine * second - sine * first;
        }
    }
}

#endif
