/* A small convex quadratic with an ℓ1 term and bounds, under nnls, lasso and box_qp:

       minimise  ½ aᵀGa − cᵀa + Σ αⱼ|aⱼ|   subject to  lower ≤ a ≤ upper,   G with unit diagonal   (w = c − Ga)

   Coordinate descent finds roughly which coordinates are free; a primal active-set method with an updated Cholesky
   factor then finishes exactly, also where G is singular. Everything is float64 and works in place. */
#ifndef PELLUCID_ACTIVE_SET_H
#define PELLUCID_ACTIVE_SET_H

#include "cholesky.h"

/* coordinate descent hands over to the active set after this many sweeps at the latest */
#define SWEEPS 40
/* with more free coordinates than this, sweeps go on while each is shorter than the last by this share */
#define MANY 128
#define QUICK 0.5
/* a slope below this share of its terms is round-off */
#define LEVEL_SLOPE 1e-6
/* a slide along a flat direction may change the fit by this share at most */
#define BLIND 1e-5

/* The quadratic over `size` coordinates and the point where it stands; `forced` is the largest coefficient that the
   bounds force. */
typedef struct {
    int64_t size;
    const double *G;
    double *c, *w, *a, *sign, *alpha, *lower, *upper;
    double forced;
} Quadratic;

/* The free coordinates and the factor of their part of G, with room for `rank` of them; `direction` and `free_` have one
   place more. */
typedef struct {
    int64_t rank, count;
    double *L, *direction;
    int64_t *free_, *waiting;
} FreeSet;

static inline void subtract_row(const Quadratic *q, double factor, int64_t j) {
    add_scaled_f64(q->w, -factor, q->G + j * q->size, q->size);
}

/* Minimiser over one coordinate, the others fixed. */
static inline double best_coordinate(const Quadratic *q, int64_t j) {
    double target = q->a[j] + q->w[j], alpha = q->alpha[j];
    if (alpha > 0.0) target = target > alpha ? target - alpha : target < -alpha ? target + alpha : 0.0;
    return smaller(larger(target, q->lower[j]), q->upper[j]);
}

/* Length against which residuals are measured: the largest correlation, of c or of the current fit, or the largest
   coefficient that the bounds force (without which there may be nothing but round-off). */
static inline double data_scale(const Quadratic *q) {
    double scale = q->forced;
    for (int64_t j = 0; j < q->size; j++) scale = larger(scale, larger(fabs(q->c[j]), fabs(q->c[j] - q->w[j])));
    return scale > 0.0 ? scale : 1.0;
}

/* Largest distance of a coordinate from its own minimiser, as a share of the data (0 exactly at an optimum). */
static inline double kkt_residual(const Quadratic *q) {
    double worst = 0.0;
    for (int64_t j = 0; j < q->size; j++) {
        double gap = fabs(best_coordinate(q, j) - q->a[j]);
        if (!(gap <= worst)) worst = gap; /* NaN counts as worst */
    }
    return worst / data_scale(q);
}

/* w = c − Ga from scratch, so that round-off does not pile up. */
static inline void refresh(const Quadratic *q) {
    memcpy(q->w, q->c, (size_t)q->size * sizeof(double));
    for (int64_t j = 0; j < q->size; j++)
        if (q->a[j] != 0.0) subtract_row(q, q->a[j], j);
}

static inline bool is_free(const Quadratic *q, int64_t j, double value) {
    return q->lower[j] < value && value < q->upper[j] && (q->alpha[j] == 0.0 || value != 0.0);
}

/* Coordinate descent until a sweep changes no coordinate's freedom (or nothing by more than `settled`); with many free,
   for which a factor is dear, as long as sweeps get shorter quickly. Returns the sweeps. */
static inline int64_t descend(const Quadratic *q, int64_t sweeps, double settled) {
    double before = INFINITY;
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        bool changed = false;
        double largest = 0.0;
        int64_t n_free = 0;
        for (int64_t j = 0; j < q->size; j++) {
            double old = q->a[j], new = best_coordinate(q, j);
            bool now = is_free(q, j, new);
            if (new != old) {
                q->a[j] = new;
                subtract_row(q, new - old, j);
                largest = larger(largest, fabs(new - old));
                changed |= is_free(q, j, old) != now;
            }
            n_free += now;
        }
        if (largest <= settled || (!changed && (n_free <= MANY || largest > QUICK * before))) return sweep + 1;
        before = largest;
    }
    return sweeps;
}

/* Where the smooth piece that holds coordinate j ends in the direction of `step`: a bound, or zero if α > 0. */
static inline double piece_end(const Quadratic *q, int64_t j, double step) {
    if (step > 0.0) return q->alpha[j] > 0.0 && q->sign[j] < 0.0 ? smaller(q->upper[j], 0.0) : q->upper[j];
    return q->alpha[j] > 0.0 && q->sign[j] > 0.0 ? larger(q->lower[j], 0.0) : q->lower[j];
}

/* How far, `longest` at most, one can go along way·direction over the first n free coordinates before someone's piece
   ends; `blocker` is whose position that is (-1: nobody's). */
static inline double reach(const Quadratic *q, const FreeSet *f, int64_t n, double way, double longest,
                           int64_t *blocker) {
    double step = longest;
    *blocker = -1;
    for (int64_t i = 0; i < n; i++) {
        double change = way * f->direction[i];
        if (change == 0.0) continue;
        int64_t j = f->free_[i];
        double left = piece_end(q, j, change) - q->a[j];
        if (fabs(left) < step * fabs(change)) step = fabs(left / change), *blocker = i;
    }
    return step;
}

/* Go by step·way·direction over the first n free coordinates; `blocker` lands on the end of its piece exactly (step may
   be 0). */
static inline void move(const Quadratic *q, const FreeSet *f, int64_t n, double way, double step, int64_t blocker) {
    for (int64_t i = 0; i < n; i++) {
        int64_t j = f->free_[i];
        double new = q->a[j] + step * way * f->direction[i];
        if (i == blocker) new = piece_end(q, j, way * f->direction[i]);
        if (new != q->a[j]) {
            subtract_row(q, new - q->a[j], j);
            q->a[j] = new;
        }
    }
}

/* Slope of the terms that are linear in coordinate j on its piece: the ℓ1 term, or −c where there is none. */
static inline double linear_term(const Quadratic *q, int64_t j) {
    return q->alpha[j] > 0.0 ? q->alpha[j] * q->sign[j] : -q->c[j];
}

/* Make coordinate j free; `inward` says which way it enters from its bound, 0 that it stands inside already.

   If j depends on the free ones, first slide along the flat direction until one of them (or j) reaches an end of its
   piece: downhill, or where it is level the way that makes the coefficients smaller. Returns whether j was dealt with. */
static inline bool include(const Quadratic *q, FreeSet *f, int64_t j, double inward) {
    double *direction = f->direction;
    while (!append(f->L, f->rank, f->free_, f->count, q->G, q->size, j, direction)) {
        /* moving j by 1 and the free ones by −z changes nothing but the linear terms; of these −cᵀa only if α is zero,
           for c comes from data then: it is constant along a direction in which the atoms cancel */
        int64_t n = f->count, blocker;
        double slope = linear_term(q, j), terms = fabs(slope), growth = q->sign[j], size = 1.0;
        for (int64_t i = 0; i < n; i++) {
            direction[i] = -direction[i];
            double change = direction[i] * linear_term(q, f->free_[i]);
            slope += change;
            terms += fabs(change);
            growth += direction[i] * q->sign[f->free_[i]];
            size += fabs(direction[i]);
        }
        direction[n] = 1.0;
        f->free_[n] = j;
        double noise = q->alpha[j] > 0.0 ? 0.0 : ROUND_OFF * size * data_scale(q); /* of the products in c */
        bool level = fabs(slope) <= larger(LEVEL_SLOPE * terms, noise);
        if (level && inward != 0.0) return false; /* nothing but round-off draws it in */
        double way = inward;
        if (inward == 0.0) way = (level ? growth < 0.0 : slope < 0.0) ? 1.0 : -1.0;
        double step = reach(q, f, n + 1, way, INFINITY, &blocker), most = BLIND * data_scale(q);
        /* endless, or so long that even this little curvature would spoil the fit */
        if (blocker < 0 || step * step * f->L[n * f->rank + n] > most * most) return false;
        move(q, f, n + 1, way, step, blocker);
        if (blocker == n) return true;
        delete_coordinate(f->L, f->rank, f->free_, n, blocker);
        f->count--;
    }
    f->count++;
    return true;
}

/* How fast the objective falls along the direction; over a step it falls by the mean of both ends' rates. */
static inline double descent(const Quadratic *q, const FreeSet *f) {
    double rate = 0.0;
    for (int64_t i = 0; i < f->count; i++) {
        int64_t j = f->free_[i];
        rate += f->direction[i] * (q->w[j] - q->alpha[j] * q->sign[j]);
    }
    return rate;
}

/* The free coordinates of a point, and the factor of as many of them as are independent. False if there are too many. */
static inline bool take_free(const Quadratic *q, FreeSet *f) {
    f->count = 0;
    for (int64_t j = 0; j < q->size; j++) {
        q->sign[j] = q->a[j] > 0.0 ? 1.0 : -1.0;
        if (is_free(q, j, q->a[j])) f->free_[f->count++] = j;
    }
    if (f->count > f->rank) return false;
    if (!factorise(f->L, f->rank, f->free_, f->count, q->G, q->size, SAFE_PIVOT)) {
        int64_t all = f->count;
        f->count = factorise_pivoted(f->L, f->rank, f->free_, all, q->G, q->size, f->direction);
        int64_t independent = f->count; /* the list of free ones changes while the others are taken in */
        for (int64_t i = independent; i < all; i++) f->waiting[i] = f->free_[i];
        for (int64_t i = independent; i < all; i++) include(q, f, f->waiting[i], 0.0);
    }
    return true;
}

/* Primal active set from a feasible point: exact steps on the free coordinates, then the worst violator in. Returns
   false if the factor has too little room to go on, true otherwise. */
static inline bool finish(const Quadratic *q, FreeSet *f, double tol, int64_t steps) {
    if (!take_free(q, f)) return false;
    bool refined = false, stuck = false;
    for (int64_t turn = 0; turn < steps; turn++) {
        double *direction = f->direction, before;
        for (int64_t i = 0; i < f->count; i++) {
            int64_t j = f->free_[i];
            direction[i] = q->w[j] - q->alpha[j] * q->sign[j];
        }
        forward_substitute(f->L, f->rank, f->count, direction);
        before = dot_f64(direction, direction, f->count); /* how fast the objective falls at first, gᵀ(LLᵀ)⁻¹g */
        back_substitute(f->L, f->rank, f->count, direction);
        int64_t blocker;
        double step = reach(q, f, f->count, 1.0, 1.0, &blocker);
        move(q, f, f->count, 1.0, step, blocker);
        double fall = 0.5 * step * (before + descent(q, f)), scale = data_scale(q);
        if (fall < 0.0 && fall < -ROUND_OFF * scale * scale) {
            /* the objective rose: the factor is too ill-conditioned for its steps to mean anything */
            move(q, f, f->count, -1.0, step, -1);
            return true;
        }
        if (blocker >= 0) {
            delete_coordinate(f->L, f->rank, f->free_, f->count--, blocker);
            refined = false;
            continue;
        }
        double worst = tol * scale, inside = 0.0;
        int64_t entering = -1;
        for (int64_t j = 0; j < q->size; j++) {
            double gap = fabs(best_coordinate(q, j) - q->a[j]);
            if (is_free(q, j, q->a[j])) inside = larger(inside, gap);
            else if (gap > worst) worst = gap, entering = j;
        }
        if (stuck) return true;
        if (entering < 0) {
            if (inside <= tol * scale || refined) return true;
            refined = true; /* one more exact step is iterative refinement; beyond it round-off rules */
            refresh(q);
            continue;
        }
        if (f->count == f->rank) return false;
        refined = false;
        q->sign[entering] = q->w[entering] > 0.0 ? 1.0 : -1.0;
        /* if not, round-off alone makes it look better inside: settle what has moved and stop */
        stuck = !include(q, f, entering, q->sign[entering]);
    }
    return true;
}

#endif
