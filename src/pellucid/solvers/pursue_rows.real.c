/* Greedy codes: one atom, or one group of atoms, after the other, all coefficients solved anew each time. */
#include "active_set.h"
#include "kernels.h"

/* greedy steps solve tiny problems, which the active set settles exactly; the limit only guards against a hang */
#define STEPS 10000
#define SETTLED 1e-12
/* a group that explains less than this of a row of unit size explains nothing */
#define NOTHING 1e-28

/* Solve over the coordinates index[0..size) from `start` (overwritten there); returns the energy explained. */
static double solve_over(const int64_t *index, int64_t size, const double *G, int64_t m, const double *right,
                         double *start, double lower, double *local, Quadratic *q, FreeSet *f) {
    q->size = size, q->G = local;
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < size; k++) local[i * size + k] = G[index[i] * m + index[k]];
        q->c[i] = right[index[i]], q->a[i] = start[index[i]];
        q->alpha[i] = 0.0, q->lower[i] = lower, q->upper[i] = INFINITY;
    }
    refresh(q);
    descend(q, SWEEPS, SETTLED);
    finish(q, f, SETTLED, STEPS);
    double energy = 0.0;
    for (int64_t i = 0; i < size; i++) {
        start[index[i]] = q->a[i];
        energy += q->a[i] * q->c[i];
    }
    return energy;
}

/* The group of atoms that explains most of what is left, -1 if none does; G has unit diagonal, group g holds
   members[offsets[g]..offsets[g + 1]). */
static int64_t best_group(int64_t n_groups, const int64_t *members, const int64_t *offsets, const bool *chosen,
                          const double *G, int64_t m, const double *w, double *trial, double lower, double *local,
                          Quadratic *q, FreeSet *f) {
    double best = NOTHING;
    int64_t winner = -1;
    for (int64_t g = 0; g < n_groups; g++) {
        int64_t count = offsets[g + 1] - offsets[g];
        if (chosen[g] || !count) continue;
        int64_t first = members[offsets[g]];
        double energy;
        if (count == 1) {
            energy = w[first] > 0.0 || lower < 0.0 ? w[first] * w[first] : 0.0;
        } else {
            for (int64_t i = 0; i < count; i++) trial[members[offsets[g] + i]] = 0.0;
            energy = solve_over(members + offsets[g], count, G, m, w, trial, lower, local, q, f);
        }
        if (energy > best) best = energy, winner = g;
    }
    return winner;
}

/* Whether the groups share out atoms that there are, and there is room for each. */
static bool groups_fit(int64_t m, int64_t n_groups, const int64_t *members, const int64_t *offsets, int64_t room) {
    bool fits = offsets[0] >= 0 && offsets[n_groups] <= m && room >= 0 && room <= m;
    for (int64_t g = 0; fits && g < n_groups; g++)
        fits = offsets[g] <= offsets[g + 1] && offsets[g + 1] - offsets[g] <= room;
    for (int64_t i = 0; fits && i < m; i++) fits = members[i] >= 0 && members[i] < m;
    return fits;
}

/* Greedy selection of `steps` groups for every row; `room` is the number of atoms that they can have. */
EXPORTED int64_t TYPED(pursue_rows)(int64_t n, int64_t m, int64_t n_groups, const REAL *C, const double *G,
                                    const double *lengths, const int64_t *members, const int64_t *offsets,
                                    int64_t steps, int64_t room, double lower, REAL *codes, double *kkt) {
    if (!groups_fit(m, n_groups, members, offsets, room)) return NO_FIT;
    double *own = ROOM(double, 4 * m), *rows = ROOM(double, 8 * (room + 1)), *squares = ROOM(double, 2 * room * room);
    int64_t *places = ROOM(int64_t, 3 * room + 1);
    bool *chosen = ROOM(bool, n_groups), got = own && rows && squares && places && chosen;
    double *c = own, *w = own + m, *a = own + 2 * m, *trial = own + 3 * m, *local = squares, *part[8];
    for (int k = 0; got && k < 8; k++) part[k] = rows + k * (room + 1);
    for (int64_t j = 0; got && j < m; j++) a[j] = 0.0;
    for (int64_t row = 0; got && row < n; row++) {
        int64_t *index = places, size = 0;
        FreeSet f = {room, 0, squares + room * room, part[7], places + room, places + 2 * room + 1};
        Quadratic q = {0, local, part[0], part[1], part[2], part[3], part[4], part[5], part[6], 0.0};
        Quadratic whole = {m, G, c, w, a, NULL, NULL, NULL, NULL, 0.0};
        double scale = 0.0;
        for (int64_t j = 0; j < m; j++) {
            c[j] = C[row * m + j] / lengths[j];
            scale = larger(scale, fabs(c[j]));
        }
        for (int64_t j = 0; j < m; j++) { /* a row of unit size, so that squares of tiny numbers do not vanish */
            if (scale > 0.0) c[j] /= scale;
            w[j] = c[j];
        }
        memset(chosen, 0, (size_t)n_groups * sizeof(bool));
        for (int64_t step = 0; step < steps; step++) {
            int64_t winner = best_group(n_groups, members, offsets, chosen, G, m, w, trial, lower, local, &q, &f);
            if (winner < 0 || size + offsets[winner + 1] - offsets[winner] > room) break;
            chosen[winner] = true;
            for (int64_t i = offsets[winner]; i < offsets[winner + 1]; i++) index[size++] = members[i];
            solve_over(index, size, G, m, c, a, lower, local, &q, &f);
            refresh(&whole);
        }
        bool fits = true;
        for (int64_t j = 0; j < m; j++) codes[row * m + j] = 0;
        for (int64_t i = 0; i < size; i++) { /* what is stored may be rounded to float32: certify that */
            int64_t j = index[i];
            REAL code = (REAL)(a[j] * scale / lengths[j]);
            codes[row * m + j] = code;
            fits = fits && isfinite(code);
            a[j] = code * lengths[j] / scale;
            q.c[i] = c[j], q.a[i] = a[j];
        }
        refresh(&whole);
        q.size = size;
        for (int64_t i = 0; i < size; i++) {
            q.w[i] = w[index[i]];
            q.alpha[i] = 0.0, q.lower[i] = lower, q.upper[i] = INFINITY;
            a[index[i]] = 0.0;
        }
        kkt[row] = fits ? kkt_residual(&q) : INFINITY;
    }
    free(own), free(rows), free(squares), free(places), free(chosen);
    return got ? 0 : NO_MEMORY;
}
