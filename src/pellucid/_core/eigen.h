/* Eigenvalues and eigenvectors of a small symmetric matrix: a tridiagonal one by reflections (Householder), then
   rotations with implicit shifts (QL). For matrices so small that LAPACK's overhead exceeds the work. */
#ifndef PELLUCID_EIGEN_H
#define PELLUCID_EIGEN_H

#include "lanes.h"

/* rotations settle an eigenvalue in two or three turns; the limit ends what is not finite */
#define TURNS 50
/* a column this much shorter than the largest entry is zero */
#define VANISHING 1e-20

/* Reflect rows and columns of A (n, n), which is overwritten, until it is tridiagonal: its diagonal and what is beside it.
   Row k keeps the vector v of its reflection I − factor_k·vvᵀ, from k + 1 on. */
static inline void tridiagonalise(double *A, int64_t n, double *diagonal, double *beside, double *factor, double *w) {
    for (int64_t k = 0; k < n; k++) {
        double *v = A + k * n + k + 1;
        int64_t left = n - k - 1;
        diagonal[k] = A[k * n + k];
        beside[k] = left ? v[0] : 0.0;
        factor[k] = 0.0;
        if (left < 2) continue;
        double rest = dot_f64(v + 1, v + 1, left - 1);
        double length = sqrt(v[0] * v[0] + rest);
        if (length <= VANISHING) beside[k] = 0.0;
        if (length <= VANISHING || rest == 0.0) continue;
        beside[k] = v[0] > 0.0 ? -length : length;
        v[0] -= beside[k];
        factor[k] = 2.0 / (v[0] * v[0] + rest);
        double *below = A + (k + 1) * n + k + 1;
        for (int64_t i = 0; i < left; i++) w[i] = factor[k] * dot_f64(below + i * n, v, left);
        add_scaled_f64(w, -0.5 * factor[k] * dot_f64(v, w, left), v, left);
        for (int64_t i = 0; i < left; i++) {
            double *row = below + i * n;
            for (int64_t j = 0; j < left; j++) row[j] -= v[i] * w[j] + w[i] * v[j];
        }
    }
}

/* The rows into which the reflections turn those of the identity. */
static inline void turned_identity(const double *A, int64_t n, const double *factor, double *V) {
    memset(V, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t i = 0; i < n; i++) V[i * n + i] = 1.0;
    for (int64_t k = n - 3; k >= 0; k--)
        for (int64_t i = k + 1; i < n; i++) {
            double *row = V + i * n + k + 1;
            const double *v = A + k * n + k + 1;
            add_scaled_f64(row, -factor[k] * dot_f64(row, v, n - k - 1), v, n - k - 1);
        }
}

/* Rotate a tridiagonal matrix until it is diagonal, and rows of V (none if NULL) with it; false if it does not settle. */
static inline bool diagonalise(double *diagonal, double *beside, int64_t n, double *V) {
    double norm = 0.0;
    for (int64_t i = 0; i < n; i++) norm = larger(norm, fabs(diagonal[i]) + fabs(beside[i]));
    for (int64_t first = 0; first < n; first++) {
        for (int turn = 0;; turn++) {
            int64_t last = first;
            while (last < n - 1 && fabs(beside[last]) > EPSILON * norm) last++; /* less each turn makes anew */
            if (last == first) break;
            if (turn == TURNS) return false;
            double gap = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
            double root = sqrt(gap * gap + 1.0), sine = 1.0, cosine = 1.0, moved = 0.0;
            double g = diagonal[last] - diagonal[first] + beside[first] / (gap + (gap < 0.0 ? -root : root));
            int64_t i = last - 1;
            for (; i >= first; i--) {
                double f = sine * beside[i], b = cosine * beside[i], length = sqrt(f * f + g * g);
                beside[i + 1] = length;
                if (length == 0.0) { /* it fell apart here */
                    diagonal[i + 1] -= moved;
                    break;
                }
                sine = f / length, cosine = g / length;
                g = diagonal[i + 1] - moved;
                double along = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                moved = sine * along;
                diagonal[i + 1] = g + moved;
                g = cosine * along - b;
                if (V) {
                    double *one = V + i * n, *two = one + n;
                    for (int64_t k = 0; k < n; k++) {
                        double old = two[k];
                        two[k] = sine * one[k] + cosine * old;
                        one[k] = cosine * one[k] - sine * old;
                    }
                }
            }
            if (i < first) diagonal[first] -= moved, beside[first] = g;
            beside[last] = 0.0;
        }
    }
    return true;
}

/* numbers of room that symmetric_eigen needs */
#define EIGEN_ROOM(n) (3 * (n))

/* Eigenvalues of A (n, n), ascending, and the eigenvectors in the rows of V (none if NULL). A is overwritten; false if
   it is not finite. */
static inline bool symmetric_eigen(double *A, int64_t n, double *values, double *V, double *room) {
    double largest = 0.0;
    for (int64_t i = 0; i < n * n; i++) {
        if (!isfinite(A[i])) return false;
        largest = larger(largest, fabs(A[i]));
    }
    double unit = largest > 0.0 ? largest : 1.0; /* so that no square over- or underflows */
    for (int64_t i = 0; i < n * n; i++) A[i] /= unit;
    double *beside = room, *factor = room + n, *w = room + 2 * n;
    tridiagonalise(A, n, values, beside, factor, w);
    if (V) turned_identity(A, n, factor, V);
    if (!diagonalise(values, beside, n, V)) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (values[j] < values[least]) least = j;
        double value = values[i];
        values[i] = values[least], values[least] = value;
        for (int64_t k = 0; V && least != i && k < n; k++) {
            double entry = V[i * n + k];
            V[i * n + k] = V[least * n + k], V[least * n + k] = entry;
        }
    }
    for (int64_t i = 0; i < n; i++) values[i] *= unit;
    return true;
}

#endif
