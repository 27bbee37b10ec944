/* One epoch of GloVe's AdaGrad over the runs of a graph's entries; see glove.py. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* AdaGrad of n parameters */
static void descend(float *restrict w, float *restrict squares, const float *restrict gradient, float rate, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        w[j] -= rate * gradient[j] / sqrtf(squares[j]);
        squares[j] += gradient[j] * gradient[j];
    }
}

double epoch(int64_t step, int64_t size, int64_t n, const int64_t *rows, const int64_t *first, const int64_t *last,
             const int32_t *columns, const float *counts, double ceiling, double power, float *W, float *C, float *W2,
             float *C2, float rate) {
    double total = 0.0;
    float *to_w = malloc((size_t)(2 * (n + 1)) * sizeof(float)), *to_c = to_w + n + 1;
    if (!to_w) return -1.0;
    for (int64_t i = 0, run = 0; i < size; i++) {
        run = (run + step) % size;
        float *w = W + rows[run] * (n + 1), *w2 = W2 + rows[run] * (n + 1);
        for (int64_t k = first[run]; k < last[run]; k++) {
            float *c = C + columns[k] * (int64_t)(n + 1), *c2 = C2 + columns[k] * (int64_t)(n + 1);
            float product = 0.0f;
            for (int64_t j = 0; j < n; j++) product += w[j] * c[j];
            float error = w[n] + c[n] + product - logf(counts[k]);
            float weight = counts[k] >= ceiling ? 1.0f : (float)pow(counts[k] / ceiling, power);
            float scaled = weight * error;
            total += (double)weight * error * error;
            for (int64_t j = 0; j < n; j++) to_w[j] = scaled * c[j], to_c[j] = scaled * w[j];
            to_w[n] = to_c[n] = scaled;
            descend(w, w2, to_w, rate, n + 1);
            descend(c, c2, to_c, rate, n + 1);
        }
    }
    free(to_w);
    return total;
}
