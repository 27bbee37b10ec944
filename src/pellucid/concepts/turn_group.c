/* Some atoms to their optimum, one after the other (Eq. 15). */
#include "kernels.h"

/* b_m ← unit(rest_m + own_mm b_m) for every atom that is used, own_mm > 0, where rest = AᵀX − AᵀA·B of these atoms is
   kept up to date, and so no longer holds for b_m itself; an atom without a direction stays. Returns the longest way
   that one moved. */
EXPORTED double KERNEL(turn_group)(int64_t k, int64_t d, const double *own, double *rest, double *atoms) {
    double longest = 0.0;
    for (int64_t m = 0; m < k; m++) {
        double weight = own[m * k + m], square = 0.0, way = 0.0;
        double *move = rest + m * d, *atom = atoms + m * d;
        if (!(weight > 0)) continue;
        for (int64_t i = 0; i < d; i++) {
            double value = move[i] + weight * atom[i];
            square += value * value;
        }
        if (!(square > 0)) continue;
        double length = sqrt(square);
        for (int64_t i = 0; i < d; i++) {
            move[i] = (move[i] + weight * atom[i]) / length - atom[i]; /* nobody asks for this row of rest again */
            atom[i] += move[i];
            way += move[i] * move[i];
        }
        for (int64_t j = m + 1; j < k; j++)
            if (own[j * k + m] != 0.0) add_scaled_f64(rest + j * d, -own[j * k + m], move, d);
        longest = larger(longest, sqrt(way));
    }
    return longest;
}
