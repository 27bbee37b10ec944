/* Where marks are set: bytes that are 0 or 1. */
#ifndef PELLUCID_MARKS_H
#define PELLUCID_MARKS_H

#include "lanes.h"

/* 64 marks as the bits of a number, the first being the lowest */
static inline uint64_t bits_of(const uint8_t *marks) {
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++) {
        uint64_t eight;
        memcpy(&eight, marks + 8 * k, sizeof eight);
        bits |= (eight * 0x0102040810204080u >> 56) << 8 * k; /* each of them moves to the highest byte */
    }
    return bits;
}

#endif
