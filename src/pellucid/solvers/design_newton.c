/* One solution of Newton's equations, where the path or the polish is followed step by step. */
#include "design_newton.h"
#include "kernels.h"

/* See solve_equations; returns whether they could be solved. */
EXPORTED int64_t KERNEL(newton_directions)(int64_t dimension, int64_t count, const double *V, const double *W,
                                           const double *weights, const double *curvature, const double *pull,
                                           double ridge, double *towards, double *away) {
    Columns c;
    Equations e;
    bool got = prepare(&c, W, dimension, count), both = prepare_equations(&e, dimension), solved = false;
    if (got && both) {
        moment(&c, weights, ridge, c.square);
        solved = solve_equations(&e, &c, V, c.square, curvature, pull, ridge, towards, away);
    }
    let_go(&c), let_go_equations(&e);
    return got && both ? solved : NO_MEMORY;
}

/* See primal. */
EXPORTED double KERNEL(primal_value)(int64_t dimension, int64_t count, const double *W, const double *weights,
                                     double ridge) {
    Columns c;
    if (!prepare(&c, W, dimension, count)) return (double)NO_MEMORY;
    double value = primal(&c, weights, ridge);
    let_go(&c);
    return value;
}
