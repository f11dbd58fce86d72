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

// The index of the process that is the writer itself; absent if the message says its own size.
std::optional<std::size_t> own_process(const OomMessage& m) {
  if (m.own || !m.allocated) return std::nullopt;
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
  if (m.own)
    out.used = m.own;
  else if (own)
    out.used = m.processes[*own].bytes;
  else
    out.used = m.allocated;
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
  if (!m.free || (!m.allocated && !xla)) return out;
  const std::int64_t usable = m.free->value + of(m.unallocated);
  out.missing = Bytes{std::max<std::int64_t>(0, request - usable)};
  const bool limit = m.allowed && m.total && *m.allowed < *m.total &&
                     of(m.allocated) + of(m.unallocated) + request > m.allowed->value;
  if (limit && of(m.unallocated) < request) {
    out.cause = OomCause::limited;
    out.missing = Bytes{std::max<std::int64_t>(0, of(m.allocated) + request - m.allowed->value)};
  } else if (request <= m.free->value) {
    // XLA counts what is free in its own pool, so that only its pieces are too small.
    out.cause = xla ? OomCause::fragmented : OomCause::free_enough;
  } else if (request <= usable) {
    out.cause = OomCause::fragmented;
  } else if (out.others.value >= out.missing.value && large_share(out.others, m.total)) {
    out.cause = OomCause::other_process;
  } else {
    out.cause = OomCause::missing;
  }
  return out;
}

}  // namespace stepscope
