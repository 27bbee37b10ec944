/* Weights of concepts that grow with the items: a quadratic between bounds, of which only those rows are ever made
   whose coordinates move. */
#include "kernels.h"

#define SWEEPS 500
/* a sweep is the last if no step is longer than this share of the largest weight */
#define TOLERANCE 1e-7

/* H = (S̄ᵀS̄)^∘2 if `squared`, or factor·S̄ᵀS̄ + tilted·tilt tiltᵀ; S̄ᵀS̄ = counts − sizes sizesᵀ/n */
typedef struct {
    int64_t m;
    const double *counts, *sizes, *tilt;
    double n, factor, tilted;
    bool squared;
} Curvature;

/* slope += step·(row j of H) */
static inline void add_row(const Curvature *H, double *restrict slope, double step, int64_t j) {
    const double *counts = H->counts + j * H->m, *sizes = H->sizes, *tilt = H->tilt;
    double share = sizes[j] / H->n, lean = H->tilted * tilt[j], factor = H->factor;
    if (H->squared) {
        for (int64_t i = 0; i < H->m; i++) {
            double overlap = counts[i] - share * sizes[i];
            slope[i] += step * overlap * overlap;
        }
    } else {
        for (int64_t i = 0; i < H->m; i++)
            slope[i] += step * (factor * (counts[i] - share * sizes[i]) + lean * tilt[i]);
    }
}

/* Minimise ½zᵀHz + qᵀz over 0 ≤ z ≤ upper by coordinate descent from z, in place; returns the sweeps.

   The start is the solution without the new item, so few coordinates move; the next fit corrects what is left. */
EXPORTED int64_t KERNEL(box_descent)(int64_t m, const double *counts, const double *sizes, int64_t n, int64_t squared,
                                     double factor, double tilted, const double *tilt, const double *q,
                                     const double *upper, double *z) {
    const Curvature H = {m, counts, sizes, tilt, (double)n, factor, tilted, squared};
    double *slope = ROOM(double, 2 * m);
    if (!slope) return NO_MEMORY;
    double *curvature = slope + m;
    memcpy(slope, q, (size_t)m * sizeof(double));
    for (int64_t j = 0; j < m; j++) {
        double overlap = counts[j * m + j] - sizes[j] * sizes[j] / H.n;
        curvature[j] = squared ? overlap * overlap : factor * overlap + tilted * tilt[j] * tilt[j];
        if (z[j] != 0.0) add_row(&H, slope, z[j], j);
    }
    int64_t sweep = 0;
    for (bool moving = true; moving && sweep < SWEEPS; sweep++) {
        double largest = 0.0, top = 0.0;
        for (int64_t j = 0; j < m; j++) {
            if (curvature[j] <= 0.0) continue;
            double value = smaller(larger(z[j] - slope[j] / curvature[j], 0.0), upper[j]), step = value - z[j];
            if (step != 0.0) {
                z[j] = value;
                add_row(&H, slope, step, j);
                largest = larger(largest, fabs(step));
            }
            top = larger(top, value);
        }
        moving = !(largest <= TOLERANCE * top);
    }
    free(slope);
    return sweep;
}
