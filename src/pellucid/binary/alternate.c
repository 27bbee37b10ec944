/* Components W with orthogonal rows (a polar factor and lengths) and the bits that they give, in turns.

   W has orthogonal rows, so every bit is decided alone: ⟨x̄, w⟩/|w|² + ⟨s⟩ against ½. What belongs to a concept lies
   side by side: bits, centred bits and scores are (b, p), components (b, d). */
#include "eigen.h"
#include "kernels.h"

/* sizes, lengths and eigenvalues (as a share of the largest) below this are round-off */
#define TINY 1e-9
/* at least this is the stiffness of a concept, even if all items have it or none */
#define FLAT 1e-30
/* rows and columns of a product that are made at a time */
#define TALL 5
#define WIDE 8
/* items whose own part is taken out at a time: what belongs to them fits into a core's cache */
#define ITEMS 64

/* Five rows of a product, eight columns of them: every sum in the order of its terms. */
static inline void multiply_tile(const double *a[TALL], const double *B, int64_t n, int64_t terms, double *c[TALL]) {
    lanes_f64 left[TALL] = {{0}}, right[TALL] = {{0}};
    for (int64_t k = 0; k < terms; k++) {
        lanes_f64 one = load_f64(B + k * n), two = load_f64(B + k * n + WIDE / 2);
        for (int r = 0; r < TALL; r++) {
            left[r] += a[r][k] * one;
            right[r] += a[r][k] * two;
        }
    }
    for (int r = 0; r < TALL; r++) {
        memcpy(c[r], &left[r], sizeof left[r]);
        memcpy(c[r] + WIDE / 2, &right[r], sizeof right[r]);
    }
}

/* C = AB for A (m, terms) and B (terms, n), small enough for a core's cache. */
static inline void multiply(const double *A, const double *B, int64_t m, int64_t terms, int64_t n, double *C) {
    for (int64_t j = 0; n >= WIDE && j < n; j += WIDE) {
        int64_t column = smaller_int(j, n - WIDE); /* beyond the last column or row others are made again */
        for (int64_t i = 0; i < m; i += TALL) {
            const double *a[TALL];
            double *c[TALL];
            for (int r = 0; r < TALL; r++) {
                int64_t row = smaller_int(i + r, m - 1);
                a[r] = A + row * terms, c[r] = C + row * n + column;
            }
            multiply_tile(a, B + column, n, terms, c);
        }
    }
    for (int64_t i = 0; n < WIDE && i < m; i++) {
        double *row = C + i * n;
        memset(row, 0, (size_t)n * sizeof(double));
        for (int64_t k = 0; k < terms; k++) add_scaled_f64(row, A[i * terms + k], B + k * n, n);
    }
}

/* |s̄|² of a concept that this share of p items has */
static inline double size_of(double mean, int64_t p) { return larger((double)p * mean * (1.0 - mean), TINY); }

/* numbers of room that orthogonal_rows needs */
#define ROWS_ROOM(b, d) ((b) * (d) + 3 * (b) * (b) + (b) + EIGEN_ROOM(b))

/* Unit directions and lengths of the components, from `along` = S̄ᵀX (b, d) and the lengths before; false if there are
   none. The directions are the polar factor of A = diag(lengths)·along, (AAᵀ)^(−½)A: for few long rows far cheaper than
   its singular values, and as exact as bits need. */
static inline bool orthogonal_rows(int64_t p, int64_t d, int64_t b, const double *along, const double *mean, bool first,
                                   double *lengths, double *rotation, double *room) {
    double *A = room, *G = A + b * d, *V = G + b * b, *root = V + b * b, *values = root + b * b, *rest = values + b;
    for (int64_t j = 0; j < b; j++) {
        const double *row = along + j * d;
        if (first) lengths[j] = sqrt(dot_f64(row, row, d)) / size_of(mean[j], p);
        for (int64_t k = 0; k < d; k++) A[j * d + k] = row[k] * lengths[j];
    }
    for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j <= i; j++) G[i * b + j] = G[j * b + i] = dot_f64(A + i * d, A + j * d, d);
    if (!symmetric_eigen(G, b, values, V, rest) || !(values[b - 1] > 0.0)) return false;
    memset(root, 0, (size_t)(b * b) * sizeof(double));
    for (int64_t k = 0; k < b; k++) {
        double factor = 1.0 / sqrt(larger(values[k], TINY * values[b - 1]));
        for (int64_t i = 0; i < b; i++) add_scaled_f64(root + i * b, factor * V[k * b + i], V + k * b, b);
    }
    multiply(root, A, b, b, d, rotation);
    for (int64_t j = 0; j < b; j++)
        lengths[j] = larger(dot_f64(along + j * d, rotation + j * d, d) / size_of(mean[j], p), TINY);
    return true;
}

/* The mean of every concept, and its bits without it. */
static inline void centre_bits(int64_t p, int64_t b, const uint8_t *bits, double *mean, double *centred) {
    for (int64_t j = 0; j < b; j++) {
        int64_t count = 0;
        for (int64_t i = 0; i < p; i++) count += bits[j * p + i];
        mean[j] = (double)count / (double)p;
        for (int64_t i = 0; i < p; i++) centred[j * p + i] = bits[j * p + i] - mean[j];
    }
}

/* numbers of room that take_own_part needs */
#define OWN_ROOM(b) ((b) * (b) + (b) + (4 * (b) + 1) * ITEMS)

/* Take out of the scores ⟨x̄ᵢ, q⟩ what is there because item i took part in finding the unit directions q, to first
   order.

   The directions are the polar factor of A = Σ |w| s̄ x̄ᵀ, nearly Dq with D = |w|²|s̄|². Item i adds |w|s̄ᵢx̄ᵢᵀ to A,
   which moves q by D⁻¹ of it outside the span of the directions, and inside by its antisymmetric part over Dⱼ + Dₖ. */
static inline void take_own_part(int64_t p, int64_t b, const double *squares, const double *centred,
                                 const double *lengths, double *scores, double *room) {
    double *both = room, *stiffness = both + b * b, *outside = stiffness + b, *energy = outside + ITEMS;
    double *pulled = energy + b * ITEMS, *inside = pulled + b * ITEMS, *across = inside + b * ITEMS;
    for (int64_t j = 0; j < b; j++)
        stiffness[j] = larger(lengths[j] * lengths[j] * dot_f64(centred + j * p, centred + j * p, p), FLAT);
    for (int64_t j = 0; j < b; j++)
        for (int64_t k = 0; k < b; k++) both[j * b + k] = 1.0 / (stiffness[j] + stiffness[k]);
    for (int64_t begin = 0; begin < p; begin += ITEMS) {
        int64_t n = smaller_int(ITEMS, p - begin);
        memcpy(outside, squares + begin, (size_t)n * sizeof(double));
        for (int64_t j = 0; j < b; j++) {
            const double *score = scores + j * p + begin, *own = centred + j * p + begin;
            for (int64_t i = 0; i < n; i++) {
                energy[j * n + i] = score[i] * score[i];
                pulled[j * n + i] = lengths[j] * own[i] * score[i];
                outside[i] -= energy[j * n + i];
            }
        }
        multiply(both, energy, b, b, n, inside);
        multiply(both, pulled, b, b, n, across);
        for (int64_t j = 0; j < b; j++) {
            const double *own = centred + j * p + begin;
            double *score = scores + j * p + begin;
            for (int64_t i = 0; i < n; i++)
                score[i] -= lengths[j] * own[i] * (outside[i] / stiffness[j] + inside[j * n + i]) -
                            score[i] * across[j * n + i];
        }
    }
}

/* The bits that the scores ⟨x̄, w⟩/|w| give, in place; false if they are at rest, or there and back. A concept that
   would end up with all items or none stays as it was. `after` is room for as many bits. */
static inline bool move_bits(int64_t p, int64_t b, const double *scores, const double *lengths, bool first,
                             double *mean, double *centred, uint8_t *bits, uint8_t *before, uint8_t *after) {
    for (int64_t j = 0; j < b; j++) {
        const double *row = scores + j * p;
        uint8_t *next = after + j * p;
        double least = (0.5 - mean[j]) * lengths[j];
        int64_t count = 0;
        for (int64_t i = 0; i < p; i++) next[i] = row[i] > least;
        for (int64_t i = 0; i < p; i++) count += next[i];
        if (count == 0 || count == p) memcpy(next, bits + j * p, (size_t)p);
    }
    size_t all = (size_t)(b * p);
    if (!memcmp(after, bits, all) || (!first && !memcmp(after, before, all))) return false;
    memcpy(before, bits, all);
    memcpy(bits, after, all);
    centre_bits(p, b, bits, mean, centred);
    return true;
}

/* One half of a turn, for items so many that the products are left to BLAS; returns whether there are components. */
EXPORTED int64_t KERNEL(turn_components)(int64_t b, int64_t d, const double *along, const double *mean, int64_t p,
                                         int64_t first, double *lengths, double *rotation) {
    double *room = ROOM(double, ROWS_ROOM(b, d));
    if (!room) return NO_MEMORY;
    bool any = b && orthogonal_rows(p, d, b, along, mean, first, lengths, rotation, room);
    free(room);
    return any;
}

/* The other half, each bit judged without its own part in the components; returns whether bits moved. Afterwards the
   scores are those without it. */
EXPORTED int64_t KERNEL(turn_bits)(int64_t b, int64_t p, double *scores, const double *squares, const double *lengths,
                                   int64_t first, double *mean, double *centred, uint8_t *bits, uint8_t *before) {
    double *room = ROOM(double, OWN_ROOM(b));
    uint8_t *after = ROOM(uint8_t, b * p);
    bool got = room && after, moved = false;
    if (got) {
        take_own_part(p, b, squares, centred, lengths, scores, room);
        moved = move_bits(p, b, scores, lengths, first, mean, centred, bits, before, after);
    }
    free(room), free(after);
    return got ? moved : NO_MEMORY;
}

/* Components and bits of each start (p, b), in place, in so many turns at most; losses[k] is the share of |X|² that the
   last components of start k leave. */
EXPORTED int64_t KERNEL(alternate_each)(int64_t n, int64_t p, int64_t d, int64_t b, const double *X, uint8_t *starts,
                                        int64_t turns, double *losses) {
    double *turned = ROOM(double, d * p), *sets = ROOM(double, 2 * b * (p + d + 1));
    double *room = ROOM(double, ROWS_ROOM(b, d));
    uint8_t *octets = ROOM(uint8_t, 3 * b * p);
    if (!turned || !sets || !room || !octets) {
        free(turned), free(sets), free(room), free(octets);
        return NO_MEMORY;
    }
    double *centred = sets, *scores = centred + b * p, *along = scores + b * p, *rotation = along + b * d;
    double *mean = rotation + b * d, *lengths = mean + b, total = 0.0;
    uint8_t *bits = octets, *before = bits + b * p, *after = before + b * p;
    for (int64_t i = 0; i < p; i++) {
        total += dot_f64(X + i * d, X + i * d, d);
        for (int64_t k = 0; k < d; k++) turned[k * p + i] = X[i * d + k];
    }
    for (int64_t start = 0; start < n; start++) {
        uint8_t *S = starts + start * p * b;
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < b; j++) bits[j * p + i] = S[i * b + j];
        centre_bits(p, b, bits, mean, centred);
        losses[start] = 1.0;
        for (int64_t turn = 0; b && turn < turns; turn++) {
            multiply(centred, X, b, p, d, along);
            if (!orthogonal_rows(p, d, b, along, mean, turn == 0, lengths, rotation, room)) break;
            double held = 0.0;
            for (int64_t j = 0; j < b; j++) held += lengths[j] * lengths[j] * size_of(mean[j], p);
            losses[start] = 1.0 - held / total;
            multiply(rotation, turned, b, d, p, scores);
            if (!move_bits(p, b, scores, lengths, turn == 0, mean, centred, bits, before, after)) break;
        }
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < b; j++) S[i * b + j] = bits[j * p + i];
    }
    free(turned), free(sets), free(room), free(octets);
    return 0;
}
