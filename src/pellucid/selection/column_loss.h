/* The loss of a choice of columns (losses.py), which stand in the rows of an array. */
#ifndef PELLUCID_COLUMN_LOSS_H
#define PELLUCID_COLUMN_LOSS_H

#include "eigen.h"

/* as losses.py names them; every other kind is the isometry loss */
#define BASIS_PURSUIT 1
/* least eigenvalue: a column that depends on the others has an enormous loss, but one that compares */
#define LEAST_EIGENVALUE 1e-300
/* columns whose products have eigenvalues this far apart depend on each other */
#define DEPENDENT 1e-15

/* Whether another thread has set a flag. */
static inline bool is_set(const int64_t *flag) { return *(const volatile int64_t *)flag != 0; }

/* Losses of at most `most` of the columns (n, D), whose inner products stand in `products`, rows `most` apart. */
typedef struct {
    int64_t n, D, most, kind;
    double power;
    const double *columns;
    double *products, *matrix, *vectors, *values, *room;
} Losses;

static inline bool prepare_losses(Losses *l, const double *columns, int64_t n, int64_t D, int64_t most, int64_t kind,
                                  double power) {
    *l = (Losses){.n = n, .D = D, .most = most, .kind = kind, .power = power, .columns = columns};
    l->products = ROOM(double, 3 * most * most + most + EIGEN_ROOM(most));
    if (!l->products) return false;
    l->matrix = l->products + most * most, l->vectors = l->matrix + most * most;
    l->values = l->vectors + most * most, l->room = l->values + most;
    return true;
}

static inline void let_go_losses(Losses *l) { free(l->products); }

/* Whether these are columns that there are. */
static inline bool are_there(const Losses *l, const int64_t *chosen, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (chosen[i] < 0 || chosen[i] >= l->n) return false;
    return true;
}

/* The inner products of the chosen column at `place` with the first `count` of them. */
static inline void take_column(const Losses *l, const int64_t *chosen, int64_t count, int64_t place) {
    const double *column = l->columns + chosen[place] * l->D;
    for (int64_t i = 0; i < count; i++) {
        double product = dot_f64(column, l->columns + chosen[i] * l->D, l->D);
        l->products[place * l->most + i] = l->products[i * l->most + place] = product;
    }
}

/* log Σ ‖row of the pseudo-inverse‖, whose squares are the diagonal of the inverse of the products */
static inline double log_inverse_rows(const Losses *l, int64_t count) {
    if (!symmetric_eigen(l->matrix, count, l->values, l->vectors, l->room)) return INFINITY;
    if (l->values[0] <= DEPENDENT * l->values[count - 1]) return INFINITY;
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double square = 0.0;
        for (int64_t k = 0; k < count; k++) {
            double entry = l->vectors[k * count + i];
            square += entry * entry / l->values[k];
        }
        total += sqrt(square);
    }
    return log(total);
}

/* log Σ g(σ_d), g(t) = (exp(t^c) + exp(t^−c)) / 2e */
static inline double log_isometry(const Losses *l, int64_t count) {
    if (!symmetric_eigen(l->matrix, count, l->values, NULL, l->room)) return INFINITY;
    double largest = 0.0, total = 0.0, *up = l->room, *down = up + count; /* σ^c and σ^−c */
    for (int64_t i = 0; i < count; i++) {
        double exponent = 0.5 * l->power * log(larger(l->values[i], LEAST_EIGENVALUE));
        up[i] = exp(exponent), down[i] = exp(-exponent);
        largest = larger(largest, larger(up[i], down[i]));
    }
    if (isinf(largest)) return INFINITY;
    for (int64_t i = 0; i < count; i++) total += exp(up[i] - largest) + exp(down[i] - largest);
    return log(total) + largest - log(2.0) - 1.0;
}

/* Logarithm of the loss of the first `count` chosen columns, whose products have been taken. */
static inline double log_loss_of(const Losses *l, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        memcpy(l->matrix + i * count, l->products + i * l->most, (size_t)count * sizeof(double));
    return l->kind == BASIS_PURSUIT ? log_inverse_rows(l, count) : log_isometry(l, count);
}

#endif
