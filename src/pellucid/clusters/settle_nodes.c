/* One pass over rows that cost something in each cluster and would be where their neighbours are. */
#include "kernels.h"

#include "graph.h"

/* Row after row goes where its cost minus pull · Σⱼ wᵢⱼ [row j is there] is least; the last row of a cluster stays.
   Returns how many have moved, or −1 if the numbers do not fit (then none has). Each move lowers
   Σᵢ costs[i, cᵢ] + pull · Σᵢ﹤ⱼ wᵢⱼ [cᵢ ≠ cⱼ] of a symmetric graph without loops. */
EXPORTED int64_t KERNEL(settle_nodes)(int64_t n, int64_t C, int64_t edges, const int32_t *indptr,
                                      const int32_t *indices, const double *weights, const double *costs,
                                      int64_t *labels, double pull) {
    if (!is_graph(n, edges, indptr, indices) || !all_below(labels, n, C)) return -1;
    double *linked = ROOM(double, C);
    int64_t *members = ROOM(int64_t, C), moves = 0;
    if (!linked || !members) {
        free(linked), free(members);
        return NO_MEMORY;
    }
    for (int64_t c = 0; c < C; c++) linked[c] = 0.0, members[c] = 0;
    for (int64_t i = 0; i < n; i++) members[labels[i]]++;
    for (int64_t i = 0; i < n; i++) {
        int64_t old = labels[i], best = old;
        if (members[old] == 1) continue;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++)
            if (indices[e] != i) linked[labels[indices[e]]] += weights[e];
        const double *cost = costs + i * C;
        double least = cost[old] - pull * linked[old];
        for (int64_t c = 0; c < C; c++) {
            double here = cost[c] - pull * linked[c];
            if (here < least) best = c, least = here;
        }
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++) linked[labels[indices[e]]] = 0.0;
        if (best != old) labels[i] = best, members[old]--, members[best]++, moves++;
    }
    free(linked), free(members);
    return moves;
}
