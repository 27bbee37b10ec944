/* Many small quadratics that share G or atoms, each over the coordinates that its row may use. */
#include "active_set.h"
#include "kernels.h"

/* a start whose fit is that many times the data is dropped */
#define FAR_OFF 1e3
/* rows that a factor has at first */
#define FIRST_RANK 32

/* From the point where q stands to its minimiser; false if there is no memory. `most` is the size of the largest row. */
static bool solve_one(Quadratic *q, FreeSet *f, int64_t most, double tol, int64_t max_iter) {
    double largest = 0.0;
    for (int64_t i = 0; i < q->size; i++) largest = larger(largest, fabs(q->c[i]));
    refresh(q);
    double scale = data_scale(q);
    if (scale > FAR_OFF * larger(largest, q->forced)) { /* its fit dwarfs the data: it would only leave round-off */
        for (int64_t i = 0; i < q->size; i++) q->a[i] = smaller(larger(0.0, q->lower[i]), q->upper[i]);
        refresh(q);
        scale = data_scale(q);
    }
    int64_t left = max_iter - descend(q, smaller_int(SWEEPS, max_iter), tol * scale);
    if (q->size > MANY) { /* sweeps may have got there; few coordinates are finished by a factor in any case */
        refresh(q);
        if (kkt_residual(q) <= tol) left = 0;
    }
    while (left > 0 && !finish(q, f, tol, left)) {
        f->rank = smaller_int(2 * f->rank, most);
        free(f->L);
        if (!(f->L = ROOM(double, f->rank * f->rank))) return false;
    }
    return true;
}

/* The residual of q where it stands; infinite where a coordinate is no number. */
static double certificate(const Quadratic *q) {
    for (int64_t i = 0; i < q->size; i++)
        if (!isfinite(q->a[i])) return INFINITY;
    refresh(q);
    return kkt_residual(q);
}

/* Solve every row, each over the coordinates its row of `mask` allows (one row of mask serves all).

   G, alpha and the bounds belong to atoms divided by `lengths`; C and codes are in the user's units. `codes` holds the
   starting point and receives the answer; `kkt` the residual of what is stored there. */
EXPORTED int64_t TYPED(solve_rows)(int64_t n, int64_t m, int64_t masks, const REAL *C, const double *G,
                                   const double *lengths, const uint8_t *mask, const double *alpha, const double *lower,
                                   const double *upper, REAL *codes, double *kkt, double tol, int64_t max_iter) {
    if (n && masks < 1) return NO_FIT;
    double *rows = ROOM(double, 8 * (m + 1)), *store = NULL;
    int64_t *places = ROOM(int64_t, 3 * m + 1), room = 0, size = -1;
    FreeSet f = {.rank = smaller_int(m, FIRST_RANK)};
    f.L = ROOM(double, f.rank * f.rank);
    bool got = rows && places && f.L;
    int64_t *index = places;
    if (got) f.free_ = places + m, f.waiting = places + 2 * m + 1, f.direction = rows + 7 * (m + 1);
    for (int64_t row = 0; got && row < n; row++) {
        const uint8_t *allowed = mask + smaller_int(row, masks - 1) * m;
        const REAL *given = C + row * m;
        REAL *code = codes + row * m;
        int64_t before = size;
        bool same = size >= 0;
        size = 0;
        for (int64_t j = 0; j < m; j++)
            if (allowed[j]) {
                same = same && size < before && index[size] == j;
                index[size++] = j;
            }
        same = same && size == before;
        double *part[7];
        for (int k = 0; k < 7; k++) part[k] = rows + k * (m + 1);
        Quadratic q = {size, G, part[0], part[1], part[2], part[3], part[4], part[5], part[6], 0.0};
        if (size < m) {
            if (size * size > room) {
                free(store);
                store = ROOM(double, room = size * size);
                if (!(got = store)) break;
                same = false;
            }
            q.G = store;
        }
        for (int64_t i = 0; !same && i < size; i++) {
            int64_t j = index[i];
            q.alpha[i] = alpha[j], q.lower[i] = lower[j], q.upper[i] = upper[j];
            if (size < m)
                for (int64_t k = 0; k < size; k++) store[i * size + k] = G[j * m + index[k]];
        }
        for (int64_t i = 0; i < size; i++) {
            int64_t j = index[i];
            q.forced = larger(q.forced, fabs(smaller(larger(0.0, q.lower[i]), q.upper[i])));
            q.c[i] = given[j] / lengths[j];
            q.a[i] = smaller(larger(code[j] * lengths[j], q.lower[i]), q.upper[i]);
        }
        got = solve_one(&q, &f, m, tol, max_iter);
        for (int64_t j = 0; j < m; j++) code[j] = 0;
        for (int64_t i = 0; i < size; i++) {
            int64_t j = index[i];
            code[j] = (REAL)(q.a[i] / lengths[j]);
            q.a[i] = code[j] * lengths[j]; /* what is stored may be rounded to float32: certify that */
        }
        kkt[row] = certificate(&q);
    }
    free(rows), free(store), free(places), free(f.L);
    return got ? 0 : NO_MEMORY;
}

/* Solve every row over atoms of its own: min ½‖x − aB‖² + ½ρ‖a‖² + αΣa over a ≥ 0, where row i may use the atoms that
   `index` names from starts[i] to starts[i + 1]. For rows that use few of many atoms, since no product with the others
   is made; products are sums in float64. `codes` holds the starting point and receives the answer. */
EXPORTED int64_t TYPED(solve_few)(int64_t n, int64_t d, int64_t m, int64_t count, const REAL *X, const REAL *atoms,
                                  const int64_t *starts, const int64_t *index, double ridge, double alpha, REAL *codes,
                                  double *kkt, double tol, int64_t max_iter) {
    int64_t most = 0;
    for (int64_t row = 0; row < n; row++) {
        int64_t size = starts[row + 1] - starts[row];
        if (starts[row] < 0 || size < 0 || starts[row + 1] > count) return NO_FIT;
        for (int64_t i = starts[row]; i < starts[row + 1]; i++)
            if (index[i] < 0 || index[i] >= m) return NO_FIT;
        most = larger_int(most, size);
    }
    double *rows = ROOM(double, 9 * (most + 1)), *G = ROOM(double, most * most), *wide = ROOM(double, most * d + d);
    int64_t *places = ROOM(int64_t, 2 * most + 1);
    FreeSet f = {.rank = smaller_int(most, FIRST_RANK)};
    f.L = ROOM(double, f.rank * f.rank);
    bool got = rows && G && wide && places && f.L;
    double *part[9];
    for (int k = 0; got && k < 9; k++) part[k] = rows + k * (most + 1);
    if (got) f.free_ = places, f.waiting = places + most + 1, f.direction = part[7];
    for (int64_t row = 0; got && row < n; row++) {
        int64_t size = starts[row + 1] - starts[row];
        const int64_t *mine = index + starts[row];
        REAL *code = codes + starts[row];
        double *lengths = part[8], *x = wide + most * d;
        Quadratic q = {size, G, part[0], part[1], part[2], part[3], part[4], part[5], part[6], 0.0};
        bool same = row && size == starts[row] - starts[row - 1];
        for (int64_t i = 0; same && i < size; i++) same = mine[i] == mine[i - size];
        for (int64_t i = 0; !same && i < size; i++) {
            double *atom = wide + i * d;
            for (int64_t k = 0; k < d; k++) atom[k] = atoms[mine[i] * d + k];
            double length = sqrt(dot_f64(atom, atom, d) + ridge);
            lengths[i] = length > 0.0 ? length : 1.0;
            for (int64_t j = 0; j < i; j++)
                G[i * size + j] = G[j * size + i] = dot_f64(atom, wide + j * d, d) / lengths[i] / lengths[j];
            G[i * size + i] = 1.0;
        }
        for (int64_t k = 0; k < d; k++) x[k] = X[row * d + k];
        for (int64_t i = 0; i < size; i++) {
            q.lower[i] = 0.0, q.upper[i] = INFINITY, q.alpha[i] = alpha / lengths[i];
            q.c[i] = dot_f64(x, wide + i * d, d) / lengths[i];
            q.a[i] = larger(0.0, code[i] * lengths[i]);
        }
        got = solve_one(&q, &f, most, tol, max_iter);
        for (int64_t i = 0; i < size; i++) {
            code[i] = (REAL)(q.a[i] / lengths[i]);
            q.a[i] = code[i] * lengths[i];
        }
        kkt[row] = certificate(&q);
    }
    free(rows), free(G), free(wide), free(places), free(f.L);
    return got ? 0 : NO_MEMORY;
}
