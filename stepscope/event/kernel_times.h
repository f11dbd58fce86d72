// SPDX-License-Identifier: Apache-2.0
// Times of single kernels of one device (read/kernels/read_kernel_times.h): what
// `python -m stepscope.torch.kernels` writes. Each time is of one call without its launch by the
// host, if nothing else is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

enum class KernelKind : std::uint8_t {
  product,    // [m, k] x [k, n] in `format`
  grouped,    // the m rows divided evenly among `experts` matrices of k x n, in 16 bits
  attention,  // causal and fused, in 16 bits: batch, heads, length, size of a head
  pointwise,  // a pass over `amount` bytes of memory; `work` says how it reads them
  optimizer,  // a step of AdamW on `amount` weights of 16 bits with copies of 32 bits
  copy,       // of `amount` bytes: within the device, and between it and the host
  launch      // small calls in a row
};
inline constexpr auto kernel_kind_names = enum_names<KernelKind::launch>;

struct KernelTime {
  KernelKind kind{};
  std::size_t line = 0;  // of the file, from 1
  std::string format{};  // of a product: "bf16"
  std::string work{};    // of a pointwise pass: "add", "cast_add", "half_of_rows"
  std::int64_t m = 0, k = 0, n = 0, experts = 1;
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
  double amount = 0;
  std::optional<Seconds> time{};      // absent: of a launch
  std::optional<Seconds> backward{};  // of attention
  // The times of a copy from pinned or pageable memory of the host to the device, and back.
  std::optional<Seconds> from_pinned{}, to_pinned{}, from_pageable{}, to_pageable{};
  // The host's time for one call of many: without autograd, and of a product with it.
  std::optional<Seconds> add_host{}, product_host{};
};

struct KernelTimes {
  std::string path{};
  std::string device{};        // as PyTorch names it; empty: the file does not say
  std::optional<int> units{};  // multiprocessors
  std::vector<KernelTime> kernels{};
  std::size_t failed = 0;         // lines of kernels that could not be measured
  std::size_t unread = 0;         // lines that are not understood
  std::size_t first_unread = 0;   // number of the first of these, from 1
  std::string why_unread{};       // what is wrong in it
  std::size_t other_devices = 0;  // lines of another device than the first; left out
};

}  // namespace stepscope
