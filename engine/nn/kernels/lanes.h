// SPDX-License-Identifier: Apache-2.0
// Headers that the vector code of the kernels (lanes.inc, *.inc) needs.
#pragma once

// GCC 12 warns about the deliberately undefined registers of its own avx512fintrin.h (bug 105593).
// Pragmas around the #include do not help, because the warning appears where the functions are
// inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "stepscope/base/element.h"
#include "stepscope/base/isa.h"
