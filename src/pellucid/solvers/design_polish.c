/* From a point on the path to the last digits: Newton's method on the columns with weight (design_polish.py). */
#include "design_newton.h"
#include "eigen.h"
#include "kernels.h"

/* how little a step of the polish costs a weight, against how much it costs to miss a constraint */
#define PROXIMAL 1e-8
/* a slack has this size at least */
#define LEAST_SLACK 1e-300
/* what a step returns that took a weight to zero */
#define VANISHED (-1.0)

/* The logarithm of each column's ratio of weight and slack, and whether it is above that of all weights to D. */
EXPORTED int64_t KERNEL(weight_over_slack)(int64_t dimension, int64_t count, const double *V, const double *W,
                                           const double *weights, double *ratio, uint8_t *used) {
    Columns c;
    if (!prepare(&c, W, dimension, count)) return NO_MEMORY;
    double total = 0.0;
    lengths_of(&c, V, c.lengths);
    for (int64_t p = 0; p < count; p++) total += weights[p];
    double level = log10(total / (double)dimension);
    for (int64_t p = 0; p < count; p++) {
        ratio[p] = log10(weights[p] / larger(1.0 - c.lengths[p], LEAST_SLACK));
        used[p] = ratio[p] > level;
    }
    let_go(&c);
    return 0;
}

/* What a change of the weights by one costs. */
static double proximal(const Columns *c, const double *weights, double ridge, double *values, double *room) {
    double total = 0.0;
    if (!c->dimension) return NAN;
    for (int64_t k = 0; k < c->dimension; k++)
        total += dot_f64(c->W + k * c->count, c->W + k * c->count, c->count);
    moment(c, weights, ridge, c->square);
    if (!symmetric_eigen(c->square, c->dimension, values, NULL, room)) return NAN;
    return PROXIMAL * total / values[c->dimension - 1] / (double)c->dimension;
}

EXPORTED double KERNEL(proximal_weight)(int64_t dimension, int64_t count, const double *W, const double *weights,
                                        double ridge) {
    Columns c;
    double *room = ROOM(double, dimension + EIGEN_ROOM(dimension)), found = 0.0;
    bool got = prepare(&c, W, dimension, count) && room;
    if (got) found = proximal(&c, weights, ridge, room, room + dimension);
    let_go(&c), free(room);
    return got ? found : (double)NO_MEMORY;
}

/* Half the slack of each constraint, which a step is to close. */
static void half_slacks(const Columns *c, const double *V, double *missing) {
    lengths_of(c, V, missing);
    for (int64_t p = 0; p < c->count; p++) missing[p] = 0.5 * (1.0 - missing[p]);
}

/* Take V and the weights along dV, with `missing` before and after. Returns the relative gap as far as these columns know,
   V shrunk until it is feasible; VANISHED if a weight is at most `unused` of the largest. */
static double improve(const Columns *c, double *V, double *weights, const double *dV, double *missing, double cost,
                      double ridge, double unused) {
    int64_t n = c->count, square = c->dimension * c->dimension;
    look_ahead(c, V, dV, c->ends, c->lengths);
    for (int64_t p = 0; p < n; p++) weights[p] += (c->lengths[p] - missing[p]) / cost; /* wᵀ½(V dV + dV V)w */
    add_scaled_f64(V, 1.0, dV, square);
    half_slacks(c, V, missing);
    if (least_of(weights, n) <= unused * largest_of(weights, n)) return VANISHED;
    double objective = primal(c, weights, ridge), longest = sqrt(larger(1.0, 1.0 - 2.0 * least_of(missing, n)));
    for (int64_t i = 0; i < square; i++) c->square[i] = V[i] / longest;
    return fabs(1.0 - dual(c->square, c->dimension, ridge) / objective);
}

EXPORTED double KERNEL(polish_step)(int64_t dimension, int64_t count, const double *W, const double *dV, double cost,
                                    double ridge, double unused, double *V, double *weights, double *missing) {
    Columns c;
    if (!prepare(&c, W, dimension, count)) return (double)NO_MEMORY;
    double gap = improve(&c, V, weights, dV, missing, cost, ridge, unused);
    let_go(&c);
    return gap;
}

/* Steps with factors of our own, as many as lessen the gap but no more than `steps`; or once a weight vanishes. V and
   weights become those of the least gap, or those where one has vanished. */
EXPORTED int64_t KERNEL(polish_few)(int64_t dimension, int64_t count, const double *W, double ridge, double unused,
                                    double exact, int64_t steps, double *V, double *weights) {
    Columns c;
    Equations e;
    int64_t n = count, square = dimension * dimension;
    double *room = ROOM(double, 3 * square + dimension + EIGEN_ROOM(dimension) + 4 * n);
    bool got = prepare(&c, W, dimension, n), both = prepare_equations(&e, dimension);
    if (got && both && room) {
        double *towards = room, *away = towards + square, *best_V = away + square, *best_weights = best_V + square;
        double *missing = best_weights + n, *curvature = missing + n, *pull = curvature + n, best = INFINITY;
        double cost = proximal(&c, weights, ridge, pull + n, pull + n + dimension);
        memcpy(best_V, V, (size_t)square * sizeof(double));
        memcpy(best_weights, weights, (size_t)n * sizeof(double));
        for (int64_t p = 0; p < n; p++) curvature[p] = 1.0 / cost;
        half_slacks(&c, V, missing);
        for (int64_t step = 0; step < steps && best > exact; step++) {
            for (int64_t p = 0; p < n; p++) pull[p] = weights[p] - missing[p] / cost;
            moment(&c, weights, ridge, c.square);
            if (!solve_equations(&e, &c, V, c.square, curvature, pull, ridge, towards, away)) break;
            add_scaled_f64(towards, -1.0, away, square);
            double gap = improve(&c, V, weights, towards, missing, cost, ridge, unused);
            if (gap == VANISHED) best = VANISHED;
            else if (!(gap < best)) break;
            else best = gap;
            memcpy(best_V, V, (size_t)square * sizeof(double));
            memcpy(best_weights, weights, (size_t)n * sizeof(double));
        }
        memcpy(V, best_V, (size_t)square * sizeof(double));
        memcpy(weights, best_weights, (size_t)n * sizeof(double));
    }
    bool whole = got && both && room;
    let_go(&c), let_go_equations(&e), free(room);
    return whole ? 0 : NO_MEMORY;
}
