/* The nearest of unit atoms that stand in cells, for some rows at a time.

   A cell is loaded once for all rows that have to look into it, and several of them are multiplied with it at once.
   Each row goes through its cells as it would alone: first that of the nearest centre, then the others in order. */
#include "kernels.h"
#include "marks.h"

/* atoms side by side in a tile, two registers of them */
#define LANES 16
/* products that are added up before they are added to the sum of all, which keeps round-off small */
#define STEP 12
/* rows that are multiplied with a tile at once, as many as there are registers for; no sum depends on it */
#if defined(__AVX__) || defined(__aarch64__)
#define TOGETHER 4
#else
#define TOGETHER 2
#endif
/* cosines of unit vectors in float32 are off by less than this */
#define SLACK 2e-6f
#define PI 3.14159265358979323846

/* Rows X (n, d), their products near (G, n) with the centres of cells, and atoms (tiles, d, LANES), of which those of
   cell h are in the tiles begin[h] to begin[h + 1].

   Of each row: the largest product so far, best, and which atom's it is; home and top, the cell of the nearest centre
   and the product with that; numbers that tell into which cells it has to look, and a mark if it is this one. `rows`
   lists those that look into a cell or, one cell after the other, all; then `end` says where those of a cell end. */
typedef struct {
    int64_t n, d, G;
    const float *X, *near, *tiles;
    const int64_t *begin;
    int64_t *which, *rows, *end;
    int32_t *home;
    float *best, *top, *numbers;
    uint8_t *marks;
} Search;

/* sums for the atoms of a tile */
typedef struct {
    lanes_f32 left, right;
} Sums;

/* Products of so many rows with the atoms of a tile. */
static inline __attribute__((always_inline)) void multiply(const float *tile, int64_t d, const float *const *x,
                                                           int rows, Sums *products) {
    for (int r = 0; r < rows; r++) products[r] = (Sums){{0}, {0}};
    int64_t p = 0;
    for (; p + STEP <= d; p += STEP) {
        Sums part[TOGETHER] = {0};
        for (int k = 0; k < STEP; k++) {
            const float *atoms = tile + (p + k) * LANES;
            lanes_f32 left = load_f32(atoms), right = load_f32(atoms + LANES / 2);
            for (int r = 0; r < rows; r++) {
                part[r].left += x[r][p + k] * left;
                part[r].right += x[r][p + k] * right;
            }
        }
        for (int r = 0; r < rows; r++) products[r].left += part[r].left, products[r].right += part[r].right;
    }
    for (; p < d; p++) {
        lanes_f32 left = load_f32(tile + p * LANES), right = load_f32(tile + p * LANES + LANES / 2);
        for (int r = 0; r < rows; r++) products[r].left += x[r][p] * left, products[r].right += x[r][p] * right;
    }
}

static inline bool any_above(Sums products, float best) {
    __typeof__(products.left > products.right) above = (products.left > best) | (products.right > best);
    uint64_t words[4];
    memcpy(words, &above, sizeof words);
    return (words[0] | words[1]) | (words[2] | words[3]);
}

/* Look into a cell for so many rows: of equal products the first counts. */
static inline __attribute__((always_inline)) void look(const Search *s, int64_t cell, const int64_t *rows, int count) {
    const float *x[TOGETHER];
    float best[TOGETHER];
    for (int r = 0; r < count; r++) x[r] = s->X + rows[r] * s->d, best[r] = s->best[rows[r]];
    for (int64_t t = s->begin[cell]; t < s->begin[cell + 1]; t++) {
        Sums products[TOGETHER];
        multiply(s->tiles + t * s->d * LANES, s->d, x, count, products);
        for (int r = 0; r < count; r++) {
            if (!any_above(products[r], best[r])) continue;
            float each[LANES];
            memcpy(each, &products[r], sizeof each);
            for (int lane = 0; lane < LANES; lane++)
                if (each[lane] > best[r]) best[r] = each[lane], s->which[rows[r]] = t * LANES + lane;
            s->best[rows[r]] = best[r];
        }
    }
}

static void look_into(const Search *s, int64_t cell, const int64_t *rows, int64_t count) {
    for (; count >= TOGETHER; count -= TOGETHER, rows += TOGETHER) look(s, cell, rows, TOGETHER);
#if TOGETHER > 2
    if (count == 3) look(s, cell, rows, 3);
    if (count == 2) look(s, cell, rows, 2);
#endif
    if (count == 1) look(s, cell, rows, 1);
}

/* Whether the tiles of every cell are there. */
static bool cells_fit(const int64_t *begin, int64_t G, int64_t n_tiles) {
    bool fits = begin[0] >= 0 && begin[G] <= n_tiles;
    for (int64_t h = 0; h < G; h++) fits = fits && begin[h] <= begin[h + 1];
    return fits;
}

static bool open_search(Search *s) {
    int64_t n = s->n;
    s->rows = ROOM(int64_t, n), s->end = ROOM(int64_t, s->G + 1), s->home = ROOM(int32_t, n);
    s->top = ROOM(float, n), s->numbers = ROOM(float, 2 * n), s->marks = ROOM(uint8_t, n + 64);
    if (s->marks) memset(s->marks, 0, (size_t)n + 64);
    return s->rows && s->end && s->home && s->top && s->numbers && s->marks;
}

static int64_t close_search(Search *s, bool got) {
    free(s->rows), free(s->end), free(s->home), free(s->top), free(s->numbers), free(s->marks);
    return got ? 0 : NO_MEMORY;
}

/* Look into the cell of the nearest centre, the first of equals. */
static void look_at_home(const Search *s) {
    int64_t n = s->n, *end = s->end;
    int32_t *restrict home = s->home;
    float *restrict top = s->top;
    for (int64_t i = 0; i < n; i++) {
        top[i] = -INFINITY, home[i] = 0;
        s->best[i] = -2.0f, s->which[i] = 0;
    }
    for (int64_t h = 0; h < s->G; h++) {
        const float *products = s->near + h * n;
        for (int64_t i = 0; i < n; i++) {
            bool nearer = products[i] > top[i];
            home[i] = nearer ? (int32_t)h : home[i];
            top[i] = nearer ? products[i] : top[i];
        }
    }
    memset(end, 0, (size_t)(s->G + 1) * sizeof *end);
    for (int64_t i = 0; i < n; i++) end[home[i] + 1]++;
    for (int64_t h = 0; h < s->G; h++) end[h + 1] += end[h]; /* where each begins, which moves on */
    for (int64_t i = 0; i < n; i++) s->rows[end[home[i]]++] = i;
    for (int64_t h = 0, start = 0; h < s->G; start = end[h++]) look_into(s, h, s->rows + start, end[h] - start);
}

/* Look into a cell for the rows that are marked. Returns how many they are; rows lists them. */
static int64_t look_at_marked(const Search *s, int64_t cell) {
    int64_t count = 0;
    for (int64_t start = 0; start < s->n; start += 64)
        for (uint64_t bits = bits_of(s->marks + start); bits; bits &= bits - 1)
            s->rows[count++] = start + __builtin_ctzll(bits);
    look_into(s, cell, s->rows, count);
    return count;
}

/* cos β and sin β, a little on the safe side, for a row whose nearest atom is at angle β */
static inline void note_angle(const Search *s, int64_t i) {
    float low = s->best[i] - SLACK;
    s->numbers[i] = low;
    s->numbers[s->n + i] = sqrtf(fmaxf(0.0f, 1.0f - low * low));
}

/* Mark the rows that have to look into a cell at angle θ and of radius r: it can hold an atom nearer than angle β only
   if θ < β + r, that is cos θ > cos β cos r − sin β sin r. */
static inline void mark_within(const Search *s, int64_t h, float cosine, float sine, uint8_t *restrict marks) {
    const float *near = s->near + h * s->n, *low = s->numbers, *far = s->numbers + s->n;
    const int32_t *home = s->home;
    for (int64_t i = 0, n = s->n; i < n; i++)
        marks[i] = (near[i] + SLACK > low[i] * cosine - far[i] * sine) & (home[i] != h);
}

/* Mark the rows whose product with the cell's centre reaches their limit. */
static inline void mark_above(const Search *s, int64_t h, uint8_t *restrict marks) {
    const float *near = s->near + h * s->n, *limit = s->numbers;
    const int32_t *home = s->home;
    for (int64_t i = 0, n = s->n; i < n; i++) marks[i] = (near[i] >= limit[i]) & (home[i] != h);
}

/* Where the nearest atom of each row stands, and the product with it. */
EXPORTED int64_t KERNEL(search_cells)(int64_t n, int64_t d, int64_t G, int64_t n_tiles, const float *X,
                                      const float *near, const float *cosine, const float *sine, const float *tiles,
                                      const int64_t *begin, int64_t *which, float *best) {
    if (G < 1 || !cells_fit(begin, G, n_tiles)) return NO_FIT;
    Search s = {.n = n, .d = d, .G = G, .X = X, .near = near, .tiles = tiles, .begin = begin};
    s.which = which, s.best = best;
    bool got = open_search(&s);
    if (got) {
        look_at_home(&s);
        for (int64_t i = 0; i < n; i++) note_angle(&s, i);
        for (int64_t h = 0; h < G; h++) {
            mark_within(&s, h, cosine[h], sine[h], s.marks);
            int64_t count = look_at_marked(&s, h);
            for (int64_t k = 0; k < count; k++)
                if (best[s.rows[k]] - SLACK != s.numbers[s.rows[k]]) note_angle(&s, s.rows[k]);
        }
    }
    return close_search(&s, got);
}

/* The same in some cells only: the nearest, at θ₀, whose nearest atom is at β, and the others with
   θ ≤ (θ₀ + β) / 2 + reach. */
EXPORTED int64_t KERNEL(search_near_cells)(int64_t n, int64_t d, int64_t G, int64_t n_tiles, const float *X,
                                           const float *near, double reach, const float *tiles, const int64_t *begin,
                                           int64_t *which, float *best) {
    if (G < 1 || !cells_fit(begin, G, n_tiles)) return NO_FIT;
    Search s = {.n = n, .d = d, .G = G, .X = X, .near = near, .tiles = tiles, .begin = begin};
    s.which = which, s.best = best;
    bool got = open_search(&s);
    if (got) {
        look_at_home(&s);
        float *limit = s.numbers;
        for (int64_t i = 0; i < n; i++) {
            double middle = (acos(smaller(s.top[i], 1.0)) + acos(smaller(best[i], 1.0))) / 2;
            limit[i] = (float)cos(smaller(middle + reach, PI));
        }
        for (int64_t h = 0; h < G; h++) {
            mark_above(&s, h, s.marks);
            look_at_marked(&s, h);
        }
    }
    return close_search(&s, got);
}
