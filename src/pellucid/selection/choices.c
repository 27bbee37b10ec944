/* Losses of many choices of columns: subsets, one column more, and exchanges of one for another. */
#include "column_loss.h"
#include "kernels.h"

/* Logarithms of the losses of the choices in the rows of `subsets`; infinite where one names no column. */
EXPORTED int64_t KERNEL(log_losses)(int64_t n, int64_t D, int64_t count, int64_t size, const double *columns,
                                    const int64_t *subsets, int64_t kind, double power, double *losses) {
    Losses l;
    if (!prepare_losses(&l, columns, n, D, size, kind, power)) return NO_MEMORY;
    for (int64_t row = 0; row < count; row++) {
        const int64_t *chosen = subsets + row * size;
        losses[row] = INFINITY;
        if (!are_there(&l, chosen, size)) continue;
        for (int64_t i = 0; i < size; i++) take_column(&l, chosen, i + 1, i);
        losses[row] = log_loss_of(&l, size);
    }
    let_go_losses(&l);
    return 0;
}

/* Logarithms of the losses of the chosen columns and each one from `start` to `stop`; infinite from where somebody set
   `halt`. */
EXPORTED int64_t KERNEL(losses_of_one_more)(int64_t n, int64_t D, int64_t count, const double *columns,
                                            const int64_t *chosen, int64_t kind, double power, int64_t start,
                                            int64_t stop, const int64_t *halt, double *losses) {
    Losses l;
    int64_t *trial = ROOM(int64_t, count + 1);
    bool got = prepare_losses(&l, columns, n, D, count + 1, kind, power) && trial;
    if (got) {
        bool there = are_there(&l, chosen, count);
        memcpy(trial, chosen, (size_t)count * sizeof(int64_t));
        for (int64_t i = 0; there && i < count; i++) take_column(&l, trial, i + 1, i);
        for (int64_t p = larger_int(start, 0); p < smaller_int(stop, n); p++) {
            losses[p] = INFINITY;
            if (is_set(halt)) continue;
            trial[count] = p;
            if (there) take_column(&l, trial, count + 1, count);
            losses[p] = there ? log_loss_of(&l, count + 1) : INFINITY;
        }
    }
    let_go_losses(&l), free(trial);
    return got ? 0 : NO_MEMORY;
}

/* The exchange of one chosen column for another that makes the smallest loss, the first of equal ones: `places` receives
   where the one that goes stands among the chosen, and the one that comes. Returns the logarithm of the loss, infinite if
   there is no exchange; the best so far once somebody sets `halt`. */
EXPORTED double KERNEL(best_exchange)(int64_t n, int64_t D, int64_t size, const double *columns, const int64_t *chosen,
                                      int64_t kind, double power, const int64_t *halt, int64_t *places) {
    Losses l;
    int64_t *trial = ROOM(int64_t, size);
    bool *inside = ROOM(bool, n);
    bool got = prepare_losses(&l, columns, n, D, size, kind, power) && trial && inside;
    double best = INFINITY;
    if (got && are_there(&l, chosen, size)) {
        memset(inside, 0, (size_t)n * sizeof(bool));
        memcpy(trial, chosen, (size_t)size * sizeof(int64_t));
        for (int64_t i = 0; i < size; i++) {
            inside[chosen[i]] = true;
            take_column(&l, trial, i + 1, i);
        }
        for (int64_t out = 0; out < size && !is_set(halt); out++) {
            for (int64_t p = 0; p < n && !is_set(halt); p++) {
                if (inside[p]) continue;
                trial[out] = p;
                take_column(&l, trial, size, out);
                double found = log_loss_of(&l, size);
                if (found < best) best = found, places[0] = out, places[1] = p;
            }
            trial[out] = chosen[out];
            take_column(&l, trial, size, out);
        }
    }
    let_go_losses(&l), free(trial), free(inside);
    return got ? best : (double)NO_MEMORY;
}
