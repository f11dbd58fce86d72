// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/recorded_rows.h"

#include <cstring>
#include <type_traits>

namespace stepscope::zero {
namespace {

// Calls visit(list) for each list of rows, in the order of their bytes.
template <class Rows, class Visit>
void each_list(Rows& rows, Visit&& visit) {
  visit(rows.operations);
  visit(rows.units);
  visit(rows.messages);
  visit(rows.moves);
  visit(rows.activities);
  visit(rows.steps);
}

void put(std::vector<std::byte>& out, const void* from, std::size_t size) {
  const std::size_t at = out.size();
  out.resize(at + size);
  if (size > 0) std::memcpy(out.data() + at, from, size);
}

// Takes `size` bytes from the front; false if there are fewer.
bool take(std::span<const std::byte>& from, void* to, std::size_t size) {
  if (from.size() < size) return false;
  if (size > 0) std::memcpy(to, from.data(), size);
  from = from.subspan(size);
  return true;
}

}  // namespace

void RecordedRows::keep_last(std::size_t count) {
  if (steps.size() <= count) return;
  const Ns from = steps[steps.size() - count].begin;
  std::erase_if(operations, [&](const RecordedOperation& o) { return o.begin < from; });
  std::erase_if(units, [&](const RecordedUnit& u) { return u.begin < from; });
  std::erase_if(messages, [&](const RecordedMessage& m) { return m.record.submitted < from; });
  std::erase_if(moves, [&](const ShardMove& m) { return m.begin < from; });
  std::erase_if(activities, [&](const ActivitySpan& a) { return a.end <= from; });
  std::erase_if(steps, [&](const StepRecord& s) { return s.begin < from; });
}

std::vector<std::byte> encode(const RecordedRows& rows) {
  std::vector<std::byte> out;
  put(out, &rows.left_out, sizeof rows.left_out);
  each_list(rows, [&]<class Row>(const std::vector<Row>& list) {
    static_assert(std::is_trivially_copyable_v<Row>);
    const std::uint64_t count = list.size();
    put(out, &count, sizeof count);
    put(out, list.data(), count * sizeof(Row));
  });
  return out;
}

Result<RecordedRows> decode_rows(std::span<const std::byte> bytes) {
  RecordedRows rows;
  bool whole = take(bytes, &rows.left_out, sizeof rows.left_out);
  each_list(rows, [&]<class Row>(std::vector<Row>& list) {
    std::uint64_t count = 0;
    whole = whole && take(bytes, &count, sizeof count) && count <= bytes.size() / sizeof(Row);
    if (!whole) return;
    list.resize(count);
    whole = take(bytes, list.data(), count * sizeof(Row));
  });
  if (!whole || !bytes.empty()) return Error{.what = "the recorded rows of a rank are damaged"};
  return rows;
}

}  // namespace stepscope::zero
