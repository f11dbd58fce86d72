// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/oom_account.h"

#include <algorithm>

namespace stepscope {
namespace {

// A context with its kernels, NCCL's buffers and workspaces of libraries: what a process holds
// in addition to its allocator.
constexpr std::int64_t largest_context = std::int64_t{4} << 30;

std::int64_t of(const std::optional<Bytes>& bytes) { return bytes ? bytes->value : 0; }

// Small processes (a desktop, a monitor) are on many devices, and are not why one is full.
bool large_share(Bytes others, const std::optional<Bytes>& total) {
  return others.value > 0 && (!total || others.value >= total->value / 10);
}

std::optional<Bytes> reserved_by(const OomMessage& m) {
  if (!m.allocated || !m.unallocated) return std::nullopt;
  return Bytes{m.allocated->value + m.unallocated->value};
}

// Half of the last digit that PyTorch writes of a size: hundredths of GiB, MiB or KiB.
std::int64_t half_digit(Bytes size) {
  for (const int shift : {30, 20, 10})
    if (size.value >= std::int64_t{1} << shift) return (std::int64_t{1} << shift) / 200 + 1;
  return 0;
}

// What the process itself holds by the message; absent where it is less than its allocator has.
std::optional<Bytes> own_of(const OomMessage& m) {
  const std::int64_t reserved = of(m.allocated) + of(m.unallocated);
  if (!m.own || m.own->value < reserved - reserved / 200) return std::nullopt;
  return m.own;
}

// What neither the allocator nor a process with a size holds; 0 where a size is not known.
Bytes held_outside(const OomMessage& m, const OomAccount& a, bool own) {
  if (!m.total || !m.free || !a.reserved) return {};
  const std::int64_t known = own ? std::max(a.used->value, a.reserved->value) : a.reserved->value;
  const std::int64_t rest = m.total->value - m.free->value - known - a.others.value;
  const bool more = own || rest > largest_context;
  return more && large_share(Bytes{rest}, m.total) ? Bytes{rest} : Bytes{};
}

// The index of the process that is the writer itself; absent if the message says its own size.
std::optional<std::size_t> own_process(const OomMessage& m) {
  if (own_of(m) || !m.allocated) return std::nullopt;
  const std::int64_t reserved = of(m.allocated) + of(m.unallocated);
  std::optional<std::size_t> own;
  for (std::size_t i = 0; i < m.processes.size(); ++i) {
    // Sizes are rounded to hundredths of their unit.
    const std::int64_t more = m.processes[i].bytes.value - reserved;
    if (more < -(reserved / 200) || more > largest_context) continue;
    if (!own || m.processes[i].bytes.value < m.processes[*own].bytes.value) own = i;
  }
  return own;
}

}  // namespace

OomAccount account_oom(const OomMessage& m) {
  OomAccount out;
  const auto own = own_process(m);
  std::int64_t largest = -1;
  for (std::size_t i = 0; i < m.processes.size(); ++i) {
    if (own == i) continue;
    out.others.value += m.processes[i].bytes.value;
    if (m.processes[i].bytes.value > largest) {
      largest = m.processes[i].bytes.value;
      out.other_pid = m.processes[i].pid;
    }
  }
  out.reserved = reserved_by(m);
  const auto stated = own_of(m);
  if (stated)
    out.used = stated;
  else if (own)
    out.used = m.processes[*own].bytes;
  else
    out.used = m.allocated;
  out.outside = held_outside(m, out, stated || own);
  if (m.needed && m.total && m.needed->value > m.total->value) {
    out.cause = OomCause::program;
    out.missing = Bytes{m.needed->value - m.total->value};
    return out;
  }
  if (!m.request) return out;
  const std::int64_t request = m.request->value;
  if (m.total && request > m.total->value) {
    out.cause = OomCause::too_large;
    out.missing = Bytes{request - m.total->value};
    return out;
  }
  if (m.at_once && request > m.at_once->value) {
    out.cause = OomCause::block;
    return out;
  }
  // What other processes hold is not in the message; less than this is free in any case.
  if (!m.free && m.total && m.allocated && request > m.total->value - m.allocated->value) {
    out.cause = OomCause::missing;
    out.at_least = true;
    out.missing = Bytes{request - (m.total->value - m.allocated->value)};
    return out;
  }
  const bool xla = m.backend == "XLA";
  // A message before the allocator gives up has the sizes of the device alone.
  if (m.retried && m.free && m.total && request > m.free->value) {
    out.cause = OomCause::missing;
    out.used = Bytes{m.total->value - m.free->value};
    out.missing = Bytes{request - m.free->value};
    return out;
  }
  if (!m.free || (!m.allocated && !xla)) return out;
  const std::int64_t usable = m.free->value + of(m.unallocated);
  out.missing = Bytes{std::max<std::int64_t>(0, request - usable)};
  const std::int64_t held = of(m.allocated) + of(m.unallocated) + request;
  const bool limit = m.allowed && m.total && *m.allowed < *m.total &&
                     held > m.allowed->value - half_digit(*m.allowed);
  if (limit && (of(m.unallocated) < request || request <= m.free->value)) {
    out.cause = OomCause::limited;
    out.missing = Bytes{std::max<std::int64_t>(0, of(m.allocated) + request - m.allowed->value)};
  } else if (request <= m.free->value) {
    // XLA counts what is free in its own pool, so that only its pieces are too small.
    out.cause = xla ? OomCause::fragmented : OomCause::free_enough;
  } else if (request <= usable) {
    out.cause = OomCause::fragmented;
  } else if (out.others.value >= out.missing.value && large_share(out.others, m.total)) {
    out.cause = OomCause::other_process;
  } else if (out.outside.value - (stated || own ? 0 : largest_context) >= out.missing.value &&
             out.outside.value > 0) {
    out.cause = OomCause::outside;
  } else {
    out.cause = OomCause::missing;
  }
  return out;
}

}  // namespace stepscope
