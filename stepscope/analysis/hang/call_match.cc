// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {
namespace {

bool both(std::int64_t a, std::int64_t b) { return a >= 0 && b >= 0; }
bool differ(std::int64_t a, std::int64_t b) { return both(a, b) && a != b; }
// Only a root has, or lacks, a side of its own.
bool differ_where_given(std::int64_t a, std::int64_t b) { return a > 0 && b > 0 && a != b; }

bool types_differ(StringId a, StringId b) {
  return a != empty_string && b != empty_string && a != b;
}

bool sizes_differ(const CommCall& a, const CommCall& b) {
  using enum CollectiveKind;
  switch (a.kind) {
    case all_to_all:
    case send:
    case recv:
    case send_recv:
    case none:
    case barrier:
      return false;
    case scatter:
      return differ_where_given(a.out_elements, b.out_elements);
    case gather:
      return differ_where_given(a.in_elements, b.in_elements);
    case broadcast:
    case reduce:
      return differ_where_given(a.in_elements, b.in_elements) ||
             differ_where_given(a.out_elements, b.out_elements);
    case all_gather:  // an uneven one has a single total
      if (both(a.out_elements, b.out_elements)) return a.out_elements != b.out_elements;
      return differ(a.in_elements, b.in_elements);
    case reduce_scatter:
      if (both(a.in_elements, b.in_elements)) return a.in_elements != b.in_elements;
      return differ(a.out_elements, b.out_elements);
    case all_reduce:
    case unknown:
      break;
  }
  return differ(a.in_elements, b.in_elements) || differ(a.out_elements, b.out_elements);
}

constexpr std::size_t looked_ahead = 16;

// True if the following calls agree. Both sides need at least `least` calls.
bool agree(std::span<const CommCall> a, std::span<const CommCall> b, std::size_t least) {
  const std::size_t n = std::min({a.size(), b.size(), looked_ahead});
  if (n < least) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (difference(a[i], b[i])) return false;
  return true;
}

}  // namespace

std::optional<HangKind> difference(const CommCall& a, const CommCall& b) {
  const auto known = [](CollectiveKind kind) {
    return kind != CollectiveKind::unknown && kind != CollectiveKind::none;
  };
  const bool both_known = known(a.kind) && known(b.kind);
  if (both_known ? a.kind != b.kind : a.name != b.name) return HangKind::operation;
  if (sizes_differ(a, b)) return HangKind::size;
  if (a.kind != CollectiveKind::scatter && a.kind != CollectiveKind::broadcast &&
      types_differ(a.in_types, b.in_types))
    return HangKind::type;
  if (a.kind != CollectiveKind::gather && types_differ(a.out_types, b.out_types))
    return HangKind::type;
  if (a.arguments != b.arguments) return HangKind::argument;
  return std::nullopt;
}

Deviation deviation(std::span<const CommCall> mine, std::span<const CommCall> theirs) {
  Deviation out;
  const auto first = difference(mine[0], theirs[0]);
  out.kind = first.value_or(HangKind::operation);
  const bool same_behind = agree(mine.subspan(1), theirs.subspan(1), 1);
  if (out.kind != HangKind::operation && same_behind) return out;
  const auto rest = [](std::span<const CommCall> calls, std::size_t n) {
    return calls.subspan(std::min(n, calls.size()));
  };
  out.next_of_others = theirs.size() > 1 && !difference(mine[0], theirs[1]);
  const bool theirs_next = mine.size() > 1 && !difference(mine[1], theirs[0]);
  const bool order = out.next_of_others && theirs_next && agree(rest(mine, 2), rest(theirs, 2), 0);
  const bool left_out = out.next_of_others && agree(rest(mine, 1), rest(theirs, 2), 1);
  const bool additional = theirs_next && agree(rest(mine, 2), rest(theirs, 1), 1);
  // If the following calls fit both, the number of calls decides.
  if (order && !(left_out && theirs.size() == mine.size() + 1) &&
      !(additional && mine.size() == theirs.size() + 1))
    out.kind = HangKind::order;
  else if (left_out)
    out.kind = HangKind::left_out;
  else if (additional)
    out.kind = HangKind::additional;
  return out;
}

}  // namespace stepscope
