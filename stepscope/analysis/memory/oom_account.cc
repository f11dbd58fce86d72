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

// Whether what the process holds by the driver, and what is free, is the whole device. Then what
// its allocator counts beyond is not on the device, as the pools that vLLM's sleep mode has
// released.
bool fills_the_device(const OomMessage& m) {
  return m.own && m.free && m.total && m.own->value <= m.total->value &&
         m.own->value + m.free->value >= m.total->value - m.total->value / 50;
}

// What the process itself holds by the message; absent where it is less than its allocator has, as
// in containers.
std::optional<Bytes> own_of(const OomMessage& m) {
  const std::int64_t reserved = of(m.allocated) + of(m.unallocated);
  if (!m.own || (m.own->value < reserved - reserved / 200 && !fills_the_device(m)))
    return std::nullopt;
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

// Other processes of one size, which is that of a context: other ranks, that made one on this
// device before they chose theirs.
int contexts_in(const OomMessage& m, std::optional<std::size_t> own) {
  constexpr std::int64_t common_context = std::int64_t{1} << 30;
  std::int64_t least = common_context;
  std::int64_t most = 0;
  int count = 0;
  for (std::size_t i = 0; i < m.processes.size(); ++i) {
    if (own == i) continue;
    least = std::min(least, m.processes[i].bytes.value);
    most = std::max(most, m.processes[i].bytes.value);
    ++count;
  }
  const bool alike = least > 0 && most <= common_context && most - least <= least / 10;
  return alike && count > 1 ? count : 0;
}

// Whether what is in use on the device is what the allocator has, and at most a common context.
bool is_alone(const OomMessage& m, const OomAccount& a) {
  constexpr std::int64_t common_context = std::int64_t{3} << 29;
  if (!m.total || !m.free || !a.reserved || a.others.value > 0) return false;
  return m.total->value - m.free->value - a.reserved->value <= common_context;
}

// Who holds what by the message.
OomAccount held_by(const OomMessage& m) {
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
  out.contexts = contexts_in(m, own);
  out.reserved = reserved_by(m);
  const auto stated = own_of(m);
  if (stated)
    out.used = stated;
  else if (own)
    out.used = m.processes[*own].bytes;
  else
    out.used = m.allocated;
  out.own_known = stated || own;
  out.outside = held_outside(m, out, out.own_known);
  out.alone = is_alone(m, out);
  return out;
}

bool concludes(OomAccount& out, OomCause cause, std::int64_t missing = 0) {
  out.cause = cause;
  out.missing = Bytes{std::max<std::int64_t>(0, missing)};
  return true;
}

// Each rule concludes, or leaves the message to the next one.

bool of_compiled_program(const OomMessage& m, OomAccount& out) {
  if (!m.needed || !m.total || *m.needed <= *m.total) return false;
  return concludes(out, OomCause::program, m.needed->value - m.total->value);
}

bool of_context(const OomMessage& m, OomAccount& out) {
  return m.for_context && concludes(out, OomCause::context);
}

bool of_one_request(const OomMessage& m, OomAccount& out) {
  if (!m.request) return true;  // the cause stays unknown
  if (m.total && *m.request > *m.total)
    return concludes(out, OomCause::too_large, m.request->value - m.total->value);
  return m.at_once && *m.request > *m.at_once && concludes(out, OomCause::block);
}

// Before its start a program holds nothing but a context.
bool of_start(const OomMessage& m, OomAccount& out) {
  if (!m.share || !m.total || !m.free) return false;
  out.outside = Bytes{std::max<std::int64_t>(0, m.total->value - m.free->value)};
  return concludes(out, OomCause::at_start, m.request->value - m.free->value);
}

// Drivers of Windows and WSL, and managed memory, give memory of the host where the device is full.
// What is missing is then not known. Sizes are rounded.
bool of_memory_beyond(const OomMessage& m, OomAccount& out) {
  if (!m.total || !m.allocated) return false;
  const std::int64_t held = of(m.allocated) + of(m.unallocated);
  if (held <= m.total->value + m.total->value / 200 || fills_the_device(m)) return false;
  out.beyond = Bytes{held - m.total->value};
  return concludes(out, OomCause::beyond);
}

// Metal's limit counts what PyTorch's allocator does not hold as well.
bool of_metal_limit(const OomMessage& m, OomAccount& out) {
  if (!m.elsewhere || !m.allocated || !m.allowed) return false;
  const std::int64_t over =
      m.allocated->value + m.elsewhere->value + m.request->value - m.allowed->value;
  return over > -half_digit(*m.allowed) && concludes(out, OomCause::limited, over);
}

// The pool of TensorFlow's and XLA's allocator.
bool of_pool(const OomMessage& m, OomAccount& out) {
  if (m.allocator.empty() || !m.allowed || !m.allocated) return false;
  const std::int64_t missing = m.request->value + m.allocated->value - m.allowed->value;
  return concludes(out, missing > 0 ? OomCause::limited : OomCause::fragmented, missing);
}

// What other processes hold is not in the message; less than this is free in any case.
bool without_free(const OomMessage& m, OomAccount& out) {
  if (m.free || !m.total || !m.allocated) return false;
  const std::int64_t most_free = m.total->value - m.allocated->value;
  out.at_least = m.request->value > most_free;
  return out.at_least && concludes(out, OomCause::missing, m.request->value - most_free);
}

// A message before the allocator gives up has the sizes of the device alone.
bool before_retry(const OomMessage& m, OomAccount& out) {
  if (!m.retried || !m.free || !m.total || *m.request <= *m.free) return false;
  out.used = Bytes{m.total->value - m.free->value};
  return concludes(out, OomCause::missing, m.request->value - m.free->value);
}

bool of_own_limit(const OomMessage& m, OomAccount& out) {
  if (!m.allowed || !m.total || *m.allowed >= *m.total) return false;
  const std::int64_t request = m.request->value;
  const std::int64_t held = of(m.allocated) + of(m.unallocated) + request;
  const bool over = held > m.allowed->value - half_digit(*m.allowed);
  return over && (of(m.unallocated) < request || request <= m.free->value) &&
         concludes(out, OomCause::limited, of(m.allocated) + request - m.allowed->value);
}

bool of_device(const OomMessage& m, OomAccount& out) {
  const bool xla = m.framework == OomFramework::xla;
  if (!m.free || (!m.allocated && !xla)) return false;
  if (of_own_limit(m, out)) return true;
  const std::int64_t request = m.request->value;
  const std::int64_t missing = request - m.free->value - of(m.unallocated);
  // What is left of a full device may be in pieces that are too small.
  const bool full = m.total && m.free->value <= m.total->value / 1000 &&
                    out.used.value_or(Bytes{}).value > m.total->value / 2;
  if (!xla && request <= m.free->value && full) return concludes(out, OomCause::missing);
  // XLA counts what is free in its own pool, so that only its pieces are too small.
  if (request <= m.free->value)
    return concludes(out, xla ? OomCause::fragmented : OomCause::free_enough);
  // Pieces are not worth a look where something else holds more of the device than the allocator.
  const bool others_lead = large_share(out.others, m.total) && out.others.value > of(out.reserved);
  const bool outside_leads = out.outside.value > of(out.reserved);
  if (missing <= 0)
    return concludes(out, others_lead     ? OomCause::other_process
                          : outside_leads ? OomCause::outside
                                          : OomCause::fragmented);
  if (out.others.value >= missing && large_share(out.others, m.total))
    return concludes(out, OomCause::other_process, missing);
  const std::int64_t outside = out.outside.value - (out.own_known ? 0 : largest_context);
  if (out.outside.value > 0 && outside >= missing)
    return concludes(out, OomCause::outside, missing);
  return concludes(out, OomCause::missing, missing);
}

}  // namespace

std::size_t leading_oom(std::span<const OomMessage> messages) {
  const auto rank_of = [](const OomMessage& m) {
    return m.retried ? 0 : account_oom(m).cause == OomCause::unknown ? 1 : 2;
  };
  const auto leading = std::ranges::max_element(messages, {}, rank_of);
  return static_cast<std::size_t>(leading - messages.begin());
}

OomAccount account_oom(const OomMessage& m) {
  OomAccount out = held_by(m);
  for (const auto rule :
       {of_compiled_program, of_context, of_one_request, of_start, of_memory_beyond, of_metal_limit,
        of_pool, without_free, before_retry, of_device})
    if (rule(m, out)) break;
  return out;
}

}  // namespace stepscope
