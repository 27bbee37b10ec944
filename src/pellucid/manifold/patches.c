/* Patches of images. */
#include "kernels.h"
#include "unit_length.h"

/* differences of pixels from 0 to 1 that are none */
#define ROUNDING 1e-6f

/* Mean of every c-th of n numbers, which may have been added up from so many. */
static inline float mean_of(const float *numbers, int64_t n, int64_t c, int64_t so_many) {
    float sums[4] = {0};
    int64_t p = 0;
    for (; p + 3 * c < n; p += 4 * c)
        for (int l = 0; l < 4; l++) sums[l] += numbers[p + l * c];
    for (; p < n; p += c) sums[0] += numbers[p];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / (float)so_many;
}

/* What is left of a number; a flat patch leaves nothing but rounding, which whitening would blow up. */
static inline float rest_of(float number, float mean) {
    float rest = number - mean;
    return fabsf(rest) > ROUNDING ? rest : 0.0f;
}

/* Take the mean in each of c channels out of a patch of size · size pixels; `means` has room for a line of it. */
static void take_out_means(float *patch, int64_t size, int64_t c, float *means) {
    int64_t pixels = size * size, wide = size * c;
    if (c == 1) {
        float mean = mean_of(patch, pixels, 1, pixels);
        for (int64_t p = 0; p < pixels; p++) patch[p] = rest_of(patch[p], mean);
        return;
    }
    memcpy(means, patch, (size_t)wide * sizeof *means);
    for (int64_t y = 1; y < size; y++)
        for (int64_t p = 0; p < wide; p++) means[p] += patch[y * wide + p];
    for (int64_t k = 0; k < c; k++) means[k] = mean_of(means + k, wide - k, c, pixels);
    for (int64_t p = c; p < wide; p++) means[p] = means[p - c];
    for (int64_t y = 0; y < size; y++)
        for (int64_t p = 0; p < wide; p++) patch[y * wide + p] = rest_of(patch[y * wide + p], means[p]);
}

/* Patches (n · rows · columns, size · size · c) of images (n, h, w, c), their mean in each channel taken out if so
   asked. */
EXPORTED int64_t KERNEL(cut_patches)(int64_t n, int64_t h, int64_t w, int64_t c, int64_t patches, int64_t d,
                                     const float *images, int64_t size, int64_t own_mean, float *out) {
    if (size < 1 || size > smaller_int(h, w) || d != size * size * c) return NO_FIT;
    if (patches != n * (h - size + 1) * (w - size + 1)) return NO_FIT;
    int64_t wide = size * c;
    float *means = ROOM(float, wide);
    if (!means) return NO_MEMORY;
    for (int64_t image = 0; image < n; image++)
        for (int64_t i = 0; i + size <= h; i++)
            for (int64_t j = 0; j + size <= w; j++, out += d) {
                const float *corner = images + ((image * h + i) * w + j) * c;
                for (int64_t y = 0; y < size; y++)
                    for (int64_t p = 0; p < wide; p++) out[y * wide + p] = corner[y * w * c + p];
                if (own_mean) take_out_means(out, size, c, means);
            }
    free(means);
    return 0;
}

/* Rows to unit length where they have the contrast, which is noted; the others become zeros. */
EXPORTED void KERNEL(unit_or_blank)(int64_t n, int64_t d, float *rows, double contrast, uint8_t *present) {
    for (int64_t i = 0; i < n; i++) {
        double length = sqrt(square_of(rows + i * d, d));
        present[i] = length >= contrast;
        scale(rows + i * d, d, present[i] ? (float)(1.0 / length) : 0.0f);
    }
}
