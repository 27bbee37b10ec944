/* The secular equation of a quadratic on the unit sphere, Σ βᵢ²/(gapᵢ + t)² = 1 for t ≥ 0: gaps are the eigenvalues
   above the lowest, β the linear term in the eigenvectors. To work with t = μ + λ_min keeps the digits of a tiny t. */
#ifndef PELLUCID_SECULAR_H
#define PELLUCID_SECULAR_H

#include "lanes.h"

/* false position settles in a few turns; the limit ends what is not finite */
#define ROOT_TURNS 300
#define ROOT_SETTLED 1e-15

/* 1/‖d(t)‖ for d = β/(gaps + t); at a pole it is 0. */
static inline double inverse_length(const double *gaps, const double *beta, int64_t n, double t) {
    typedef int64_t masks __attribute__((vector_size(32)));
    lanes_f64 one = {0}, two = {0};
    double total = 0.0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        lanes_f64 a = load_f64(beta + i), b = load_f64(beta + i + 4);
        lanes_f64 c = a / (load_f64(gaps + i) + t), d = b / (load_f64(gaps + i + 4) + t);
        c = (lanes_f64)((masks)c & (masks)(a != 0.0)); /* where β is 0 even a pole leaves nothing */
        d = (lanes_f64)((masks)d & (masks)(b != 0.0));
        one += c * c;
        two += d * d;
    }
    for (; i < n; i++)
        if (beta[i] != 0.0) {
            double coordinate = beta[i] / (gaps[i] + t);
            total += coordinate * coordinate;
        }
    total += total_f64(one + two);
    return total > 0.0 ? 1.0 / sqrt(total) : INFINITY;
}

/* The t ≥ 0 that solves the equation, or 0 in the hard case, where the sum at t = 0 is below 1. */
static inline double secular_root(const double *gaps, const double *beta, int64_t n) {
    double low = 0.0, high = sqrt(dot_f64(beta, beta, n)); /* ‖d(t)‖ ≤ ‖β‖/t, so the root is at most ‖β‖ */
    double at_low = inverse_length(gaps, beta, n, low) - 1.0, at_high = inverse_length(gaps, beta, n, high) - 1.0;
    if (at_low >= 0.0) return 0.0;
    double t = high;
    /* 1/‖d(t)‖ is nearly linear: false position, an end that stays is halved */
    for (int turn = 0; turn < ROOT_TURNS; turn++) {
        if (fabs(at_high) <= ROOT_SETTLED || high - low <= ROOT_SETTLED * high) break;
        t = (low * at_high - high * at_low) / (at_high - at_low);
        double here = inverse_length(gaps, beta, n, t) - 1.0;
        if (fabs(here) <= ROOT_SETTLED) break;
        if (here > 0.0) high = t, at_high = here, at_low *= 0.5;
        else low = t, at_low = here, at_high *= 0.5;
    }
    return t;
}

/* The minimiser d = β/(gaps + t), filled up to unit length along the lowest eigenvector in the hard case; returns t. */
static inline double secular_minimum(const double *gaps, const double *beta, int64_t n, double *d) {
    double t = secular_root(gaps, beta, n), rest = 0.0;
    for (int64_t i = 0; i < n; i++) {
        d[i] = beta[i] != 0.0 && gaps[i] + t > 0.0 ? beta[i] / (gaps[i] + t) : 0.0;
        if (i > 0) rest += d[i] * d[i];
    }
    if (t == 0.0 && n > 0) d[0] = sqrt(larger(0.0, 1.0 - rest));
    return t;
}

#endif
