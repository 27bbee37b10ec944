/* A Gram matrix as the kernels want it. */
#include "kernels.h"

/* G + ρI with its diagonal scaled to ones, the lengths it was divided by, and the least and the largest entry of the
   diagonal of G (which for a Gram matrix bounds the others; NaN counts as largest). A kernel, since a handful of array
   operations would take longer than the rest of a small solve. */
EXPORTED void KERNEL(to_unit_diagonal)(int64_t m, const double *G, double ridge, double *scaled, double *lengths,
                                       double *bounds) {
    double shortest = INFINITY, longest = 0.0;
    for (int64_t i = 0; i < m; i++) {
        double entry = G[i * m + i], length = sqrt(entry + ridge);
        shortest = smaller(shortest, entry);
        if (!(entry <= longest)) longest = entry;
        lengths[i] = length == 0.0 ? 1.0 : length; /* the caller refuses such a G */
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) scaled[i * m + j] = G[i * m + j] / lengths[i] / lengths[j];
        scaled[i * m + i] = 1.0;
    }
    bounds[0] = shortest, bounds[1] = longest;
}
