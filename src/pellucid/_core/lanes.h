/* What every kernel's text begins with: names of exported functions, memory, and sums in a fixed order.

   A sum goes over 128 bytes at a time, in an order that does not depend on the width of the processor; nothing is
   compiled with -ffast-math or fused products. So one machine gives the bits of another. */
#ifndef PELLUCID_LANES_H
#define PELLUCID_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON 2.2e-16

/* a kernel says by this that it got no memory; the binding makes it a MemoryError */
#define NO_MEMORY INT64_MIN
/* and by this that sizes do not belong together, or that an integer names nothing; it is a ValueError */
#define NO_FIT (INT64_MIN + 1)

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#ifndef LEVEL
#define LEVEL _baseline
#endif
#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* KERNEL(name) is what Python calls as name; TYPED exists for REAL = float and double, INDEXED for INDEX = uint8_t,
   uint16_t and int32_t: files called *.real.c and *.index.c are compiled for each */
#define KERNEL(name) JOINED(name, LEVEL)
#ifdef REAL
#define TYPED(name) KERNEL(JOINED(name, REAL_SUFFIX))
#endif
#ifdef INDEX
#define INDEXED(name) KERNEL(JOINED(name, INDEX_SUFFIX))
#endif

#ifdef COUNTED_MEMORY /* tests refuse a request on purpose */
extern int64_t requests_until_refusal;
#endif

/* room for so many things, or NULL; free() gives it back */
static inline void *room_of(int64_t count, size_t size) {
#ifdef COUNTED_MEMORY
    if (requests_until_refusal > 0 && --requests_until_refusal == 0) return NULL;
#endif
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / size) return NULL;
    return malloc(count ? (size_t)count * size : 1);
}
#define ROOM(type, count) ((type *)room_of((count), sizeof(type)))

/* sums over lanes of 32 bytes, four at a time */
#define SUMS(T, lanes, name, count)                                                                                    \
    typedef T lanes __attribute__((vector_size(32)));                                                                  \
    static inline lanes load_##name(const T *a) {                                                                      \
        lanes v;                                                                                                       \
        memcpy(&v, a, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }                                                                                                                  \
    static inline T total_##name(lanes v) {                                                                            \
        T t[count];                                                                                                    \
        memcpy(t, &v, sizeof v);                                                                                       \
        for (int half = (count) / 2; half; half /= 2)                                                                  \
            for (int i = 0; i < half; i++) t[i] += t[i + half];                                                        \
        return t[0];                                                                                                   \
    }                                                                                                                  \
    /* Σ aᵢbᵢ */                                                                                                       \
    static inline T dot_##name(const T *a, const T *b, int64_t n) {                                                    \
        T total = 0;                                                                                                   \
        int64_t i = 0;                                                                                                 \
        if (n >= (count)) {                                                                                            \
            lanes s = {0};                                                                                             \
            if (n >= 4 * (count)) {                                                                                    \
                lanes t = {0}, u = {0}, v = {0};                                                                       \
                for (; i + 4 * (count) <= n; i += 4 * (count)) {                                                       \
                    s += load_##name(a + i) * load_##name(b + i);                                                      \
                    t += load_##name(a + i + (count)) * load_##name(b + i + (count));                                  \
                    u += load_##name(a + i + 2 * (count)) * load_##name(b + i + 2 * (count));                          \
                    v += load_##name(a + i + 3 * (count)) * load_##name(b + i + 3 * (count));                          \
                }                                                                                                      \
                s = (s + t) + (u + v);                                                                                 \
            }                                                                                                          \
            for (; i + (count) <= n; i += (count)) s += load_##name(a + i) * load_##name(b + i);                       \
            total = total_##name(s);                                                                                   \
        }                                                                                                              \
        for (; i < n; i++) total += a[i] * b[i];                                                                       \
        return total;                                                                                                  \
    }                                                                                                                  \
    /* a += factor·b */                                                                                                \
    static inline void add_scaled_##name(T *restrict a, T factor, const T *restrict b, int64_t n) {                    \
        for (int64_t i = 0; i < n; i++) a[i] += factor * b[i];                                                         \
    }

SUMS(double, lanes_f64, f64, 4)
SUMS(float, lanes_f32, f32, 8)

#ifdef REAL
#define dot_real(a, b, n) _Generic((REAL)0, float: dot_f32, double: dot_f64)(a, b, n)
#define add_scaled_real(a, factor, b, n) _Generic((REAL)0, float: add_scaled_f32, double: add_scaled_f64)(a, factor, b, n)
#endif

/* Σ aᵢbᵢ in float64 of numbers in float32 and in float64 */
static inline lanes_f64 load_wide(const float *a) {
    typedef float four __attribute__((vector_size(16)));
    four v;
    memcpy(&v, a, sizeof v);
    return __builtin_convertvector(v, lanes_f64);
}
static inline double dot_wide(const float *a, const double *b, int64_t n) {
    lanes_f64 s = {0}, t = {0}, u = {0}, v = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        s += load_wide(a + i) * load_f64(b + i);
        t += load_wide(a + i + 4) * load_f64(b + i + 4);
        u += load_wide(a + i + 8) * load_f64(b + i + 8);
        v += load_wide(a + i + 12) * load_f64(b + i + 12);
    }
    double total = total_f64((s + t) + (u + v));
    for (; i < n; i++) total += (double)a[i] * b[i];
    return total;
}
/* Σ aᵢ² in float64 of numbers in float32 */
static inline double square_wide(const float *a, int64_t n) {
    lanes_f64 s = {0}, t = {0}, u = {0}, v = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        s += load_wide(a + i) * load_wide(a + i);
        t += load_wide(a + i + 4) * load_wide(a + i + 4);
        u += load_wide(a + i + 8) * load_wide(a + i + 8);
        v += load_wide(a + i + 12) * load_wide(a + i + 12);
    }
    double total = total_f64((s + t) + (u + v));
    for (; i < n; i++) total += (double)a[i] * (double)a[i];
    return total;
}

/* as Python's: of a NaN and a number, the second or the first as a comparison says */
static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline int64_t larger_int(int64_t a, int64_t b) { return b > a ? b : a; }
static inline int64_t smaller_int(int64_t a, int64_t b) { return b < a ? b : a; }

#endif
