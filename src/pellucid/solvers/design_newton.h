/* Newton's equations of the dual: linear ones for a symmetric matrix, as its D(D+1)/2 entries on and above the diagonal,
   those beside it times √2 so that the inner product stays the same. */
#ifndef PELLUCID_DESIGN_NEWTON_H
#define PELLUCID_DESIGN_NEWTON_H

#include "design.h"

/* H (size, size), the gradients of a block of columns, and two right-hand sides */
typedef struct {
    int64_t size;
    double *H, *gradients, *right;
} Equations;

static inline bool prepare_equations(Equations *e, int64_t dimension) {
    int64_t size = dimension * (dimension + 1) / 2;
    *e = (Equations){.size = size, .H = ROOM(double, size * (size + STRIDE + 2))};
    if (!e->H) return false;
    e->gradients = e->H + size * size, e->right = e->gradients + size * STRIDE;
    return true;
}

static inline void let_go_equations(Equations *e) { free(e->H); }

static inline double basis_factor(int64_t i, int64_t j) { return i == j ? 1.0 : 1.4142135623730951; }

/* Where the entry (i, j) of a symmetric matrix stands. */
static inline int64_t place_of(int64_t i, int64_t j, int64_t D) {
    int64_t row = smaller_int(i, j);
    return row * D - row * (row - 1) / 2 + larger_int(i, j) - row;
}

/* Add the matrix of X ↦ ½(MX + XM), whose entries are tr(E_k M E_l) of the basis E of symmetric matrices. */
static inline void add_half_sums(const Equations *e, const double *M, int64_t D) {
    for (int64_t i = 0, k = 0; i < D; i++)
        for (int64_t j = i; j < D; j++, k++)
            for (int64_t a = 0; a < D; a++) { /* only with those that share a row: (i, a) and (j, a) */
                double factor = 0.25 * basis_factor(i, j);
                double *row = e->H + k * e->size;
                row[place_of(i, a, D)] += factor * basis_factor(i, a) * (a == i ? 2.0 : 1.0) * M[j * D + a];
                row[place_of(j, a, D)] += factor * basis_factor(j, a) * (a == j ? 2.0 : 1.0) * M[i * D + a];
            }
}

/* Entries of the gradients B_p of the block, 2B_p = V w_p w_pᵀ + w_p w_pᵀ V: their sum times `pull` to the right, and each
   times the root of its curvature to the rows of `gradients`. */
static inline void take_gradients(const Equations *e, const Columns *c, const double *roots, const double *pull,
                                  int64_t width) {
    const double *v = c->now, *w = c->part;
    for (int64_t i = 0, k = 0; i < c->dimension; i++)
        for (int64_t j = i; j < c->dimension; j++, k++) {
            const double *vi = v + i * STRIDE, *vj = v + j * STRIDE, *wi = w + i * STRIDE, *wj = w + j * STRIDE;
            double factor = 0.5 * basis_factor(i, j), *row = e->gradients + k * STRIDE;
            lanes_f64 total = {0};
            for (int64_t p = 0; p < width; p += 4) {
                lanes_f64 entry = (load_f64(vi + p) * load_f64(wj + p) + load_f64(vj + p) * load_f64(wi + p)) * factor;
                total += entry * load_f64(pull + p);
                store_f64(row + p, entry * load_f64(roots + p));
            }
            e->right[e->size + k] += total_f64(total);
        }
}

/* Solutions X of ½(MX + XM) + Σ curvature_p ⟨B_p, X⟩ B_p = R: `towards` for R = I − λV, `away` for R = Σ pull_p B_p.
   False if the equations cannot be solved. */
static inline bool solve_equations(const Equations *e, const Columns *c, const double *V, const double *M,
                                   const double *curvature, const double *pull, double ridge, double *towards,
                                   double *away) {
    int64_t D = c->dimension, size = e->size;
    double roots[TOGETHER], pulls[TOGETHER];
    for (int64_t i = 0; i < size * size; i++) e->H[i] = 0.0;
    for (int64_t i = 0, k = 0; i < D; i++)
        for (int64_t j = i; j < D; j++, k++) {
            e->right[k] = basis_factor(i, j) * ((i == j ? 1.0 : 0.0) - ridge * V[i * D + j]);
            e->right[size + k] = 0.0;
        }
    for (int64_t start = 0; start < c->count; start += TOGETHER) {
        int64_t n = in_block(c, start), width = take_block(c, start);
        multiply(c, V, width, c->now);
        for (int64_t p = 0; p < width; p++) {
            roots[p] = p < n ? sqrt(curvature[start + p]) : 0.0;
            pulls[p] = p < n ? pull[start + p] : 0.0;
        }
        take_gradients(e, c, roots, pulls, width);
        add_products(e->H, size, e->gradients, e->gradients, width);
    }
    add_half_sums(e, M, D);
    if (!factorise(e->H, size, NULL, size, e->H, size, 0.0)) return false; /* each entry is read before it is written */
    for (int64_t side = 0; side < 2; side++) {
        double *found = e->right + side * size, *X = side ? away : towards;
        forward_substitute(e->H, size, size, found);
        back_substitute(e->H, size, size, found);
        for (int64_t i = 0, k = 0; i < D; i++)
            for (int64_t j = i; j < D; j++, k++) X[i * D + j] = X[j * D + i] = found[k] / basis_factor(i, j);
    }
    return true;
}

#endif
