/* The dual of multitask basis pursuit (design.py): what its path and its polish have in common.

   Columns w_p stand in W (dimension, count), and every pass over them takes a block at a time, copied to where its rows
   are STRIDE apart and filled up with zeros to whole lanes. */
#ifndef PELLUCID_DESIGN_H
#define PELLUCID_DESIGN_H

#include "cholesky.h"

/* columns in a block; rows a power of two apart would share places in the cache */
#define TOGETHER 128
#define STRIDE (TOGETHER + 8)
/* columns that a tile of a product has */
#define TILE 8
/* a pivot of M below this share of its largest entry leaves no inverse */
#define SINGULAR 1e-15

static inline void store_f64(double *a, lanes_f64 v) { memcpy(a, &v, sizeof v); }

/* The columns and room for one block of them (`part`) and for products with it; `lengths` and `ends` have a place a
   column, `square`, `L` and `inverse` are (dimension, dimension). */
typedef struct {
    int64_t dimension, count;
    const double *W;
    double *part, *now, *ahead, *lengths, *ends, *square, *L, *inverse;
} Columns;

static inline bool prepare(Columns *c, const double *W, int64_t dimension, int64_t count) {
    int64_t block = dimension * STRIDE, square = dimension * dimension;
    double *room = ROOM(double, 3 * block + 2 * count + 3 * square);
    *c = (Columns){.dimension = dimension, .count = count, .W = W, .part = room};
    if (!room) return false;
    c->now = room + block, c->ahead = c->now + block;
    c->lengths = c->ahead + block, c->ends = c->lengths + count;
    c->square = c->ends + count, c->L = c->square + square, c->inverse = c->L + square;
    return true;
}

static inline void let_go(Columns *c) { free(c->part); }

static inline int64_t in_block(const Columns *c, int64_t start) { return smaller_int(TOGETHER, c->count - start); }

/* Copy the block that starts there; returns how long its rows are with the zeros at their ends. */
static inline int64_t take_block(const Columns *c, int64_t start) {
    int64_t n = in_block(c, start), width = (n + TILE - 1) / TILE * TILE;
    for (int64_t k = 0; k < c->dimension; k++) {
        double *row = c->part + k * STRIDE;
        memcpy(row, c->W + k * c->count + start, (size_t)n * sizeof(double));
        for (int64_t p = n; p < width; p++) row[p] = 0.0;
    }
    return width;
}

/* V times the block. Tiles of four rows and eight columns keep their sums in registers; a last tile that is no whole one
   computes its last row more than once. */
static inline void multiply(const Columns *c, const double *V, int64_t width, double *out) {
    int64_t D = c->dimension;
    for (int64_t i = 0; i < D; i += 4) {
        int64_t row[4];
        for (int64_t r = 0; r < 4; r++) row[r] = smaller_int(i + r, D - 1);
        const double *a = V + row[0] * D, *b = V + row[1] * D, *d = V + row[2] * D, *e = V + row[3] * D;
        for (int64_t p = 0; p < width; p += TILE) {
            lanes_f64 ax = {0}, ay = {0}, bx = {0}, by = {0}, dx = {0}, dy = {0}, ex = {0}, ey = {0};
            for (int64_t k = 0; k < D; k++) {
                lanes_f64 x = load_f64(c->part + k * STRIDE + p), y = load_f64(c->part + k * STRIDE + p + 4);
                ax += x * a[k], ay += y * a[k];
                bx += x * b[k], by += y * b[k];
                dx += x * d[k], dy += y * d[k];
                ex += x * e[k], ey += y * e[k];
            }
            const lanes_f64 sums[4][2] = {{ax, ay}, {bx, by}, {dx, dy}, {ex, ey}};
            for (int r = 0; r < 4; r++) {
                store_f64(out + row[r] * STRIDE + p, sums[r][0]);
                store_f64(out + row[r] * STRIDE + p + 4, sums[r][1]);
            }
        }
    }
}

/* S += ABᵀ where A and B have `size` rows and S is symmetric: its lower triangle, by tiles as before. */
static inline void add_products(double *S, int64_t size, const double *A, const double *B, int64_t width) {
    for (int64_t i = 0; i < size; i += 4)
        for (int64_t j = 0; j < smaller_int(i + 4, size); j += 2) {
            const double *a = A + i * STRIDE, *b = A + smaller_int(i + 1, size - 1) * STRIDE;
            const double *d = A + smaller_int(i + 2, size - 1) * STRIDE, *e = A + smaller_int(i + 3, size - 1) * STRIDE;
            const double *f = B + j * STRIDE, *g = B + smaller_int(j + 1, size - 1) * STRIDE;
            lanes_f64 ax = {0}, ay = {0}, bx = {0}, by = {0}, dx = {0}, dy = {0}, ex = {0}, ey = {0};
            for (int64_t p = 0; p < width; p += 4) {
                lanes_f64 x = load_f64(f + p), y = load_f64(g + p);
                ax += load_f64(a + p) * x, ay += load_f64(a + p) * y;
                bx += load_f64(b + p) * x, by += load_f64(b + p) * y;
                dx += load_f64(d + p) * x, dy += load_f64(d + p) * y;
                ex += load_f64(e + p) * x, ey += load_f64(e + p) * y;
            }
            const lanes_f64 sums[4][2] = {{ax, ay}, {bx, by}, {dx, dy}, {ex, ey}};
            for (int64_t r = 0; r < 4 && i + r < size; r++)
                for (int64_t t = 0; t < 2 && j + t <= i + r; t++) S[(i + r) * size + j + t] += total_f64(sums[r][t]);
        }
}

/* M = Σ η_p w_p w_pᵀ + λI; weights NULL are ones. */
static inline void moment(const Columns *c, const double *weights, double ridge, double *M) {
    int64_t D = c->dimension;
    for (int64_t i = 0; i < D * D; i++) M[i] = 0.0;
    for (int64_t i = 0; i < D; i++) M[i * D + i] = ridge;
    for (int64_t start = 0; start < c->count; start += TOGETHER) {
        int64_t n = in_block(c, start), width = take_block(c, start);
        for (int64_t k = 0; k < D; k++) {
            const double *from = c->part + k * STRIDE;
            double *to = c->now + k * STRIDE;
            for (int64_t p = 0; p < n; p++) to[p] = weights ? weights[start + p] * from[p] : from[p];
            for (int64_t p = n; p < width; p++) to[p] = 0.0;
        }
        add_products(M, D, c->part, c->now, width);
    }
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = i + 1; j < D; j++) M[i * D + j] = M[j * D + i];
}

/* out_p = Σ_k a_kp b_kp of the columns of a block */
static inline void dot_columns(const double *a, const double *b, int64_t rows, int64_t width, int64_t n, double *out) {
    double sums[TOGETHER];
    for (int64_t p = 0; p < width; p++) sums[p] = 0.0;
    for (int64_t k = 0; k < rows; k++)
        for (int64_t p = 0; p < width; p++) sums[p] += a[k * STRIDE + p] * b[k * STRIDE + p];
    memcpy(out, sums, (size_t)n * sizeof(double));
}

/* ‖V w_p‖² of every column. */
static inline void lengths_of(const Columns *c, const double *V, double *lengths) {
    for (int64_t start = 0; start < c->count; start += TOGETHER) {
        int64_t n = in_block(c, start), width = take_block(c, start);
        multiply(c, V, width, c->now);
        dot_columns(c->now, c->now, c->dimension, width, n, lengths + start);
    }
}

/* ‖dV w_p‖² and ⟨V w_p, dV w_p⟩ of every column. */
static inline void look_ahead(const Columns *c, const double *V, const double *dV, double *square, double *cross) {
    for (int64_t start = 0; start < c->count; start += TOGETHER) {
        int64_t n = in_block(c, start), width = take_block(c, start);
        multiply(c, V, width, c->now);
        multiply(c, dV, width, c->ahead);
        dot_columns(c->ahead, c->ahead, c->dimension, width, n, square + start);
        dot_columns(c->now, c->ahead, c->dimension, width, n, cross + start);
    }
}

/* M⁻¹ of a positive definite matrix; false if it is none as far as precision tells. */
static inline bool invert(const Columns *c, const double *M) {
    int64_t D = c->dimension;
    double largest = 0.0;
    for (int64_t i = 0; i < D; i++) largest = larger(largest, M[i * D + i]);
    if (!factorise(c->L, D, NULL, D, M, D, SINGULAR * largest)) return false;
    for (int64_t i = 0; i < D * D; i++) c->inverse[i] = 0.0;
    for (int64_t i = 0; i < D; i++) {
        double *row = c->inverse + i * D;
        row[i] = 1.0;
        forward_substitute(c->L, D, D, row);
        back_substitute(c->L, D, D, row);
    }
    return true;
}

/* ‖β‖₁,₂ (+ ‖I − Wβ‖²/2λ) of β_p = η_p M⁻¹w_p, for which I − Wβ = λM⁻¹; M is left in `square`. */
static inline double primal(const Columns *c, const double *weights, double ridge) {
    moment(c, weights, ridge, c->square);
    if (!invert(c, c->square)) return INFINITY;
    lengths_of(c, c->inverse, c->lengths);
    for (int64_t p = 0; p < c->count; p++) c->lengths[p] = sqrt(c->lengths[p]);
    int64_t square = c->dimension * c->dimension;
    return dot_f64(weights, c->lengths, c->count) + 0.5 * ridge * dot_f64(c->inverse, c->inverse, square);
}

static inline double trace(const double *V, int64_t n) {
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) total += V[i * n + i];
    return total;
}

/* tr V − λ/2 ‖V‖² */
static inline double dual(const double *V, int64_t n, double ridge) {
    return ridge != 0.0 ? trace(V, n) - 0.5 * ridge * dot_f64(V, V, n * n) : trace(V, n);
}

static inline double largest_of(const double *x, int64_t n) {
    double found = -INFINITY;
    for (int64_t i = 0; i < n; i++) found = larger(found, x[i]);
    return found;
}

static inline double least_of(const double *x, int64_t n) {
    double found = INFINITY;
    for (int64_t i = 0; i < n; i++) found = smaller(found, x[i]);
    return found;
}

#endif
