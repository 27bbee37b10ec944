/* The central path of the dual: as a whole where all columns take part from the start, and its parts where they do not. */
#include "design_newton.h"
#include "design_path.h"
#include "kernels.h"

/* powers of the columns' second moment that a start is chosen from; its eigenvalues are raised to this share of the
   largest */
#define POWERS 3
#define LEAST_VALUE 1e-3
/* slack that a start leaves where all columns take part */
#define HALF 0.5

/* The powers 0, −½ and −1 of a second moment, which is overwritten; all are the identity if it is not finite. `room` has
   EIGEN_ROOM and D(D + 1) numbers. */
static void powers_of(double *moment, int64_t D, double *trials, double *room) {
    double *values = room, *vectors = values + D, *rest = vectors + D * D;
    bool settled = symmetric_eigen(moment, D, values, vectors, rest);
    for (int64_t k = 0; k < POWERS * D * D; k++) trials[k] = 0.0;
    for (int64_t which = 0; which < POWERS; which++) {
        double *trial = trials + which * D * D;
        for (int64_t k = 0; k < D; k++) {
            if (!settled) trial[k * D + k] = 1.0;
            double value = settled ? larger(values[k], LEAST_VALUE * values[D - 1]) : 0.0;
            double factor = which == 0 ? 1.0 : which == 1 ? 1.0 / sqrt(value) : 1.0 / value;
            const double *v = vectors + k * D;
            for (int64_t i = 0; settled && i < D; i++) add_scaled_f64(trial + i * D, factor * v[i], v, D);
        }
    }
}

EXPORTED int64_t KERNEL(powers_of_moment)(int64_t dimension, const double *moment, double *trials) {
    int64_t square = dimension * dimension;
    double *room = ROOM(double, 2 * square + dimension + EIGEN_ROOM(dimension));
    if (!room) return NO_MEMORY;
    memcpy(room, moment, (size_t)square * sizeof(double));
    powers_of(room, dimension, trials, room + square);
    free(room);
    return 0;
}

/* See go_inside; V is shrunk in place. */
EXPORTED int64_t KERNEL(shrink_inside)(int64_t dimension, int64_t count, const double *W, double ridge, double slack,
                                       double *V, double *weights) {
    if (dimension < 1) return NO_FIT;
    Columns c;
    double *room = ROOM(double, dimension + EIGEN_ROOM(dimension));
    bool got = prepare(&c, W, dimension, count) && room;
    if (got) go_inside(&c, ridge, slack, V, weights, room, room + dimension);
    let_go(&c), free(room);
    return got ? 0 : NO_MEMORY;
}

/* See take_step; `change` receives that of the weights, and the length of the step is returned. */
EXPORTED double KERNEL(step_along)(int64_t dimension, int64_t count, const double *V, const double *W,
                                   const double *weights, const double *z, const double *towards, const double *away,
                                   double *dV, double *change) {
    Columns c;
    double *room = ROOM(double, 4 * count), length = 0.0;
    bool got = prepare(&c, W, dimension, count) && room;
    if (got) {
        Ahead a = {change, room, room + count, room + 2 * count, room + 3 * count};
        length = take_step(&c, &a, V, weights, z, towards, away, dV);
    }
    let_go(&c), free(room);
    return got ? length : (double)NO_MEMORY;
}

/* The t at which the first of these columns meets ‖(V + t dV)w‖ = 1. */
EXPORTED double KERNEL(first_reached)(int64_t dimension, int64_t count, const double *V, const double *dV,
                                      const double *W) {
    Columns c;
    double *room = ROOM(double, 2 * count), first = INFINITY;
    bool got = prepare(&c, W, dimension, count) && room;
    if (got) {
        look_ahead(&c, V, dV, room, room + count);
        lengths_of(&c, V, c.lengths);
        for (int64_t p = 0; p < count; p++)
            first = smaller(first, reach(room[p], room[count + p], 1.0 - c.lengths[p]));
    }
    let_go(&c), free(room);
    return got ? first : (double)NO_MEMORY;
}

/* A feasible V: that power of the second moment whose value is the best. `room` as for powers_of, and for the trials. */
static void begin(const Columns *c, double ridge, double *V, double *weights, double *room) {
    int64_t D = c->dimension, square = D * D;
    double *trials = room + D * (D + 1) + EIGEN_ROOM(D), best = -INFINITY;
    moment(c, NULL, 0.0, c->square);
    for (int64_t i = 0; i < square; i++) c->square[i] /= (double)c->count;
    powers_of(c->square, D, trials, room);
    for (int64_t which = 0; which < POWERS; which++) {
        double *trial = trials + which * square;
        lengths_of(c, trial, c->lengths);
        double longest = sqrt(largest_of(c->lengths, c->count));
        for (int64_t i = 0; i < square; i++) trial[i] /= longest;
        double value = trace(trial, D);
        if (value > best || which == 0) best = value, memcpy(V, trial, (size_t)square * sizeof(double));
    }
    go_inside(c, ridge, HALF, V, weights, room, room + D);
}

/* The path of columns that all take part, from V and weights if it has `begun`, or else from its beginning, to a relative
   gap of `tol` or as far as precision goes. V and weights become those of the least gap, `certificate` their objective and
   gap; `history` receives the objective after each step. Returns the steps. */
EXPORTED int64_t KERNEL(path_of_all)(int64_t dimension, int64_t count, int64_t steps, const double *W, double ridge,
                                     double tol, int64_t begun, double shortest, double no_slack, double *V,
                                     double *weights, double *history, double *certificate) {
    if (dimension < 1) return NO_FIT;
    Columns c;
    Equations e;
    int64_t square = dimension * dimension, n = count, taken = 0;
    double *room = ROOM(double, (5 + POWERS) * square + dimension + EIGEN_ROOM(dimension) + 8 * n);
    bool got = prepare(&c, W, dimension, count), both = prepare_equations(&e, dimension);
    if (got && both && room) {
        double *towards = room, *away = towards + square, *dV = away + square, *best_V = dV + square;
        double *z = best_V + square, *best_weights = z + n, *curvature = best_weights + n;
        Ahead a = {curvature + n, curvature + 2 * n, curvature + 3 * n, curvature, curvature + 4 * n};
        double *pull = curvature + 4 * n, least = INFINITY, best = INFINITY;
        if (!begun) begin(&c, ridge, V, weights, curvature + 5 * n);
        memcpy(best_V, V, (size_t)square * sizeof(double));
        memcpy(best_weights, weights, (size_t)n * sizeof(double));
        lengths_of(&c, V, z);
        for (int64_t p = 0; p < n; p++) z[p] = 1.0 - z[p];
        moment(&c, weights, ridge, c.square);
        while (taken < steps) {
            for (int64_t p = 0; p < n; p++) curvature[p] = 2.0 * weights[p] / z[p], pull[p] = 1.0 / z[p];
            if (!solve_equations(&e, &c, V, c.square, curvature, pull, ridge, towards, away)) break;
            double length = take_step(&c, &a, V, weights, z, towards, away, dV);
            add_scaled_f64(V, length, dV, square);
            add_scaled_f64(weights, length, a.change, n);
            lengths_of(&c, V, z);
            for (int64_t p = 0; p < n; p++) z[p] = 1.0 - z[p];
            double slack = least_of(z, n);
            if (length <= shortest || slack <= 0.0) break; /* at the boundary to within round-off */
            double objective = history[taken++] = primal(&c, weights, ridge);
            double gap = larger(0.0, 1.0 - dual(V, dimension, ridge) / objective);
            if (gap < best) {
                memcpy(best_V, V, (size_t)square * sizeof(double));
                memcpy(best_weights, weights, (size_t)n * sizeof(double));
                least = objective, best = gap;
            }
            if (gap <= tol || slack <= no_slack) break;
        }
        memcpy(V, best_V, (size_t)square * sizeof(double));
        memcpy(weights, best_weights, (size_t)n * sizeof(double));
        certificate[0] = least, certificate[1] = best;
    }
    bool whole = got && both && room;
    let_go(&c), let_go_equations(&e), free(room);
    return whole ? taken : NO_MEMORY;
}
