/* Bits of new items. */
#include "kernels.h"

/* one sweep is exact for orthogonal components; the limit only guards against a hang */
#define SWEEPS 50

/* slope −= step·row, of lanes of four */
static inline void subtract_row(double *slope, double step, const double *row, int64_t wide) {
    for (int64_t k = 0; k < wide; k += 4) {
        lanes_f64 left = load_f64(slope + k) - step * load_f64(row + k);
        memcpy(slope + k, &left, sizeof left);
    }
}

/* For every row, bits that minimise ‖x − sW‖², by flipping one at a time; G = WWᵀ, scores = xWᵀ.

   Starts at `bits` and overwrites them. For orthogonal W one sweep is exact. */
EXPORTED int64_t KERNEL(nearest_bits)(int64_t n, int64_t b, const double *G, const double *scores, uint8_t *bits) {
    int64_t wide = (b + 3) / 4 * 4; /* rows of G that end with a lane: there are thousands of short ones to subtract */
    double *slope = ROOM(double, (b + 2) * wide);
    if (!slope) return NO_MEMORY;
    double *half = slope + wide, *rows = half + wide;
    memset(slope, 0, (size_t)((b + 2) * wide) * sizeof(double));
    for (int64_t k = 0; k < b; k++) {
        memcpy(rows + k * wide, G + k * b, (size_t)b * sizeof(double));
        half[k] = 0.5 * G[k * b + k];
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t *own = bits + i * b;
        memcpy(slope, scores + i * b, (size_t)b * sizeof(double));
        for (int64_t k = 0; k < b; k++)
            if (own[k]) subtract_row(slope, 1.0, rows + k * wide, wide);
        bool flipped = true;
        for (int64_t sweep = 0; flipped && sweep < SWEEPS; sweep++) {
            flipped = false;
            for (int64_t j = 0; j < b; j++) {
                /* setting bit j adds G_jj/2 − slope_j to half the loss; clearing it, G_jj/2 + slope_j */
                double step = own[j] ? -1.0 : 1.0;
                if (half[j] - step * slope[j] < 0.0) {
                    own[j] = !own[j];
                    subtract_row(slope, step, rows + j * wide, wide);
                    flipped = true;
                }
            }
        }
    }
    free(slope);
    return 0;
}
