/* One pass over the nodes of a graph, each of which moves to the community that it adds most to. */
#include "kernels.h"

#include "graph.h"

/* a link counts as one although its weight is zero */
#define TOUCHED 1e-300
/* a community is better if it gains more than this share of the node's degree */
#define GAIN 1e-12

/* Σ aᵢ */
static double sum_of(const double *a, int64_t n) {
    lanes_f64 s = {0}, t = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) s += load_f64(a + i), t += load_f64(a + i + 4);
    double total = total_f64(s + t);
    for (; i < n; i++) total += a[i];
    return total;
}

/* Move node after node to the community where it adds most to the modularity; returns how many moves were made, or −1
   if the numbers do not fit (then nothing has moved). The last node of a community stays if there are only `least`
   communities. */
EXPORTED int64_t KERNEL(move_nodes)(int64_t n, int64_t edges, const int32_t *indptr, const int32_t *indices,
                                    const double *weights, const int64_t *order, int64_t *labels, double resolution,
                                    double total, int64_t least) {
    if (!is_graph(n, edges, indptr, indices) || !all_below(order, n, n) || !all_below(labels, n, n)) return -1;
    double *sums = ROOM(double, 3 * n);
    int64_t *numbers = ROOM(int64_t, 2 * n);
    if (!sums || !numbers) {
        free(sums), free(numbers);
        return NO_MEMORY;
    }
    double *degree = sums, *volume = sums + n, *linked = sums + 2 * n;
    int64_t *members = numbers, *touched = numbers + n, count = 0, moves = 0;
    for (int64_t i = 0; i < n; i++) volume[i] = linked[i] = 0.0, members[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        degree[i] = sum_of(weights + indptr[i], indptr[i + 1] - indptr[i]);
        volume[labels[i]] += degree[i];
        count += members[labels[i]]++ == 0;
    }
    for (int64_t place = 0; place < n; place++) {
        int64_t i = order[place], old = labels[i], n_touched = 0;
        if (members[old] == 1 && count <= least) continue;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            if (indices[e] == i) continue;
            int64_t c = labels[indices[e]];
            if (linked[c] == 0.0 && n_touched < n) touched[n_touched++] = c; /* n at most unless weights cancel */
            linked[c] += weights[e] + TOUCHED;
        }
        volume[old] -= degree[i];
        int64_t best = old;
        double most = linked[old] - resolution * degree[i] * volume[old] / total;
        for (int64_t t = 0; t < n_touched; t++) {
            int64_t c = touched[t];
            double gain = linked[c] - resolution * degree[i] * volume[c] / total;
            if (gain > most + GAIN * degree[i]) best = c, most = gain;
        }
        for (int64_t t = 0; t < n_touched; t++) linked[touched[t]] = 0.0;
        volume[best] += degree[i];
        if (best != old) {
            labels[i] = best;
            members[best]++;
            count -= --members[old] == 0;
            moves++;
        }
    }
    free(sums), free(numbers);
    return moves;
}
