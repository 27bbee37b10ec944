/* Springs between neighbours and a push between random pairs: gradient descent on UMAP's objective. */
#include "kernels.h"

/* random points that an edge pushes away */
#define PUSHES 5
/* 1/(1 + A·d^(2B)) falls from 1 as exp(0.1 − d) does: points come no closer than about a tenth */
#define CURVE_A 1.577
#define CURVE_B 0.8951
/* what keeps the push of points that nearly coincide finite, and how far one goes at most */
#define SOFTENED 0.001
#define FARTHEST 4.0
#define SEED UINT64_C(88172645463325252)

static double clipped(double value) { return smaller(FARTHEST, larger(-FARTHEST, value)); }

static uint64_t xorshift(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ (state << 17);
}

/* The neighbours i and j go towards each other. */
static void pull(double *i, double *j, double step) {
    double dx = i[0] - j[0], dy = i[1] - j[1], squared = dx * dx + dy * dy;
    if (!(squared > 0.0)) return;
    double powered = pow(squared, CURVE_B);
    double strength = -2.0 * CURVE_B * powered / (squared * (1.0 / CURVE_A + powered));
    double x = clipped(strength * dx) * step, y = clipped(strength * dy) * step;
    i[0] += x, i[1] += y;
    j[0] -= x, j[1] -= y;
}

/* The point at x goes away from another one. */
static inline void push(double x[2], const double *other, double step) {
    double dx = x[0] - other[0], dy = x[1] - other[1], squared = dx * dx + dy * dy;
    if (squared == 0.0) return;
    double strength = 2.0 * CURVE_B / CURVE_A / ((SOFTENED + squared) * (1.0 / CURVE_A + pow(squared, CURVE_B)));
    x[0] += clipped(strength * dx) * step;
    x[1] += clipped(strength * dy) * step;
}

/* Epochs `first` to `last` of so many in all, with steps that shrink to nothing. An edge takes part in its share of
   them: it is `due`. One whose end is no point is passed over. */
EXPORTED void KERNEL(pull_and_push)(int64_t n, int64_t edges, double *places, const int64_t *head, const int64_t *tail,
                                    const double *share, double *due, int64_t first, int64_t last, int64_t epochs) {
    uint64_t state = SEED + (uint64_t)first, points = (uint64_t)n;
    for (int64_t epoch = first; epoch < last; epoch++) {
        double step = 1.0 - (double)epoch / (double)epochs, after = (double)epoch + 1.0;
        for (int64_t e = 0; e < edges; e++) {
            if (due[e] > after) continue;
            if ((uint64_t)head[e] >= points || (uint64_t)tail[e] >= points) continue;
            due[e] += 1.0 / share[e];
            double *i = places + 2 * head[e];
            pull(i, places + 2 * tail[e], step);
            double x[2] = {i[0], i[1]}; /* kept apart, since a write to memory could be to another's place */
            for (int k = 0; k < PUSHES; k++) {
                state = xorshift(state);
                const double *other = places + 2 * (state % points);
                if (other != i) push(x, other, step);
            }
            i[0] = x[0], i[1] = x[1];
        }
    }
}
