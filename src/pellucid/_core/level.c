/* Which of the compiled levels this processor can run; asked once, when the library is loaded. */
#include "lanes.h"

EXPORTED int64_t level(void);

#ifdef COUNTED_MEMORY
EXPORTED int64_t requests_until_refusal = 0;
#endif

#if defined(__x86_64__)
#include <cpuid.h>

/* x86-64-v3: AVX2, BMI1 and 2, F16C, FMA, LZCNT, MOVBE, and a system that saves the wide registers */
static bool has_v3(void) {
    const unsigned one = bit_SSE3 | bit_SSSE3 | bit_FMA | bit_SSE4_1 | bit_SSE4_2 | bit_MOVBE | bit_POPCNT | bit_OSXSAVE |
                         bit_AVX | bit_F16C;
    const unsigned seven = bit_BMI | bit_AVX2 | bit_BMI2;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & one) != one) return false;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & seven) != seven) return false;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & (1u << 5));
}

int64_t level(void) { return has_v3() ? 3 : 1; }
#else
int64_t level(void) { return 1; }
#endif
