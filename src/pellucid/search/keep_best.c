/* The best of many scores, in heaps whose smallest comes first. */
#include "kernels.h"

/* scores that are compared with the smallest of a heap at a time */
#define GLANCE 32

/* Put a score in the place of a heap's smallest. */
static void replace_smallest(float *heap, int64_t *places, int64_t size, float score, int64_t place) {
    int64_t hole = 0;
    for (;;) {
        int64_t child = 2 * hole + 1;
        if (child >= size) break;
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= score) break;
        heap[hole] = heap[child], places[hole] = places[child];
        hole = child;
    }
    heap[hole] = score, places[hole] = place;
}

/* Put scores (q, n)·weight (n,) − offset (q,)·shift (n,) into heaps of the best (q, size); the first score belongs to the
   place `first`. NaN never gets in. */
EXPORTED void KERNEL(keep_best)(int64_t q, int64_t n, int64_t size, const float *scores, const float *weight,
                                const float *offset, const float *shift, int64_t first, float *best, int64_t *places) {
    for (int64_t i = 0; size && i < q; i++) {
        float *heap = best + i * size, seen[GLANCE];
        for (int64_t j = 0; j < n; j += GLANCE) {
            int64_t count = smaller_int(GLANCE, n - j);
            int better = 0;
            for (int64_t k = 0; k < count; k++) {
                seen[k] = scores[i * n + j + k] * weight[j + k] - offset[i] * shift[j + k];
                better |= seen[k] > heap[0];
            }
            for (int64_t k = 0; better && k < count; k++)
                if (seen[k] > heap[0]) replace_smallest(heap, places + i * size, size, seen[k], first + j + k);
        }
    }
}
