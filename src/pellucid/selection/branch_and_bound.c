/* The best choice of columns, proven by branch and bound (search.py). */
#include "column_loss.h"
#include "kernels.h"

/* At each depth the columns that are still open, sorted by the loss that they would make, and the one that is next. */
typedef struct {
    int64_t n, *columns, *count, *next, *spare_columns;
    double *losses, *spare_losses;
} Open;

/* log(exp(loss) + to_come·floor) */
static double bound(double loss, int64_t to_come, double floor_) {
    if (to_come == 0 || floor_ == 0.0) return loss;
    double more = log((double)to_come * floor_);
    return larger(loss, more) + log1p(exp(-fabs(loss - more)));
}

/* Sort by loss, equal ones as they came: runs of one, two, four … are merged. */
static void sort(double *losses, int64_t *columns, int64_t n, double *spare_losses, int64_t *spare_columns) {
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t start = 0; start < n; start += 2 * run) {
            int64_t middle = smaller_int(start + run, n), stop = smaller_int(start + 2 * run, n);
            int64_t left = start, right = middle;
            for (int64_t i = start; i < stop; i++) {
                int64_t from = left < middle && (right >= stop || !(losses[right] < losses[left])) ? left++ : right++;
                spare_losses[i] = losses[from], spare_columns[i] = columns[from];
            }
        }
        memcpy(losses, spare_losses, (size_t)n * sizeof(double));
        memcpy(columns, spare_columns, (size_t)n * sizeof(int64_t));
    }
}

/* Losses of the open columns of a depth beside those chosen before; columns beyond the bound are dropped. Once somebody
   sets `halt`, columns that were not looked at are taken to cost the least that they can. */
static void weigh(const Losses *l, const Open *o, int64_t *chosen, int64_t depth, double floor_, double limit,
                  const int64_t *halt) {
    int64_t *columns = o->columns + depth * o->n, kept = 0;
    double *losses = o->losses + depth * o->n;
    double before = depth ? o->losses[(depth - 1) * o->n + o->next[depth - 1] - 1] : -INFINITY;
    double least = bound(before, 1, floor_);
    for (int64_t i = 0; i < o->count[depth]; i++) {
        chosen[depth] = columns[i];
        double loss = least;
        if (!is_set(halt)) {
            take_column(l, chosen, depth + 1, depth);
            loss = log_loss_of(l, depth + 1);
        }
        if (bound(loss, l->most - depth - 1, floor_) < limit) columns[kept] = chosen[depth], losses[kept++] = loss;
    }
    o->count[depth] = kept, o->next[depth] = 0;
    sort(losses, columns, kept, o->spare_losses, o->spare_columns);
}

/* Depth first, the most promising column first. One of the `left` columns to come is at least the left-th of the open
   ones, which bounds the node. `best` and `log_loss` become those of a choice that is better by more than `equal`, if there
   is one; `log_loss[1]` is what no choice has less than. Returns the losses computed; the search ends before its time once
   they are more than `most_losses` or somebody sets `halt`, and says so by a bound that is below the loss. */
EXPORTED int64_t KERNEL(search_branches)(int64_t n, int64_t D, int64_t size, const double *columns, int64_t kind,
                                          double power, double floor_, double equal, int64_t most_losses,
                                          const int64_t *halt, int64_t *best, double *log_loss) {
    Losses l;
    double unseen = INFINITY; /* what no choice has less than that was not looked at */
    int64_t seen = 0, *places = ROOM(int64_t, size * n + 3 * size + n);
    double *losses = ROOM(double, size * n + n);
    bool got = prepare_losses(&l, columns, n, D, size, kind, power) && places && losses;
    if (got && size > 0) {
        int64_t *chosen = places + size * n;
        Open o = {n, places, chosen + size, chosen + 2 * size, chosen + 3 * size, losses, losses + size * n};
        for (int64_t p = 0; p < n; p++) o.columns[p] = p;
        o.count[0] = n;
        bool fresh = true;
        for (int64_t depth = 0; depth >= 0;) {
            int64_t left = size - depth; /* columns still to choose at this node */
            int64_t *open = o.columns + depth * n;
            if (fresh) {
                seen += o.count[depth];
                weigh(&l, &o, chosen, depth, floor_, *log_loss - equal, halt);
                if (left == 1 && !is_set(halt)) {
                    if (o.count[depth]) {
                        chosen[depth] = open[0];
                        memcpy(best, chosen, (size_t)size * sizeof(int64_t));
                        *log_loss = o.losses[depth * n];
                    }
                    o.count[depth] = 0;
                }
                fresh = false;
                if (seen > most_losses || is_set(halt)) {
                    for (int64_t d = 0; d <= depth; d++) {
                        int64_t last = o.next[d] + size - d - 1;
                        if (last >= o.count[d]) continue;
                        unseen = smaller(unseen, bound(o.losses[d * n + last], size - d - 1, floor_));
                    }
                    break;
                }
            }
            int64_t at = o.next[depth], last = at + left - 1;
            /* the columns to come are this one and left − 1 later ones, of which one is no better than the last of them */
            if (last >= o.count[depth] || bound(o.losses[depth * n + last], left - 1, floor_) >= *log_loss - equal) {
                depth--;
                continue;
            }
            chosen[depth] = open[at];
            take_column(&l, chosen, depth + 1, depth);
            o.next[depth]++;
            o.count[depth + 1] = o.count[depth] - at - 1;
            memcpy(open + n, open + at + 1, (size_t)o.count[depth + 1] * sizeof(int64_t));
            depth++;
            fresh = true;
        }
    }
    log_loss[1] = smaller(unseen, log_loss[0]);
    let_go_losses(&l), free(places), free(losses);
    return got ? seen : NO_MEMORY;
}
