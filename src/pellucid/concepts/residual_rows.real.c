/* Passes over E = R[support] + old ⊗ atom, what is left for one atom to explain, which is never formed: a row of E is a
   row of the residual R and a multiple of the atom. Rows are taken four at a time, so that the vector beside them is read
   once for four. `inner` is atom·v. A support with rows that R has not is refused: nothing happens. */
#include "kernels.h"

#define LANES JOINED(lanes, REAL_SUFFIX)
#define LOAD JOINED(load, REAL_SUFFIX)
#define TOTAL JOINED(total, REAL_SUFFIX)
#define WIDTH ((int64_t)(sizeof(LANES) / sizeof(REAL)))

static bool are_rows(const int32_t *support, int64_t n, int64_t rows) {
    bool all = true;
    for (int64_t i = 0; i < n; i++) all &= support[i] >= 0 && support[i] < rows;
    return all;
}

/* out[k] = row[k]·v; equal rows give equal bits, whichever of the four they are. */
static void dot_four(const REAL *const row[4], const REAL *v, int64_t d, REAL out[4]) {
    const REAL *a = row[0], *b = row[1], *c = row[2], *e = row[3];
    LANES a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0}, c0 = {0}, c1 = {0}, e0 = {0}, e1 = {0};
    int64_t i = 0;
    for (; i + 2 * WIDTH <= d; i += 2 * WIDTH) {
        LANES x = LOAD(v + i), y = LOAD(v + i + WIDTH);
        a0 += x * LOAD(a + i), a1 += y * LOAD(a + i + WIDTH);
        b0 += x * LOAD(b + i), b1 += y * LOAD(b + i + WIDTH);
        c0 += x * LOAD(c + i), c1 += y * LOAD(c + i + WIDTH);
        e0 += x * LOAD(e + i), e1 += y * LOAD(e + i + WIDTH);
    }
    out[0] = TOTAL(a0 + a1), out[1] = TOTAL(b0 + b1), out[2] = TOTAL(c0 + c1), out[3] = TOTAL(e0 + e1);
    for (; i < d; i++) out[0] += a[i] * v[i], out[1] += b[i] * v[i], out[2] += c[i] * v[i], out[3] += e[i] * v[i];
}

/* out += Σ factor[k]·row[k] */
static void add_four(REAL *restrict out, const REAL factor[4], const REAL *const row[4], int64_t d) {
    const REAL *a = row[0], *b = row[1], *c = row[2], *e = row[3];
    REAL s = factor[0], t = factor[1], u = factor[2], v = factor[3];
    for (int64_t i = 0; i < d; i++) out[i] += (s * a[i] + t * b[i]) + (u * c[i] + v * e[i]);
}

/* t = Ev for the rows of the support from `first` on, four at most, and where they stand in R; returns how many. */
static int64_t project_four(const REAL *R, int64_t d, int64_t n, const int32_t *support, const REAL *old, const REAL *v,
                            REAL inner, int64_t first, const REAL *row[4], REAL t[4]) {
    int64_t count = smaller_int(4, n - first);
    for (int64_t k = 0; k < 4; k++) row[k] = R + support[first + smaller_int(k, count - 1)] * d;
    dot_four(row, v, d, t);
    for (int64_t k = 0; k < count; k++) t[k] += old[first + k] * inner;
    return count;
}

/* out = Ev. */
EXPORTED void TYPED(project_rows)(int64_t rows, int64_t d, int64_t n, const REAL *R, const int32_t *support,
                                  const REAL *old, const REAL *v, double inner, REAL *out) {
    if (!are_rows(support, n, rows)) return;
    for (int64_t i = 0; i < n; i += 4) {
        const REAL *row[4];
        REAL t[4];
        int64_t count = project_four(R, d, n, support, old, v, (REAL)inner, i, row, t);
        memcpy(out + i, t, (size_t)count * sizeof(REAL));
    }
}

/* out += EᵀEv, or Eᵀmax(0, Ev) if `positive`. */
EXPORTED void TYPED(square_rows)(int64_t rows, int64_t d, int64_t n, const REAL *R, const int32_t *support,
                                 const REAL *old, const REAL *atom, const REAL *v, double inner, int64_t positive,
                                 REAL *out) {
    if (!are_rows(support, n, rows)) return;
    const REAL *row[4], *kept[4];
    REAL t[4], factor[4], along = 0;
    int64_t waiting = 0; /* rows that are added up four at a time */
    for (int64_t i = 0; i < n; i += 4) {
        int64_t count = project_four(R, d, n, support, old, v, (REAL)inner, i, row, t);
        for (int64_t k = 0; k < count; k++) {
            if (positive && t[k] < 0) continue;
            along += t[k] * old[i + k];
            kept[waiting] = row[k], factor[waiting++] = t[k];
            if (waiting < 4) continue;
            add_four(out, factor, kept, d);
            waiting = 0;
        }
    }
    for (int64_t k = 0; k < waiting; k++) add_scaled_real(out, factor[k], kept[k], d);
    add_scaled_real(out, along, atom, d);
}

/* out = unit·E, in float32. */
EXPORTED void TYPED(gather_rows)(int64_t rows, int64_t d, int64_t n, const REAL *R, const int32_t *support,
                                 const REAL *old, const REAL *atom, double unit, float *out) {
    if (!are_rows(support, n, rows)) return;
    for (int64_t i = 0; i < n; i++) {
        const REAL *row = R + support[i] * d;
        for (int64_t k = 0; k < d; k++) out[i * d + k] = (float)(unit * (row[k] + old[i] * atom[k]));
    }
}

/* R[support] = E − new ⊗ new_atom. */
EXPORTED void TYPED(replace_rows)(int64_t rows, int64_t d, int64_t n, REAL *R, const int32_t *support, const REAL *old,
                                  const REAL *atom, const REAL *new, const REAL *new_atom) {
    if (!are_rows(support, n, rows)) return;
    for (int64_t i = 0; i < n; i++) {
        REAL *restrict row = R + support[i] * d, was = old[i], is = new[i];
        for (int64_t k = 0; k < d; k++) row[k] += was * atom[k] - is * new_atom[k];
    }
}
