// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/memory/printed_views.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// What the allocator keeps at the end, if it is most of what is reserved.
Message unused_sentence(const MemoryCheckpoint& last) {
  if (!last.reserved || last.allocated.value > last.reserved->value / 2) return {};
  return msg::printed_unused(last.reserved, *last.reserved - last.allocated, last.label);
}

// The host's memory, if it grows by a tenth.
Message host_sentence(const std::vector<MemoryCheckpoint>& lines) {
  const MemoryCheckpoint* first = nullptr;
  const MemoryCheckpoint* most = nullptr;
  for (const MemoryCheckpoint& c : lines) {
    if (!c.host) continue;
    if (first == nullptr) first = &c;
    if (most == nullptr || *c.host > *most->host) most = &c;
  }
  if (first == nullptr || most->host->value - first->host->value < first->host->value / 10 ||
      *most->host == *first->host)
    return {};
  return msg::printed_host(first->host, most->host, most->label);
}

// Peaks are the most since they were reset, so the largest was reached after the line before the
// first that has it.
Message checkpoints_sentence(const std::vector<MemoryCheckpoint>& lines) {
  const auto peak = static_cast<std::size_t>(
      std::ranges::max_element(lines, {}, &MemoryCheckpoint::peak) - lines.begin());
  const auto before = peak > 0 ? std::optional(lines[peak - 1].label) : std::nullopt;
  std::size_t grown = 0;
  Bytes most{};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Bytes growth = lines[i].allocated - lines[i - 1].allocated;
    if (growth > most) {
      most = growth;
      grown = i;
    }
  }
  return joined(msg::sentences,
                {msg::printed_peak(lines[peak].peak, before, lines[peak].label),
                 grown > 0 ? msg::printed_growth(most, lines[grown - 1].label, lines[grown].label)
                           : Message(),
                 unused_sentence(lines.back()), host_sentence(lines)});
}

// The first table with failed allocations, else the one with the largest peak.
const MemorySummary& leading_summary(const std::vector<MemorySummary>& all) {
  return *std::ranges::max_element(all, {}, [](const MemorySummary& s) {
    return std::pair(s.ooms.value_or(0) > 0, s.ooms.value_or(0) > 0 ? Bytes{} : s.allocated->peak);
  });
}

std::optional<Bytes> unused_of(const MemorySummary& s) {
  if (!s.reserved || s.reserved->now < s.allocated->now) return std::nullopt;
  return s.reserved->now - s.allocated->now;
}

// Half of what is reserved is much.
bool much_unused(const MemorySummary& s) {
  const auto unused = unused_of(s);
  return unused && unused->value > s.reserved->now.value / 2;
}

Message summary_sentence(const MemorySummary& s) {
  const auto unused = unused_of(s);
  const double reserved = s.reserved ? static_cast<double>(s.reserved->now.value) : 0;
  const double share = unused && reserved > 0 ? static_cast<double>(unused->value) / reserved : 0;
  Messages parts = {
      msg::summary_holds(msg::oom_place(Value(), s.device), s.allocated->now,
                         unused ? Value(s.reserved->now) : Value(), unused, Percent{share}),
      msg::summary_peak(s.allocated->peak,
                        s.reserved ? std::optional(s.reserved->peak) : std::nullopt,
                        s.stranded ? std::optional(s.stranded->now) : std::nullopt)};
  if (s.ooms)
    parts.push_back(msg::summary_failures(value_if(*s.ooms > 0, *s.ooms),
                                          value_if(s.retries.value_or(0) > 0, s.retries)));
  return joined(msg::sentences, std::move(parts));
}

std::string size_cell(const std::optional<Bytes>& bytes) {
  return bytes ? format_bytes(*bytes) : std::string("-");
}

std::string checkpoints_table(const std::vector<MemoryCheckpoint>& checkpoints, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  const MemoryCheckpoint* before = nullptr;
  for (const MemoryCheckpoint& c : checkpoints) {
    const Bytes change = before != nullptr ? c.allocated - before->allocated : Bytes{};
    const Bytes size{change.value < 0 ? -change.value : change.value};
    rows.push_back({printable(c.label), format_bytes(c.allocated),
                    before == nullptr || change.value == 0
                        ? "-"
                        : (change.value < 0 ? "-" : "+") + format_bytes(size),
                    size_cell(c.reserved), format_bytes(c.peak), size_cell(c.host)});
    before = &c;
  }
  return "\nTotals:\n" +
         text_table(
             {{"point", false, 40}, {"allocated"}, {"change"}, {"reserved"}, {"peak"}, {"host"}},
             std::move(rows), width);
}

std::string summaries_table(const std::vector<MemorySummary>& summaries, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  const auto count = [](const std::optional<std::int64_t>& n) {
    return n ? std::to_string(*n) : std::string("-");
  };
  const auto sizes = [](const std::optional<SummarySizes>& s, Bytes SummarySizes::* member) {
    return s ? format_bytes((*s).*member) : std::string("-");
  };
  for (const MemorySummary& s : summaries)
    rows.push_back({std::to_string(s.device), sizes(s.allocated, &SummarySizes::now),
                    sizes(s.allocated, &SummarySizes::peak), sizes(s.reserved, &SummarySizes::now),
                    sizes(s.reserved, &SummarySizes::peak), size_cell(unused_of(s)), count(s.ooms),
                    count(s.retries), std::to_string(s.line)});
  return "\nSummaries:\n" + text_table({{"device"},
                                        {"in tensors"},
                                        {"peak"},
                                        {"reserved"},
                                        {"peak"},
                                        {"unused"},
                                        {"failed"},
                                        {"retries"},
                                        {"line"}},
                                       std::move(rows), width);
}

}  // namespace

Message printed_sentence(const PrintedMemory& printed) {
  return joined(
      msg::sentences,
      {printed.summaries.empty() ? Message() : summary_sentence(leading_summary(printed.summaries)),
       printed.checkpoints.empty() ? Message() : checkpoints_sentence(printed.checkpoints)});
}

std::string printed_text(const PrintedMemory& printed, std::size_t width) {
  std::string out = wrapped(printable(say_stopped(printed_sentence(printed))), width);
  if (!printed.summaries.empty() && much_unused(leading_summary(printed.summaries)))
    out += wrapped("- " + printable(say_stopped(msg::empty_or_expand())), width);
  out += wrapped("- " + printable(say_stopped(msg::record_history("torch.cuda"))), width);
  if (!printed.summaries.empty()) out += summaries_table(printed.summaries, width);
  if (!printed.checkpoints.empty()) out += checkpoints_table(printed.checkpoints, width);
  return out;
}

Json size_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? value(*bytes) : Json(nullptr);
}

Json checkpoints_json(const std::vector<PrintedMemory>& files) {
  Json out = Json::array();
  for (const PrintedMemory& printed : files) {
    std::optional<Bytes> before;
    for (const MemoryCheckpoint& c : printed.checkpoints) {
      out.push_back({{"path", printed.path},
                     {"label", c.label},
                     {"allocated_bytes", value(c.allocated)},
                     {"change_bytes", before ? value(c.allocated - *before) : Json(nullptr)},
                     {"reserved_bytes", size_or_null(c.reserved)},
                     {"peak_bytes", value(c.peak)},
                     {"host_bytes", size_or_null(c.host)}});
      before = c.allocated;
    }
  }
  return out;
}

Json summaries_json(const std::vector<PrintedMemory>& files) {
  const auto sizes = [](const std::optional<SummarySizes>& s, Bytes SummarySizes::* member) {
    return s ? value((*s).*member) : Json(nullptr);
  };
  Json out = Json::array();
  for (const PrintedMemory& printed : files)
    for (const MemorySummary& s : printed.summaries)
      out.push_back({{"path", printed.path},
                     {"line", s.line},
                     {"device", s.device},
                     {"failed", value(s.ooms)},
                     {"retries", value(s.retries)},
                     {"allocated_bytes", value(s.allocated->now)},
                     {"peak_allocated_bytes", value(s.allocated->peak)},
                     {"reserved_bytes", sizes(s.reserved, &SummarySizes::now)},
                     {"peak_reserved_bytes", sizes(s.reserved, &SummarySizes::peak)},
                     {"stranded_bytes", sizes(s.stranded, &SummarySizes::now)}});
  return out;
}

}  // namespace stepscope
