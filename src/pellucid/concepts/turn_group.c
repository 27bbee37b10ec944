/* The atoms of one concept to their optimum, one after the other (Eq. 15). */
#include "kernels.h"

/* b_m ← unit(rest_m + own_mm b_m) for every atom that is used, own_mm > 0, where rest = AᵀX − AᵀA·B of these atoms is
   kept up to date; an atom without a direction stays. Returns the longest way that one moved. */
EXPORTED double KERNEL(turn_group)(int64_t k, int64_t d, const double *own, double *rest, double *atoms) {
    double longest = 0.0;
    for (int64_t m = 0; m < k; m++) {
        double weight = own[m * k + m], square = 0.0, way = 0.0;
        double *mine = rest + m * d, *atom = atoms + m * d;
        if (!(weight > 0)) continue;
        for (int64_t i = 0; i < d; i++) {
            double value = mine[i] + weight * atom[i];
            square += value * value;
        }
        if (!(square > 0)) continue;
        double length = sqrt(square);
        for (int64_t i = 0; i < d; i++) {
            double move = (mine[i] + weight * atom[i]) / length - atom[i];
            atom[i] += move;
            way += move * move;
            for (int64_t j = 0; j < k; j++) rest[j * d + i] -= own[j * k + m] * move;
        }
        longest = larger(longest, sqrt(way));
    }
    return longest;
}
