// SPDX-License-Identifier: Apache-2.0
// What the vector code of the kernels (lanes.inc, *.inc) needs from outside.
#pragma once

// GCC 12 takes the deliberately undefined registers of its own avx512fintrin.h for mistakes (bug
// 105593); wrapping the #include would not do, as the warning comes where they are inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "stepscope/base/element.h"
#include "stepscope/base/isa.h"
