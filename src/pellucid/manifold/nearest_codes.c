/* Codes by nearest atom, -1 for what has none: the graph of who is next to whom, and the sums over windows. */
#include "kernels.h"
#include "marks.h"
#include "unit_length.h"

/* Places of the codes, sorted by code: those of code a from starts[a] on. */
EXPORTED int64_t KERNEL(positions_by_code)(int64_t n, int64_t K, int64_t present, const int32_t *codes,
                                           const int64_t *starts, int64_t *order) {
    int64_t *places = ROOM(int64_t, K + 1);
    if (!places) return NO_MEMORY;
    memcpy(places, starts, (size_t)(K + 1) * sizeof(int64_t));
    bool fits = true;
    for (int64_t i = 0; fits && i < n; i++) {
        int64_t code = codes[i];
        if (code == -1) continue;
        fits = code >= 0 && code < K && places[code] >= 0 && places[code] < present;
        if (fits) order[places[code]++] = i;
    }
    free(places);
    return fits ? 0 : NO_FIT;
}

/* One row of the graph: its entries that are not zero, which are taken out. Returns how many they are, -1 if they are
   more than there is room for. */
static int64_t take_row(uint32_t *row, int64_t K, int64_t room, int32_t *indices, float *values) {
    int64_t used = 0;
    for (int64_t start = 0; start < K; start += 64) {
        uint8_t marks[64];
        for (int j = 0; j < 64; j++) marks[j] = row[start + j] != 0;
        for (uint64_t bits = bits_of(marks); bits; bits &= bits - 1) {
            int64_t other = start + __builtin_ctzll(bits);
            if (used == room) return -1;
            indices[used] = (int32_t)other;
            values[used++] = (float)row[other];
            row[other] = 0;
        }
    }
    return used;
}

/* The same where 32 bits were too few and `more` was put aside. */
static int64_t take_long_row(uint32_t *row, uint64_t *more, int64_t K, int64_t room, int32_t *indices, float *values) {
    int64_t used = 0;
    for (int64_t other = 0; other < K; other++) {
        uint64_t count = more[other] + row[other];
        more[other] = row[other] = 0;
        if (!count) continue;
        if (used == room) return -1;
        indices[used] = (int32_t)other, values[used++] = (float)count;
    }
    return used;
}

/* Rows of the graph from `first` on, for codes (n, height, width): how often each atom is at most `context` away from
   atom a in both directions, in the same image; a place is not its own neighbour. Entries are written one after the
   other, and lengths tells how many each row has; counts are put aside before one can be more than `most`. The codes are
   those that positions_by_code has taken. Returns how many entries there are. */
EXPORTED int64_t KERNEL(graph_rows)(int64_t n, int64_t height, int64_t width, int64_t present, int64_t K, int64_t room,
                                    int64_t rows, const int32_t *codes, const int64_t *order, const int64_t *starts,
                                    int64_t first, int64_t context, int64_t most, int32_t *indices, float *values,
                                    int64_t *lengths) {
    if (first < 0 || first + rows > K) return NO_FIT;
    for (int64_t atom = first; atom < first + rows; atom++)
        if (starts[atom] < 0 || starts[atom] > starts[atom + 1] || starts[atom + 1] > present) return NO_FIT;
    uint32_t *counts = ROOM(uint32_t, K + 65), *row = counts;
    uint64_t *more = ROOM(uint64_t, K);
    bool got = counts && more;
    if (got) {
        memset(counts, 0, (size_t)(K + 65) * sizeof *counts), memset(more, 0, (size_t)K * sizeof *more);
        row = counts + 1; /* what has no code, -1, is counted before it */
    }
    int64_t used = 0, places = n * height * width;
    bool fits = true;
    for (int64_t atom = first; got && fits && atom < first + rows; atom++) {
        int64_t counted = 0;
        bool aside = false;
        for (int64_t k = starts[atom]; k < starts[atom + 1]; k++) {
            if (!(fits = order[k] >= 0 && order[k] < places)) break;
            int64_t line = order[k] / width, j = order[k] % width, i = line % height;
            int64_t top = larger_int(0, i - context), bottom = smaller_int(height, i + context + 1);
            int64_t left = larger_int(0, j - context), right = smaller_int(width, j + context + 1);
            if ((counted += (bottom - top) * (right - left)) > most) {
                for (int64_t other = 0; other < K; other++) more[other] += row[other], row[other] = 0;
                counted = (bottom - top) * (right - left), aside = true;
            }
            for (int64_t y = top; y < bottom; y++) {
                const int32_t *own = codes + (line - i + y) * width;
                for (int64_t x = left; x < right; x++) row[own[x]]++;
            }
            row[atom]--;
        }
        int64_t found = aside ? take_long_row(row, more, K, room - used, indices + used, values + used)
                              : take_row(row, K, room - used, indices + used, values + used);
        fits = fits && found >= 0;
        lengths[atom - first] = found, used += found;
    }
    free(counts), free(more);
    return !got ? NO_MEMORY : fits ? used : NO_FIT;
}

/* Sums of so many lanes of vectors in a window, which stay in registers. */
static inline __attribute__((always_inline)) void pool_lanes(const float *corner, int64_t tall, int64_t wide,
                                                             int64_t line, int64_t d, int lanes, float *out) {
    lanes_f32 sums[8] = {0};
    for (int64_t y = 0; y < tall; y++)
        for (int64_t x = 0; x < wide; x++)
            for (int l = 0; l < lanes; l++) sums[l] += load_f32(corner + y * line + x * d + 8 * l);
    memcpy(out, sums, (size_t)lanes * sizeof *sums);
}

/* Sums of patch vectors (height, width, d) over windows, of unit length at each place, and then all together. */
EXPORTED void KERNEL(pool_windows)(int64_t height, int64_t width, int64_t d, int64_t rows, int64_t columns,
                                   const float *patches, int64_t pool, int64_t stride, float *out) {
    int64_t places = 0, line = width * d;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const float *corner = patches + i * stride * line + j * stride * d;
            int64_t tall = smaller_int(pool, height - i * stride), wide = smaller_int(pool, width - j * stride), k = 0;
            float *cell = out + (i * columns + j) * d;
            for (; k + 64 <= d; k += 64) pool_lanes(corner + k, tall, wide, line, d, 8, cell + k);
            for (; k + 32 <= d; k += 32) pool_lanes(corner + k, tall, wide, line, d, 4, cell + k);
            for (; k + 8 <= d; k += 8) pool_lanes(corner + k, tall, wide, line, d, 1, cell + k);
            for (; k < d; k++) {
                cell[k] = 0.0f;
                for (int64_t y = 0; y < tall; y++)
                    for (int64_t x = 0; x < wide; x++) cell[k] += corner[y * line + x * d + k];
            }
            places += scale_to_unit(cell, d);
        }
    if (places) scale(out, rows * columns * d, (float)(1.0 / sqrt((double)places)));
}
