/* What keeps a walk over a graph inside its arrays. */
#ifndef PELLUCID_GRAPH_H
#define PELLUCID_GRAPH_H

#include "kernels.h"

static inline bool all_below(const int64_t *numbers, int64_t n, int64_t limit) {
    bool below = true;
    for (int64_t i = 0; i < n; i++) below &= (uint64_t)numbers[i] < (uint64_t)limit;
    return below;
}

/* Whether rows of the graph follow each other, and all neighbours are below n. */
static inline bool is_graph(int64_t n, int64_t edges, const int32_t *indptr, const int32_t *indices) {
    bool ordered = indptr[0] >= 0 && indptr[n] <= edges, below = true;
    for (int64_t i = 0; i < n; i++) ordered &= indptr[i] <= indptr[i + 1];
    for (int64_t e = 0; e < edges; e++) below &= (uint64_t)indices[e] < (uint64_t)n;
    return ordered && below;
}

#endif
