/* A quadratic on the unit sphere whose eigenvectors are known. */
#include "secular.h"
#include "kernels.h"

/* a part of b, of a problem whose largest number is 1, that no residual in float64 can see */
#define NEGLIGIBLE 1e-20

/* argmin dᵀHd − 2bᵀd over ‖d‖ = 1 from the eigenvalues of H, ascending, and its eigenvectors (columns); found is the
   multiplier μ, the objective, and ‖(H + μI)d − b‖. The largest number in H and b is 1. */
EXPORTED int64_t KERNEL(sphere_minimum)(int64_t n, const double *H, const double *b, const double *values,
                                        const double *vectors, double *point, double found[3]) {
    double *gaps = ROOM(double, 3 * n);
    if (!gaps) return NO_MEMORY;
    double *beta = gaps + n, *d = gaps + 2 * n;
    for (int64_t i = 0; i < n; i++) beta[i] = 0.0;
    for (int64_t i = 0; i < n; i++) add_scaled_f64(beta, b[i], vectors + i * n, n);
    for (int64_t i = 0; i < n; i++) {
        gaps[i] = values[i] - values[0];
        if (fabs(beta[i]) < NEGLIGIBLE) beta[i] = 0.0;
    }
    double mu = secular_minimum(gaps, beta, n, d) - (n ? values[0] : 0.0);
    for (int64_t i = 0; i < n; i++) point[i] = dot_f64(vectors + i * n, d, n);
    double length = sqrt(dot_f64(point, point, n)), along = 0.0, left = 0.0;
    for (int64_t i = 0; i < n; i++) point[i] /= length;
    for (int64_t i = 0; i < n; i++) {
        double image = dot_f64(H + i * n, point, n), gap = image + mu * point[i] - b[i];
        along += point[i] * image;
        left += gap * gap;
    }
    found[0] = mu, found[1] = along - 2.0 * dot_f64(b, point, n), found[2] = sqrt(left);
    free(gaps);
    return 0;
}
