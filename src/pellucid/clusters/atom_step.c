/* The best atom with everything else fixed: dᵀHd − 2bᵀd on the unit sphere, by a span of directions that grows until its
   minimiser is the minimiser over all. H is read and changed on and above the diagonal alone. */
#include "../solvers/secular.h"
#include "eigen.h"
#include "kernels.h"

/* after so many directions a step is given up */
#define MAX_DIRECTIONS 60
/* a direction of which no more is left outside of the span lies in it */
#define IN_SPAN 1e-10

/* numbers of room for problems as small as a span of m directions: two matrices and some vectors */
#define SMALL_ROOM(m) (2 * (m) * (m) + 3 * (m) + EIGEN_ROOM(m))

/* The first `size` rows of V are orthonormal; HV are their products with H, T = VHVᵀ and c = Vb; rows of T stand `most`
   apart. `small` is SMALL_ROOM. */
typedef struct {
    int64_t n, most, size;
    double *V, *HV, *T, *c, *small;
} Span;

/* The problem, and what is known of it: no eigenvalue of H + spike·ddᵀ is below `floor` for the old atom d; the
   objective may be off by `allowed`. */
typedef struct {
    const double *H, *b, *old;
    double spike, floor, allowed;
} Step;

static inline void store_f64(double *a, lanes_f64 v) { memcpy(a, &v, sizeof v); }

/* out = Hv by what is on and above the diagonal, four rows at a time: faster than a product that reads all of H. */
static void multiply(const double *H, int64_t n, const double *v, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = H[i * n + i] * v[i];
    for (int64_t i = 0; i < n; i += 4) {
        int64_t end = smaller_int(i + 4, n), j = end;
        for (int64_t r = i; r < end; r++)
            for (int64_t s = r + 1; s < end; s++) {
                out[r] += H[r * n + s] * v[s];
                out[s] += H[r * n + s] * v[r];
            }
        if (end == n) break;
        const double *one = H + i * n, *two = one + n, *three = two + n, *four = three + n;
        const double p = v[i], q = v[i + 1], r = v[i + 2], s = v[i + 3];
        lanes_f64 sums[4] = {{0}, {0}, {0}, {0}};
        for (; j + 4 <= n; j += 4) {
            lanes_f64 e = load_f64(one + j), f = load_f64(two + j), g = load_f64(three + j), h = load_f64(four + j);
            lanes_f64 left = load_f64(v + j);
            sums[0] += e * left, sums[1] += f * left, sums[2] += g * left, sums[3] += h * left;
            store_f64(out + j, load_f64(out + j) + ((e * p + f * q) + (g * r + h * s)));
        }
        double rest[4] = {0};
        for (; j < n; j++) {
            rest[0] += one[j] * v[j], rest[1] += two[j] * v[j], rest[2] += three[j] * v[j], rest[3] += four[j] * v[j];
            out[j] += (one[j] * p + two[j] * q) + (three[j] * r + four[j] * s);
        }
        for (int k = 0; k < 4; k++) out[i + k] += rest[k] + total_f64(sums[k]);
    }
}

/* H += Σ w_p rows_p rows_pᵀ, on and above the diagonal. */
EXPORTED void KERNEL(add_pairs)(int64_t n, int64_t pairs, double *H, const double *rows, const double *weights) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < pairs; p++)
            add_scaled_f64(H + i * n + i, weights[p] * rows[p * n + i], rows + p * n + i, n - i);
}

/* Make x a unit vector that is orthogonal to the span; false if it lies in it. */
static bool orthogonalise(const Span *span, double *x) {
    int64_t n = span->n;
    double before = sqrt(dot_f64(x, x, n));
    for (int turn = 0; turn < 2; turn++) /* twice is enough */
        for (int64_t p = 0; p < span->size; p++) {
            const double *row = span->V + p * n;
            add_scaled_f64(x, -dot_f64(row, x, n), row, n);
        }
    double left = sqrt(dot_f64(x, x, n));
    if (!(left > IN_SPAN * before)) return false;
    for (int64_t i = 0; i < n; i++) x[i] /= left;
    return true;
}

/* One more direction, orthonormal to the others. */
static void extend(Span *span, const Step *step, const double *direction) {
    int64_t n = span->n, m = span->size++;
    double *product = span->HV + m * n;
    memcpy(span->V + m * n, direction, (size_t)n * sizeof(double));
    multiply(step->H, n, direction, product);
    for (int64_t p = 0; p <= m; p++)
        span->T[m * span->most + p] = span->T[p * span->most + m] = dot_f64(span->V + p * n, product, n);
    span->c[m] = dot_f64(direction, step->b, n);
}

/* argmin zᵀTz − 2cᵀz over ‖z‖ = 1 by the eigenvectors of T, and its multiplier; false if T is not finite. */
static bool small_minimum(const Span *span, double *z, double *mu) {
    int64_t m = span->size, most = span->most;
    double *A = span->small, *vectors = A + m * m, *values = vectors + m * m, *beta = values + m, *d = beta + m;
    for (int64_t p = 0; p < m; p++) memcpy(A + p * m, span->T + p * most, (size_t)m * sizeof(double));
    if (!symmetric_eigen(A, m, values, vectors, d + m)) return false;
    double lowest = values[0];
    for (int64_t p = 0; p < m; p++) {
        values[p] -= lowest;
        beta[p] = dot_f64(vectors + p * m, span->c, m);
    }
    *mu = secular_minimum(values, beta, m, d) - lowest;
    for (int64_t p = 0; p < m; p++) z[p] = 0.0;
    for (int64_t p = 0; p < m; p++) add_scaled_f64(z, d[p], vectors + p * m, m);
    return true;
}

/* Solve Ax = x in place by elimination, the largest of a column first; A (n, n) is overwritten. False if it is singular
   or not finite. */
static bool solve_small(double *A, int64_t n, double *x) {
    for (int64_t k = 0; k < n; k++) {
        int64_t largest = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[largest * n + k])) largest = i;
        double *row = A + k * n, *other = A + largest * n;
        for (int64_t j = k; j < n && largest != k; j++) {
            double entry = row[j];
            row[j] = other[j], other[j] = entry;
        }
        double right = x[k];
        x[k] = x[largest], x[largest] = right;
        if (!(fabs(row[k]) > 0.0)) return false;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = A[i * n + k] / row[k];
            add_scaled_f64(A + i * n + k + 1, -factor, row + k + 1, n - k - 1);
            x[i] -= factor * x[k];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--)
        x[i] = (x[i] - dot_f64(A + i * n + i + 1, x + i + 1, n - i - 1)) / A[i * n + i];
    return true;
}

/* dᵀy and ‖r‖², where y solves Ay = d in the span for A = H + μI + spike·ddᵀ and the old d, V's first row, and
   r = d − Ay; false if there is no such y. */
static bool spiked_form(const Span *span, double mu, double spike, double *r, double *form, double *rest) {
    int64_t n = span->n, m = span->size, most = span->most;
    double *A = span->small, *y = A + m * m;
    for (int64_t p = 0; p < m; p++) {
        memcpy(A + p * m, span->T + p * most, (size_t)m * sizeof(double));
        A[p * m + p] += mu;
        y[p] = p == 0;
    }
    A[0] += spike;
    if (!solve_small(A, m, y)) return false;
    for (int64_t i = 0; i < n; i++) r[i] = (1.0 - spike * y[0]) * span->V[i];
    for (int64_t p = 0; p < m; p++) {
        add_scaled_f64(r, -y[p], span->HV + p * n, n);
        add_scaled_f64(r, -y[p] * mu, span->V + p * n, n);
    }
    *form = y[0], *rest = dot_f64(r, r, n);
    return true;
}

/* The floor when the spike moves from the old atom to a new one: lower by spike times the sine of their angle, or less.
   At right angles to the old atom nothing gets lower, so the floor is also no less than the least eigenvalue of a matrix
   of two rows: the old atom, and all the rest at the floor. */
static double moved_floor(const Span *span, const Step *step, const double *atom, double *image) {
    int64_t n = span->n;
    const double *old = span->V;
    double cosine = dot_f64(old, atom, n);
    memcpy(image, span->HV, (size_t)n * sizeof(double));
    add_scaled_f64(image, step->spike * cosine, atom, n);
    double along = dot_f64(old, image, n), across = larger(0.0, dot_f64(image, image, n) - along * along);
    double half = 0.5 * (along - step->floor), two_rows = 0.5 * (along + step->floor) - sqrt(half * half + across);
    double turned = step->floor - step->spike * sqrt(larger(0.0, 1.0 - cosine * cosine));
    return larger(larger(0.0, two_rows), turned);
}

/* What a diagonal H + μI would divide by, but positive where a negative μ would not leave it so. */
static void divide_by_shifted(double *x, const double *diagonal, int64_t n, double mu, double least) {
    for (int64_t i = 0; i < n; i++) x[i] /= larger(diagonal[i] + mu, larger(0.1 * diagonal[i], least));
}

/* The minimiser over a span that grows until it is the minimiser over all; whether H + μI is proven to be semidefinite,
   its multiplier μ (NaN if that takes too long) and the floor for the new atom.

   With r = b − (H + μI)d and H + μI semidefinite no unit vector is better than d by more than 4‖r‖, nor, if all of its
   eigenvalues are at least g, by more than ‖r‖²/g. They are for g ≤ μ, and else where H + (μ − g)I is semidefinite: if
   spike·dᵀA⁻¹d ≤ 1 for A = H + (μ − g)I + spike·ddᵀ and the old d (the determinant lemma), where A ≥ floor + μ − g.
   The first directions are the old atom, so that nothing gets worse, and what would be right for a diagonal H; then the
   residual of b or, if only the proof is missing, of d, each time as a diagonal H + μI would remove it.

   `room` has place for four vectors of n numbers and one of `most`. */
static bool expand(Span *span, const Step *step, double *atom, double *found, double *room) {
    int64_t n = span->n;
    double *diagonal = room, *new = room + n, *lack = room + 2 * n, *gaps = room + 3 * n, *z = room + 4 * n;
    double lowest = INFINITY, mu;
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = step->H[i * n + i];
        lowest = smaller(lowest, diagonal[i]);
    }
    bool given = dot_f64(step->b, step->b, n) > 0.0; /* else the best is the eigenvector of the least eigenvalue */
    memcpy(new, step->old, (size_t)n * sizeof(double));
    while (span->size < span->most) {
        if (span->size == 1 && given) {
            for (int64_t i = 0; i < n; i++) gaps[i] = diagonal[i] - lowest;
            memcpy(new, step->b, (size_t)n * sizeof(double));
            divide_by_shifted(new, diagonal, n, secular_root(gaps, new, n) - lowest, step->allowed);
        }
        if (!orthogonalise(span, new)) return false;
        extend(span, step, new);
        if (span->size == 1 && span->most > 1 && given) continue;
        if (!small_minimum(span, z, &mu)) return false;
        memset(atom, 0, (size_t)n * sizeof(double));
        memcpy(new, step->b, (size_t)n * sizeof(double));
        for (int64_t p = 0; p < span->size; p++) {
            add_scaled_f64(atom, z[p], span->V + p * n, n);
            add_scaled_f64(new, -z[p], span->HV + p * n, n);
        }
        add_scaled_f64(new, -mu, atom, n);
        double left = sqrt(dot_f64(new, new, n)), form, rest;
        bool exact = 4.0 * left <= step->allowed;
        double low = exact ? mu + step->allowed : mu - left * left / step->allowed; /* H + low·I must be semidefinite */
        bool proven = low >= 0.0, lost = exact && low + step->floor <= 0.0;
        if (!proven && low + step->floor > 0.0 && spiked_form(span, low, step->spike, lack, &form, &rest)) {
            proven = step->spike * (form + rest / (low + step->floor)) <= 1.0;
            if (step->spike * form <= 1.0) memcpy(new, lack, (size_t)n * sizeof(double));
        }
        if (proven || lost) {
            double length = sqrt(dot_f64(atom, atom, n));
            for (int64_t i = 0; i < n; i++) atom[i] /= length;
            found[0] = mu, found[1] = moved_floor(span, step, atom, lack);
            return proven;
        }
        divide_by_shifted(new, diagonal, n, mu, step->allowed);
    }
    return false;
}

/* argmin dᵀHd − 2bᵀd over ‖d‖ = 1 for an H that is nearly diagonal: whether the atom is proven to be the best, and
   found = (μ, floor). The objective may be off by `tol` of ‖H‖ + ‖b‖. */
EXPORTED int64_t KERNEL(expanding_solution)(int64_t n, const double *H, const double *b, const double *old,
                                            double spike, double floor_, double tol, double *atom, double found[2]) {
    int64_t most = smaller_int(MAX_DIRECTIONS, n);
    double largest = -INFINITY, length = sqrt(dot_f64(b, b, n));
    bool nothing = true; /* a semidefinite H whose diagonal is 0 */
    for (int64_t i = 0; i < n; i++) {
        largest = larger(largest, H[i * n + i]);
        nothing = nothing && H[i * n + i] == 0.0;
    }
    if (nothing) {
        for (int64_t i = 0; i < n; i++) atom[i] = length > 0.0 ? b[i] / length : old[i];
        found[0] = length, found[1] = 0.0;
        return true;
    }
    double *room = ROOM(double, (2 * most + 4) * n + most * most + 2 * most + SMALL_ROOM(most));
    if (!room) return NO_MEMORY;
    Span span = {.n = n, .most = most, .V = room, .HV = room + most * n};
    span.T = room + 2 * most * n;
    span.c = span.T + most * most;
    span.small = span.c + most;
    Step step = {H, b, old, spike, floor_, tol * (largest + length)};
    found[0] = NAN, found[1] = 0.0;
    bool proven = expand(&span, &step, atom, found, span.small + SMALL_ROOM(most));
    free(room);
    return proven;
}
