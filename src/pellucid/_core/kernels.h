/* All kernels, as Python calls them (kernels.py reads this). An array names its dimensions, which are not passed:
   `const double G[m * n]` is an (m, n) array that is only read, numbers side by side, row after row. */
#ifndef PELLUCID_KERNELS_H
#define PELLUCID_KERNELS_H

#include "lanes.h"

#ifdef REAL
/* concepts */
EXPORTED void TYPED(square_rows)(int64_t rows, int64_t d, int64_t n, const REAL R[rows * d], const int32_t support[n],
                                 const REAL old[n], const REAL atom[d], const REAL v[d], double inner,
                                 int64_t positive, REAL out[d]);
EXPORTED void TYPED(project_rows)(int64_t rows, int64_t d, int64_t n, const REAL R[rows * d], const int32_t support[n],
                                  const REAL old[n], const REAL v[d], double inner, REAL out[n]);
EXPORTED void TYPED(gather_rows)(int64_t rows, int64_t d, int64_t n, const REAL R[rows * d], const int32_t support[n],
                                 const REAL old[n], const REAL atom[d], double unit, float out[n * d]);
EXPORTED void TYPED(replace_rows)(int64_t rows, int64_t d, int64_t n, REAL R[rows * d], const int32_t support[n],
                                  const REAL old[n], const REAL atom[d], const REAL new[n], const REAL new_atom[d]);

/* manifold */
EXPORTED void TYPED(scale_rows)(int64_t n, int64_t count, const REAL given[count], const int32_t indices[count],
                                const int64_t pointers[n + 1], const double root[n], double factor, REAL data[count],
                                double sums[n], int64_t first, int64_t last);
EXPORTED void TYPED(sparse_rows)(int64_t n, int64_t count, const REAL data[count], const int32_t indices[count],
                                 const int64_t pointers[n + 1], const double x[n], double y[n], int64_t first,
                                 int64_t last);

/* solvers */
EXPORTED int64_t TYPED(solve_rows)(int64_t n, int64_t m, int64_t masks, const REAL C[n * m], const double G[m * m],
                                   const double lengths[m], const uint8_t mask[masks * m], const double alpha[m],
                                   const double lower[m], const double upper[m], REAL codes[n * m], double kkt[n],
                                   double tol, int64_t max_iter);
EXPORTED int64_t TYPED(solve_few)(int64_t n, int64_t d, int64_t m, int64_t count, const REAL X[n * d],
                                  const REAL atoms[m * d], const int64_t starts[n + 1], const int64_t index[count],
                                  double ridge, double alpha, REAL codes[count], double kkt[n], double tol,
                                  int64_t max_iter);
EXPORTED int64_t TYPED(pursue_rows)(int64_t n, int64_t m, int64_t n_groups, const REAL C[n * m], const double G[m * m],
                                    const double lengths[m], const int64_t members[m],
                                    const int64_t offsets[n_groups + 1], int64_t steps, int64_t room, double lower,
                                    REAL codes[n * m], double kkt[n]);
EXPORTED void TYPED(symmetric_products)(int64_t n, int64_t dimension, int64_t size, const double A[n * dimension],
                                        const double B[n * dimension], REAL out[n * size]);
#endif

#ifdef INDEX
/* manifold */
EXPORTED int64_t INDEXED(above)(int64_t n, int64_t K, const float products[n * K], float threshold,
                                const uint8_t present[n], INDEX active[n * K], int64_t counts[n]);
EXPORTED int64_t INDEXED(inverted)(int64_t n, int64_t K, int64_t count, const INDEX active[count],
                                   const int64_t begin[n + 1], int32_t rows[count], int32_t places[count],
                                   int64_t starts[K + 1]);
EXPORTED int64_t INDEXED(count_pairs)(int64_t n, int64_t K, int64_t count, const INDEX active[count],
                                      const int64_t begin[n + 1], const int32_t rows[count],
                                      const int32_t places[count], const int64_t starts[K + 1], int64_t first,
                                      int64_t last, double weight, double second[K * K]);
EXPORTED void INDEXED(image_sums)(int64_t n, int64_t K, int64_t images, int64_t count, const INDEX active[count],
                                  const int64_t begin[n + 1], int64_t each, int64_t first, int64_t last,
                                  float sums[images * K]);
EXPORTED int64_t INDEXED(add_atoms)(int64_t n, int64_t K, int64_t d, int64_t count, int64_t m,
                                    const INDEX active[count], const int64_t begin[n + 1], const float table[K * d],
                                    int64_t first, float out[m * d]);

/* search */
EXPORTED void INDEXED(look_up)(int64_t queries, int64_t tokens, int64_t entries, int64_t items,
                               const double table[queries * tokens * entries], const INDEX codes[items * tokens],
                               int64_t first, int64_t last, double out[queries * items]);
#endif

/* concepts */
EXPORTED double KERNEL(turn_group)(int64_t k, int64_t d, const double own[k * k], double rest[k * d],
                                   double atoms[k * d]);

/* binary */
EXPORTED int64_t KERNEL(alternate_each)(int64_t n, int64_t p, int64_t d, int64_t b, const double X[p * d],
                                        uint8_t starts[n * p * b], int64_t turns, double losses[n]);
EXPORTED int64_t KERNEL(turn_components)(int64_t b, int64_t d, const double along[b * d], const double mean[b],
                                         int64_t p, int64_t first, double lengths[b], double rotation[b * d]);
EXPORTED int64_t KERNEL(turn_bits)(int64_t b, int64_t p, double scores[b * p], const double squares[p],
                                   const double lengths[b], int64_t first, double mean[b], double centred[b * p],
                                   uint8_t bits[b * p], uint8_t before[b * p]);
EXPORTED void KERNEL(count_shared)(int64_t n, int64_t n_words, const uint64_t words[n * n_words], double shared[n * n],
                                   int64_t begin, int64_t end);
EXPORTED int64_t KERNEL(add_squared_sums)(int64_t n, int64_t p, int64_t n_columns, int64_t n_words,
                                          const double X[p * n_columns], const uint64_t words[n * n_words],
                                          double squares[n]);
EXPORTED int64_t KERNEL(nearest_bits)(int64_t n, int64_t b, const double G[b * b], const double scores[n * b],
                                      uint8_t bits[n * b]);
EXPORTED int64_t KERNEL(box_descent)(int64_t m, const double counts[m * m], const double sizes[m], int64_t n,
                                     int64_t squared, double factor, double tilted, const double tilt[m],
                                     const double q[m], const double upper[m], double z[m]);

/* clusters */
EXPORTED void KERNEL(add_pairs)(int64_t n, int64_t pairs, double H[n * n], const double rows[pairs * n],
                                const double weights[pairs]);
EXPORTED int64_t KERNEL(expanding_solution)(int64_t n, const double H[n * n], const double b[n], const double old[n],
                                            double spike, double floor_, double tol, double atom[n], double found[2]);
EXPORTED int64_t KERNEL(move_nodes)(int64_t n, int64_t edges, const int32_t indptr[n + 1],
                                    const int32_t indices[edges], const double weights[edges], const int64_t order[n],
                                    int64_t labels[n], double resolution, double total, int64_t least);
EXPORTED int64_t KERNEL(settle_nodes)(int64_t n, int64_t C, int64_t edges, const int32_t indptr[n + 1],
                                      const int32_t indices[edges], const double weights[edges],
                                      const double costs[n * C], int64_t labels[n], double pull);

/* explorer */
EXPORTED void KERNEL(pull_and_push)(int64_t n, int64_t edges, double places[n * 2], const int64_t head[edges],
                                    const int64_t tail[edges], const double share[edges], double due[edges],
                                    int64_t first, int64_t last, int64_t epochs);

/* manifold */
EXPORTED int64_t KERNEL(search_cells)(int64_t n, int64_t d, int64_t G, int64_t n_tiles, const float X[n * d],
                                      const float near[G * n], const float cosine[G], const float sine[G],
                                      const float tiles[n_tiles * d * 16], const int64_t begin[G + 1], int64_t which[n],
                                      float best[n]);
EXPORTED int64_t KERNEL(search_near_cells)(int64_t n, int64_t d, int64_t G, int64_t n_tiles, const float X[n * d],
                                           const float near[G * n], double reach, const float tiles[n_tiles * d * 16],
                                           const int64_t begin[G + 1], int64_t which[n], float best[n]);
EXPORTED void KERNEL(add_rows)(int64_t n, int64_t d, int64_t m, const float X[n * d], const int64_t labels[n],
                               double sums[m * d]);
EXPORTED int64_t KERNEL(positions_by_code)(int64_t n, int64_t K, int64_t present, const int32_t codes[n],
                                           const int64_t starts[K + 1], int64_t order[present]);
EXPORTED int64_t KERNEL(graph_rows)(int64_t n, int64_t height, int64_t width, int64_t present, int64_t K, int64_t room,
                                    int64_t rows, const int32_t codes[n * height * width], const int64_t order[present],
                                    const int64_t starts[K + 1], int64_t first, int64_t context, int64_t most,
                                    int32_t indices[room], float values[room], int64_t lengths[rows]);
EXPORTED void KERNEL(pool_windows)(int64_t height, int64_t width, int64_t d, int64_t rows, int64_t columns,
                                   const float patches[height * width * d], int64_t pool, int64_t stride,
                                   float out[rows * columns * d]);
EXPORTED int64_t KERNEL(cut_patches)(int64_t n, int64_t h, int64_t w, int64_t c, int64_t patches, int64_t d,
                                     const float images[n * h * w * c], int64_t size, int64_t own_mean,
                                     float out[patches * d]);
EXPORTED void KERNEL(unit_or_blank)(int64_t n, int64_t d, float rows[n * d], double contrast, uint8_t present[n]);

/* search */
EXPORTED void KERNEL(keep_best)(int64_t q, int64_t n, int64_t size, const float products[q * n], const float weight[n],
                                const float offset[q], const float shift[n], int64_t first, float best[q * size],
                                int64_t places[q * size]);
EXPORTED void KERNEL(inverse_lengths)(int64_t n, int64_t d, const float rows[n * d], double out[n]);
EXPORTED void KERNEL(inverse_distances)(int64_t n, int64_t d, const float rows[n * d], const double center[d],
                                        double out[n]);
EXPORTED void KERNEL(cosines)(int64_t n, int64_t d, const float rows[n * d], const double query[d], double out[n]);
EXPORTED void KERNEL(centred_cosines)(int64_t n, int64_t d, const float rows[n * d], const double query[d],
                                      const double center[d], double out[n]);
EXPORTED void KERNEL(keep_nearest)(int64_t q, int64_t n, int64_t d, int64_t size, const float queries[q * d],
                                   const float rows[n * d], const float weight[n], const float offset[q],
                                   const float shift[n], int64_t first, float best[q * size], int64_t places[q * size]);

/* selection */
EXPORTED int64_t KERNEL(log_losses)(int64_t n, int64_t D, int64_t count, int64_t size, const double columns[n * D],
                                    const int64_t subsets[count * size], int64_t kind, double power,
                                    double losses[count]);
EXPORTED int64_t KERNEL(losses_of_one_more)(int64_t n, int64_t D, int64_t count, const double columns[n * D],
                                            const int64_t chosen[count], int64_t kind, double power, int64_t start,
                                            int64_t stop, const int64_t halt[1], double losses[n]);
EXPORTED double KERNEL(best_exchange)(int64_t n, int64_t D, int64_t size, const double columns[n * D],
                                      const int64_t chosen[size], int64_t kind, double power, const int64_t halt[1],
                                      int64_t places[2]);
EXPORTED int64_t KERNEL(search_branches)(int64_t n, int64_t D, int64_t size, const double columns[n * D], int64_t kind,
                                          double power, double floor_, double equal, int64_t most_losses,
                                          const int64_t halt[1], int64_t best[size], double log_loss[2]);

/* solvers */
EXPORTED void KERNEL(to_unit_diagonal)(int64_t m, const double G[m * m], double ridge, double scaled[m * m],
                                       double lengths[m], double bounds[2]);
EXPORTED double KERNEL(primal_value)(int64_t dimension, int64_t count, const double W[dimension * count],
                                     const double weights[count], double ridge);
EXPORTED int64_t KERNEL(newton_directions)(int64_t dimension, int64_t count, const double V[dimension * dimension],
                                           const double W[dimension * count], const double weights[count],
                                           const double curvature[count], const double pull[count], double ridge,
                                           double towards[dimension * dimension], double away[dimension * dimension]);
EXPORTED int64_t KERNEL(powers_of_moment)(int64_t dimension, const double moment[dimension * dimension],
                                          double trials[3 * dimension * dimension]);
EXPORTED int64_t KERNEL(shrink_inside)(int64_t dimension, int64_t count, const double W[dimension * count],
                                       double ridge, double slack, double V[dimension * dimension],
                                       double weights[count]);
EXPORTED double KERNEL(step_along)(int64_t dimension, int64_t count, const double V[dimension * dimension],
                                   const double W[dimension * count], const double weights[count],
                                   const double z[count], const double towards[dimension * dimension],
                                   const double away[dimension * dimension], double dV[dimension * dimension],
                                   double change[count]);
EXPORTED double KERNEL(first_reached)(int64_t dimension, int64_t count, const double V[dimension * dimension],
                                      const double dV[dimension * dimension], const double W[dimension * count]);
EXPORTED int64_t KERNEL(path_of_all)(int64_t dimension, int64_t count, int64_t steps,
                                     const double W[dimension * count], double ridge, double tol, int64_t begun,
                                     double shortest, double no_slack, double V[dimension * dimension],
                                     double weights[count], double history[steps], double certificate[2]);
EXPORTED int64_t KERNEL(weight_over_slack)(int64_t dimension, int64_t count, const double V[dimension * dimension],
                                           const double W[dimension * count], const double weights[count],
                                           double ratio[count], uint8_t used[count]);
EXPORTED double KERNEL(proximal_weight)(int64_t dimension, int64_t count, const double W[dimension * count],
                                        const double weights[count], double ridge);
EXPORTED double KERNEL(polish_step)(int64_t dimension, int64_t count, const double W[dimension * count],
                                    const double dV[dimension * dimension], double cost, double ridge, double unused,
                                    double V[dimension * dimension], double weights[count], double missing[count]);
EXPORTED int64_t KERNEL(polish_few)(int64_t dimension, int64_t count, const double W[dimension * count], double ridge,
                                    double unused, double exact, int64_t steps, double V[dimension * dimension],
                                    double weights[count]);
EXPORTED int64_t KERNEL(sphere_minimum)(int64_t n, const double H[n * n], const double b[n], const double values[n],
                                        const double vectors[n * n], double point[n], double found[3]);

#endif
