/* All kernels, as Python calls them (kernels.py reads this). An array names its dimensions, which are not passed:
   `const double G[m * n]` is an (m, n) array that is only read, numbers side by side, row after row. */
#ifndef PELLUCID_KERNELS_H
#define PELLUCID_KERNELS_H

#include "lanes.h"

#ifdef REAL
/* concepts */

/* manifold */

/* search */

/* solvers */
EXPORTED int64_t TYPED(solve_rows)(int64_t n, int64_t m, int64_t masks, const REAL C[n * m], const double G[m * m],
                                   const double lengths[m], const uint8_t mask[masks * m], const double alpha[m],
                                   const double lower[m], const double upper[m], REAL codes[n * m], double kkt[n],
                                   double tol, int64_t max_iter);
EXPORTED int64_t TYPED(pursue_rows)(int64_t n, int64_t m, int64_t n_groups, const REAL C[n * m], const double G[m * m],
                                    const double lengths[m], const int64_t members[m],
                                    const int64_t offsets[n_groups + 1], int64_t steps, int64_t room, double lower,
                                    REAL codes[n * m], double kkt[n]);
#endif

#ifdef INDEX
/* manifold */

#endif

/* binary */

/* clusters */

/* concepts */

/* explorer */

/* manifold */

/* search */

/* selection */

/* solvers */
EXPORTED void KERNEL(to_unit_diagonal)(int64_t m, const double G[m * m], double ridge, double scaled[m * m],
                                       double lengths[m], double bounds[2]);

#endif
