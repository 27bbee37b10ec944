/* A step along the central path of the dual (design_path.py), and where the path begins. */
#ifndef PELLUCID_DESIGN_PATH_H
#define PELLUCID_DESIGN_PATH_H

#include "design.h"
#include "eigen.h"

/* a step ends where the nearest constraint keeps this share of its slack, and the nearest weight this one */
#define KEPT_SLACK 0.02
#define KEPT_WEIGHT 0.005
/* every product of weight and slack stays above this share of their mean; a step is shortened so many times for it */
#define CENTRED 1e-3
#define SHORTENED 30
/* the mean is asked to fall to this share at least */
#define LEAST_TARGET 1e-6

/* The t > 0 at which slack − 2t·cross − t²·square = 0. */
static inline double reach(double square, double cross, double slack) {
    double root = sqrt(larger(cross * cross + square * slack, 0.0));
    if (cross > 0.0) return slack / (cross + root);
    return square > 0.0 ? (root - cross) / square : INFINITY;
}

/* How weights and slacks of the columns change along a direction; a place a column. */
typedef struct {
    double *change, *square, *cross, *weights, *slacks;
} Ahead;

/* Weights and slacks after a step of this length, of which the mean product is returned. */
static inline double go(const Ahead *a, const double *weights, const double *z, int64_t n, double length) {
    for (int64_t p = 0; p < n; p++) {
        a->weights[p] = weights[p] + length * a->change[p];
        a->slacks[p] = z[p] - length * (2.0 * a->cross[p] + length * a->square[p]);
    }
    return dot_f64(a->weights, a->slacks, n) / (double)n;
}

/* Change of the weights along dV towards products of weight and slack of `target`, and how far one can go: inside all
   constraints of these columns. */
static inline double look(const Columns *c, const Ahead *a, const double *V, const double *dV, const double *weights,
                          const double *z, double target) {
    double length = 1.0;
    look_ahead(c, V, dV, a->square, a->cross);
    for (int64_t p = 0; p < c->count; p++) {
        a->change[p] = (target - weights[p] * z[p] + 2.0 * weights[p] * a->cross[p]) / z[p];
        c->ends[p] = (1.0 - KEPT_SLACK) * reach(a->square[p], a->cross[p], z[p]);
        c->lengths[p] = (KEPT_WEIGHT - 1.0) * weights[p] / a->change[p];
    }
    for (int64_t p = 0; p < c->count; p++) {
        length = smaller(length, c->ends[p]);
        if (a->change[p] < 0.0) length = smaller(length, c->lengths[p]);
    }
    return length;
}

/* Direction of V and of the weights for a μ that a trial step towards μ = 0 suggests, and how far to go: not too far from
   the central path. */
static inline double take_step(const Columns *c, const Ahead *a, const double *V, const double *weights,
                               const double *z, const double *towards, const double *away, double *dV) {
    int64_t n = c->count, square = c->dimension * c->dimension;
    double mu = dot_f64(weights, z, n) / (double)n;
    double length = look(c, a, V, towards, weights, z, 0.0);
    double left = fabs(go(a, weights, z, n, length)) / mu;
    double target = mu * larger(smaller(1.0, left * left * left), LEAST_TARGET);
    for (int64_t i = 0; i < square; i++) dV[i] = towards[i] - target * away[i];
    length = look(c, a, V, dV, weights, z, target);
    for (int turn = 0; turn < SHORTENED; turn++) {
        double mean = go(a, weights, z, n, length);
        for (int64_t p = 0; p < n; p++) c->ends[p] = a->weights[p] * a->slacks[p];
        if (least_of(c->ends, n) >= CENTRED * mean) break;
        length *= 0.8;
    }
    return length;
}

/* V shrunk until no column has less slack than this, and the weights that go with it on the central path. */
static inline void go_inside(const Columns *c, double ridge, double slack, double *V, double *weights, double *values,
                             double *room) {
    int64_t D = c->dimension, square = D * D;
    double factor = sqrt(1.0 - slack);
    if (ridge != 0.0) { /* past 1/λ the dual falls again */
        memcpy(c->square, V, (size_t)square * sizeof(double));
        if (symmetric_eigen(c->square, D, values, NULL, room)) {
            double norm = factor * larger(fabs(values[0]), fabs(values[D - 1]));
            factor *= smaller(1.0, 0.5 / (ridge * norm));
        }
    }
    for (int64_t i = 0; i < square; i++) V[i] *= factor;
    lengths_of(c, V, c->lengths);
    for (int64_t p = 0; p < c->count; p++) weights[p] = 1.0 / (1.0 - c->lengths[p]);
    moment(c, weights, 0.0, c->square);
    double total = ((double)D - ridge * trace(V, D)) / dot_f64(V, c->square, square);
    for (int64_t p = 0; p < c->count; p++) weights[p] *= total;
}

#endif
