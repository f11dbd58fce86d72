// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {
namespace {

// The group that stands for messages of one kind; absent without such messages.
std::optional<std::uint32_t> group_of_messages(const CommRecords& records, std::string_view key) {
  const auto at = records.group_index.find(key);
  return at == records.group_index.end() ? std::nullopt : std::optional(at->second);
}

bool same_call(const CommCall& a, const CommCall& b) {
  return a.sequence == b.sequence && !difference(a, b);
}

}  // namespace

// Calls that PyTorch itself compared and found different. Messages belong to one meeting as long as
// no rank has two calls.
void find_compared(const CommRecords& records, HangAccount& out) {
  const auto group = group_of_messages(records, compared_group);
  if (!group) return;
  struct Met {
    std::map<int, CommCall> calls{};
    bool of_group = false;
    bool alone = false;  // each rank gave its own call
  };
  std::vector<Met> meetings;
  for (const ComparedCalls& c : records.compared) {
    const auto fits = [&](const Met& m) {
      const auto agrees = [&](int rank, const CommCall& call) {
        const auto at = m.calls.find(rank);
        return at == m.calls.end() || same_call(at->second, call);
      };
      return m.alone == !c.other && agrees(c.rank, c.call) &&
             (!c.other || agrees(*c.other, c.instead));
    };
    if (meetings.empty() || !fits(meetings.back())) meetings.push_back({.alone = !c.other});
    Met& met = meetings.back();
    met.calls.try_emplace(c.rank, c.call);
    if (c.other) met.calls.try_emplace(*c.other, c.instead);
    met.of_group = met.of_group || c.of_group;
  }
  for (const Met& met : meetings) {
    std::vector<std::vector<int>> classes;
    for (const auto& [rank, call] : met.calls) {
      const auto same = std::ranges::find_if(
          classes, [&](const auto& c) { return same_call(met.calls.at(c.front()), call); });
      if (same == classes.end())
        classes.push_back({rank});
      else
        same->push_back(rank);
    }
    std::ranges::stable_sort(classes, std::ranges::greater{},
                             [](const auto& c) { return c.size(); });
    const CommCall& most = met.calls.at(classes.front().front());
    if (classes.size() == 1) {
      HangFinding f{.kind = HangKind::operation,
                    .group = *group,
                    .sequence = most.sequence,
                    .since = most.sequence,
                    .call = spelled(records, most)};
      f.numbers = classes.front();
      f.of_group = met.of_group;
      out.findings.push_back(std::move(f));
    }
    for (std::size_t c = 1; c < classes.size(); ++c) {
      const CommCall& own = met.calls.at(classes[c].front());
      HangFinding f{.kind = difference(own, most).value_or(HangKind::number),
                    .group = *group,
                    .sequence = most.sequence,
                    .since = most.sequence,
                    .call = spelled(records, most),
                    .instead = spelled(records, own)};
      f.numbers = classes[c];
      f.other_numbers = classes.front();
      f.of_group = met.of_group;
      f.tied = classes[c].size() == classes.front().size();
      out.findings.push_back(std::move(f));
    }
  }
}

void find_barriers(const CommRecords& records, HangAccount& out) {
  const auto group = group_of_messages(records, barrier_group);
  if (!group) return;
  for (const MissedBarrier& b : records.barriers) {
    HangFinding f{.kind = HangKind::barrier, .group = *group, .sequence = -1, .since = -1};
    f.numbers = b.missing;
    if (b.waits) f.other_numbers = {*b.waits};
    f.limit = b.limit;
    f.barrier = b.name;
    out.findings.push_back(std::move(f));
  }
}

void find_desync(const CommRecords& records, HangAccount& out) {
  const auto group = group_of_messages(records, desync_group);
  if (!group) return;
  for (const DesyncReport& report : records.desync) {
    const auto waits = [&](std::uint32_t rank) {
      return report.waits.contains(records.ranks[rank].number.value_or(-1));
    };
    HangFinding f{.kind = HangKind::missing,
                  .group = *group,
                  .sequence = report.collective,
                  .since = report.collective};
    f.numbers.assign(report.missing.begin(), report.missing.end());
    f.other_numbers.assign(report.waits.begin(), report.waits.end());
    if (!report.operation.empty()) f.barrier = report.operation;
    std::erase_if(out.findings, [&](const HangFinding& w) {
      const bool explained = (w.kind == HangKind::waiting || w.kind == HangKind::no_record) &&
                             !w.others.empty() && std::ranges::all_of(w.others, waits);
      if (explained) {
        f.group = w.group;
        f.call = w.call;
      }
      return explained;
    });
    if (!f.numbers.empty()) out.findings.push_back(f);
    if (report.unfinished.empty()) continue;
    f.kind = HangKind::not_finished;
    f.numbers.assign(report.unfinished.begin(), report.unfinished.end());
    out.findings.push_back(std::move(f));
  }
}

}  // namespace stepscope
