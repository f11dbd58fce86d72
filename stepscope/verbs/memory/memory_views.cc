// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/memory/memory_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/analysis/memory/oom_account.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/diagnose/oom_findings.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/memory/printed_views.h"

namespace stepscope {

Message place_in_words(const AccountedSnapshot& s, int device) {
  return msg::device_of_rank(device_in_words(device), s.rank);
}

std::vector<std::size_t> uses_by_size(const MemoryInstant& at) {
  std::vector<std::size_t> order;
  for (std::size_t u = 0; u < memory_use_count; ++u)
    if (at.by_use[u].value > 0) order.push_back(u);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t u) { return at.by_use[u]; });
  return order;
}

namespace {

Message reserved_in_words(const MemoryFragments& peak) {
  const double cached = share_of_bytes(peak.cached, peak.reserved);
  const bool much = cached >= threshold::memory_loss;
  return msg::reserved_and_stranded(peak.reserved, peak.stranded,
                                    Percent{share_of_bytes(peak.stranded, peak.reserved)},
                                    value_if(much, peak.cached), Percent{cached});
}

}  // namespace

Message device_memory_sentence(const AccountedSnapshot& s, const DeviceMemoryAccount& d) {
  const MemoryFragments& peak = d.peak.fragments;
  const Message place = place_in_words(s, d.device);
  if (peak.live().value == 0) return msg::no_tensor_on(place, peak.reserved);
  Messages parts;
  for (const std::size_t u : uses_by_size(d.peak)) {
    const double share = share_of_bytes(d.peak.by_use[u], peak.live());
    if (u != static_cast<std::size_t>(MemoryUse::unknown) && share >= 0.1)
      parts.push_back(
          msg::name_and_share(Percent{share}, label_of("memory_use", memory_use_names[u])));
  }
  return joined(msg::sentences,
                {msg::device_holds(d.events > 0, place, peak.live(), std::move(parts)),
                 reserved_in_words(peak),
                 d.oom_count > 0 ? msg::allocations_failed(d.oom_count) : Message()});
}

Message memory_sentence(const MemoryResult& r) {
  if (!r.ooms.empty()) {
    const OomMessage& leading = r.ooms[leading_oom(r.ooms)];
    return oom_sentence(leading, account_oom(leading));
  }
  if (r.snapshots.empty() && !r.printed.empty()) return printed_sentence(r.printed.front());
  const AccountedSnapshot* most = nullptr;
  const DeviceMemoryAccount* device = nullptr;
  for (const AccountedSnapshot& s : r.snapshots)
    for (const DeviceMemoryAccount& d : s.account.devices)
      if (device == nullptr || d.peak.fragments.live() > device->peak.fragments.live()) {
        most = &s;
        device = &d;
      }
  return device == nullptr ? msg::nothing_held() : device_memory_sentence(*most, *device);
}

namespace {

constexpr std::size_t written_holders = 500;

constexpr auto allocation_phase_names = enum_names<AllocationPhase::other>;

constexpr auto verdict_names = enum_names<OomVerdict::too_large>;

Json uses_json(const std::array<Bytes, memory_use_count>& by_use) {
  Json out = Json::object();
  for (std::size_t u = 0; u < memory_use_count; ++u)
    out[std::string(memory_use_names[u])] = value(by_use[u]);
  return out;
}

Json stack_json(const MemorySnapshot& s, std::uint32_t stack) {
  Json out = Json::array();
  for (const std::uint32_t index : s.stacks[stack]) {
    const SnapshotFrame& f = s.stacks.frames[index];
    const std::string_view name = s.strings[f.name];
    const std::string_view file = s.strings[f.file];
    if (!is_telling_frame(name, file)) continue;
    std::string words(name);
    if (!file.empty() && file != "??")
      words += " (" + std::string(file) + (f.line > 0 ? ':' + std::to_string(f.line) : "") + ')';
    out.push_back(std::move(words));
  }
  return out;
}

Json holder_json(const MemorySnapshot& s, const MemoryHolder& h) {
  return {{"bytes", value(h.bytes)},
          {"requested_bytes", value(h.requested)},
          {"blocks", h.blocks},
          {"use", memory_use_names[static_cast<std::size_t>(h.use)]},
          {"phase", allocation_phase_names[static_cast<std::size_t>(h.site.phase)]},
          {"place", say(site_in_words(h.site))},
          {"function", text_or_null(h.site.name)},
          {"file", text_or_null(h.site.file)},
          {"line", h.site.line > 0 ? Json(h.site.line) : Json(nullptr)},
          {"operator", text_or_null(h.site.operation)},
          {"stack", stack_json(s, h.stack)}};
}

Json fragments_json(const MemoryFragments& f) {
  const Bytes free = f.free();
  return {{"reserved_bytes", value(f.reserved)},
          {"live_bytes", value(f.live())},
          {"requested_bytes", value(f.requested)},
          {"rounding_bytes", value(f.rounding)},
          {"cached_bytes", value(f.cached)},
          {"stranded_bytes", value(f.stranded)},
          {"pending_bytes", value(f.pending)},
          {"largest_free_bytes", value(f.largest_free)},
          {"external_fragmentation", free.value > 0
                                         ? Json(1 - static_cast<double>(f.largest_free.value) /
                                                        static_cast<double>(free.value))
                                         : Json(nullptr)},
          {"segments", f.segments},
          {"segments_split", f.segments_split},
          {"segments_expandable", f.expandable},
          {"blocks_outside", f.outside}};
}

Json instant_json(const MemorySnapshot& s, const MemoryInstant& at) {
  Json holders = Json::array();
  for (std::size_t i = 0; i < std::min(at.holders.size(), written_holders); ++i)
    holders.push_back(holder_json(s, at.holders[i]));
  return {{"event", at.position},
          {"time_ns", value(at.time)},
          {"memory", fragments_json(at.fragments)},
          {"by_use_bytes", uses_json(at.by_use)},
          {"holders", std::move(holders)},
          {"holders_left_out", at.holders.size() - std::min(at.holders.size(), written_holders)}};
}

Json timeline_json(const DeviceMemoryAccount& d) {
  Json out = Json::array();
  for (const MemoryTimePoint& p : d.timeline)
    out.push_back({{"event", p.position},
                   {"time_ns", d.has_times ? value(p.time) : Json(nullptr)},
                   {"allocated_bytes", value(p.live)},
                   {"requested_bytes", value(p.requested)},
                   {"reserved_bytes", value(p.reserved)},
                   {"by_use_bytes", uses_json(p.by_use)}});
  return out;
}

Json ooms_json(const MemorySnapshot& s, const DeviceMemoryAccount& d) {
  Json out = Json::array();
  for (const OutOfMemory& o : d.ooms)
    out.push_back({{"event", o.position},
                   {"time_ns", value(o.time)},
                   {"request_bytes", value(o.request)},
                   {"device_free_bytes", value(o.device_free)},
                   {"verdict", verdict_names[static_cast<std::size_t>(o.verdict)]},
                   {"largest_usable_bytes", value(o.fit.largest_usable)},
                   {"free_usable_bytes", value(o.fit.free_usable)},
                   {"largest_other_bytes", value(o.fit.largest_other)},
                   {"missing_bytes", value(o.missing)},
                   {"memory", fragments_json(o.fragments)},
                   {"stack", stack_json(s, o.stack)}});
  return out;
}

Json tree_json(const MemoryTree& t) {
  Json total = Json::array();
  for (const Bytes b : t.total) total.push_back(value(b));
  return {
      {"labels", t.labels}, {"label", t.label}, {"parent", t.parent}, {"total", std::move(total)}};
}

Json findings_json(const std::vector<MemoryFinding>& findings) {
  Json out = Json::array();
  for (const MemoryFinding& f : findings)
    out.push_back({{"id", f.id},
                   {"sentence", say_stopped(f.sentence)},
                   {"advice", text_or_null(say_stopped(f.advice))},
                   {"bytes", value(f.bytes)}});
  return out;
}

Json device_json(std::size_t input, const AccountedSnapshot& r, const DeviceMemoryAccount& d) {
  const MemorySnapshot& s = r.snapshot;
  const SegmentRetries& retries = d.retries;
  return {{"input", input},
          {"rank", value(r.rank)},
          {"device", d.device},
          {"events", d.events},
          {"allocations", d.allocations},
          {"begins_empty", d.begins_empty},
          {"has_stacks", d.has_stacks},
          {"start_unix_ns", d.has_times ? Json(std::to_string(d.start.count())) : Json(nullptr)},
          {"length_ns", d.has_times ? value(d.length) : Json(nullptr)},
          {"peak_reserved_bytes", value(d.peak_reserved)},
          {"peak", instant_json(s, d.peak)},
          {"end", instant_json(s, d.end)},
          {"lasting_blocks", d.lasting},
          {"lasting_bytes", value(d.lasting_bytes)},
          {"timeline", timeline_json(d)},
          {"tree", tree_json(d.tree)},
          {"out_of_memory", ooms_json(s, d)},
          {"out_of_memory_count", d.oom_count},
          {"retries",
           {{"count", retries.count},
            {"certain", retries.certain},
            {"segments", retries.segments},
            {"bytes", value(retries.bytes)},
            {"total_ns", value(retries.total)},
            {"emptied", retries.emptied}}},
          {"contradictions", d.contradictions},
          {"sizes_corrected", d.sizes_corrected},
          {"findings", findings_json(memory_findings(s, d))}};
}

Json settings_json(const AllocatorSettings& a) {
  if (!a.recorded) return nullptr;
  return {
      {"text", text_or_null(a.text)},
      {"expandable_segments", a.expandable_segments},
      {"max_split_bytes", a.max_split_size.value >= 0 ? value(a.max_split_size) : Json(nullptr)}};
}

}  // namespace

namespace {

// What a message says of memory on a chip is not the size of the device.
std::optional<Bytes> total_of_device(const OomMessage& m) {
  return m.space == OomSpace::chip ? std::nullopt : m.total;
}

Json messages_json(const MemoryResult& r) {
  Json out = Json::array();
  for (const OomMessage& m : r.ooms) {
    const OomAccount a = account_oom(m);
    Json processes = Json::array();
    for (const OomProcess& p : m.processes)
      processes.push_back({{"pid", p.pid}, {"bytes", value(p.bytes)}});
    out.push_back({{"sentence", say_stopped(oom_sentence(m, a))},
                   {"advice", say_all(oom_advice(m, a))},
                   {"cause", name_of(a.cause)},
                   {"rank", value(m.rank)},
                   {"device", value(m.device)},
                   {"space", name_of(m.space)},
                   {"framework", name_of(m.framework)},
                   {"backend", text_or_null(m.backend)},
                   {"request_bytes", size_or_null(m.request)},
                   {"device_bytes", size_or_null(total_of_device(m))},
                   {"free_bytes", size_or_null(m.free)},
                   {"allowed_bytes", size_or_null(m.allowed)},
                   {"allocated_bytes", size_or_null(m.allocated)},
                   {"unallocated_bytes", size_or_null(m.unallocated)},
                   {"missing_bytes", value(a.missing)},
                   {"others_bytes", value(a.others)},
                   {"processes", std::move(processes)},
                   {"where", text_or_null(m.where)},
                   {"path", r.logs[m.input]},
                   {"line", m.line},
                   {"times", m.times}});
  }
  return out;
}

}  // namespace

Json memory_tree_json(const MemoryResult& r) {
  Json inputs = Json::array();
  Json devices = Json::array();
  for (std::size_t i = 0; i < r.snapshots.size(); ++i) {
    const AccountedSnapshot& s = r.snapshots[i];
    inputs.push_back({{"path", s.snapshot.path},
                      {"format", s.snapshot.format},
                      {"rank", value(s.rank)},
                      {"text_bytes", s.snapshot.bytes},
                      {"stacks", s.snapshot.stacks.size() - 1},
                      {"settings", settings_json(s.snapshot.settings)},
                      {"notes", s.snapshot.notes}});
    for (const DeviceMemoryAccount& d : s.account.devices) devices.push_back(device_json(i, s, d));
  }
  return {{"schema", "stepscope.memory/1"},
          {"version", version()},
          {"answer", {{"sentence", say_stopped(memory_sentence(r))}}},
          {"inputs", std::move(inputs)},
          {"devices", std::move(devices)},
          {"messages", messages_json(r)},
          {"checkpoints", checkpoints_json(r.printed)},
          {"summaries", summaries_json(r.printed)},
          {"terms", terms_json({"allocator", "memory_use"})},
          {"warnings", say_all(r.warnings)}};
}

namespace {

std::string file_name(const std::string& path) {
  return printable(path.substr(path.rfind('/') + 1));
}

std::string headline(const AccountedSnapshot& s, const DeviceMemoryAccount& d) {
  std::string out = file_name(s.snapshot.path) + " · " + say(place_in_words(s, d.device));
  if (d.events > 0) {
    out += fmt::format(" · {} events", format_count(static_cast<double>(d.events)));
    if (d.has_times) out += " in " + format_time(d.length);
  } else {
    out += " · no history";
  }
  if (s.snapshot.settings.recorded)
    out += s.snapshot.settings.expandable_segments ? " · expandable segments"
                                                   : " · expandable segments off";
  return out + '\n';
}

std::string uses_table(const DeviceMemoryAccount& d, std::size_t width) {
  std::string out = fmt::format(
      "What holds it{}:\n",
      d.peak.time && d.events > 0
          ? fmt::format(" (at {} of {})", format_time(*d.peak.time), format_time(d.length))
          : std::string());
  std::vector<std::vector<std::string>> rows;
  const Bytes live = d.peak.fragments.live();
  for (const std::size_t u : uses_by_size(d.peak)) {
    const double part = share_of_bytes(d.peak.by_use[u], live);
    rows.push_back({std::string(memory_use_names[u]), format_bytes(d.peak.by_use[u]),
                    format_percent(part), bar(part, 20)});
  }
  return out + text_table({{"use", false}, {"bytes"}, {"of the peak"}, {"", false}},
                          std::move(rows), width);
}

std::string holders_table(const DeviceMemoryAccount& d, std::size_t top, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const MemoryHolder& h : d.peak.holders) {
    if (rows.size() == top) break;
    rows.push_back({format_bytes(h.bytes), std::to_string(h.blocks),
                    std::string(memory_use_names[static_cast<std::size_t>(h.use)]),
                    printable(say(site_in_words(h.site))), printable(h.site.operation)});
  }
  std::string out =
      "\nWho asked for it:\n" +
      text_table({{"bytes"}, {"blocks"}, {"use", false}, {"where", false}, {"operator", false, 30}},
                 std::move(rows), width);
  if (d.peak.holders.size() > top)
    out += fmt::format("  and {} more places {}\n", d.peak.holders.size() - top, worded("(--top)"));
  return out;
}

std::string fragments_table(const DeviceMemoryAccount& d) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](std::string_view name, const auto& value) {
    rows.push_back({std::string(name), value(d.peak.fragments), value(d.end.fragments)});
  };
  const auto size = [](Bytes MemoryFragments::* member) {
    return [member](const MemoryFragments& f) { return format_bytes(f.*member); };
  };
  row("reserved from the device", size(&MemoryFragments::reserved));
  row("  requested", size(&MemoryFragments::requested));
  row("  rounding", size(&MemoryFragments::rounding));
  row("  stranded between blocks", size(&MemoryFragments::stranded));
  row("  cached, can go back", size(&MemoryFragments::cached));
  row("largest free block", size(&MemoryFragments::largest_free));
  if (d.peak.fragments.pending.value > 0 || d.end.fragments.pending.value > 0)
    row("waiting for another stream", size(&MemoryFragments::pending));
  row("segments", [](const MemoryFragments& f) { return std::to_string(f.segments); });
  std::string out = "\n";
  // Leading spaces of a cell are layout here, which text_table would take away.
  std::size_t widest = 0;
  for (const auto& cells : rows) widest = std::max(widest, cells[0].size());
  const bool both = d.events > 0;
  out += fmt::format("  {:<{}}{:>12}{}\n", "", widest, both ? "at the peak" : "now",
                     both ? fmt::format("{:>13}", "at the end") : "");
  for (const auto& cells : rows)
    out += fmt::format("  {:<{}}{:>12}{}\n", cells[0], widest, cells[1],
                       both ? fmt::format("{:>13}", cells[2]) : "");
  return out;
}

std::string device_text(const AccountedSnapshot& s, const DeviceMemoryAccount& d, std::size_t top,
                        std::size_t width) {
  std::string out =
      headline(s, d) + '\n' + wrapped(printable(say_stopped(device_memory_sentence(s, d))), width);
  const std::vector<MemoryFinding> findings = memory_findings(s.snapshot, d);
  if (!findings.empty())
    out += wrapped("First thing to try: " + printable(say_stopped(findings.front().advice.empty()
                                                                      ? findings.front().sentence
                                                                      : findings.front().advice)),
                   width);
  if (d.peak.fragments.live().value > 0) out += uses_table(d, width) + holders_table(d, top, width);
  out += fragments_table(d);
  if (!findings.empty()) out += '\n';
  for (const MemoryFinding& f : findings)
    out += wrapped("- " + printable(say_stopped(f.sentence) + ' ' + say_stopped(f.advice)), width);
  return out;
}

}  // namespace

namespace {

constexpr std::size_t shown_ooms = 8;

// Messages of one reason and size on several ranks stand in one line of the table.
std::string messages_text(const MemoryResult& r, std::size_t width) {
  if (r.ooms.empty()) return {};
  const OomMessage& first = r.ooms[leading_oom(r.ooms)];
  const OomAccount account = account_oom(first);
  std::string out = wrapped(printable(say_stopped(oom_sentence(first, account))), width);
  for (const Message& advice : oom_advice(first, account))
    out += wrapped("- " + printable(say_stopped(advice)), width);
  if (const std::string command = predict_command(r.settings, r.world.value_or(0));
      !command.empty())
    out += wrapped("- " + printable(say(msg::predict_job(command))), width);
  std::vector<std::vector<std::string>> rows;
  const auto size = [](const std::optional<Bytes>& bytes) {
    return bytes ? format_bytes(*bytes) : std::string("-");
  };
  for (const OomMessage& m : r.ooms) {
    if (rows.size() == shown_ooms) break;
    rows.push_back({say(oom_place(m)), size(m.request), size(m.free), size(m.unallocated),
                    size(m.allocated), size(m.total), m.where.empty() ? "-" : printable(m.where),
                    file_name(r.logs[m.input]) + ":" + std::to_string(m.line)});
  }
  out += "\nOut-of-memory messages:\n" + text_table({{"where", false, 24},
                                                     {"asked"},
                                                     {"free"},
                                                     {"unused"},
                                                     {"in use"},
                                                     {"device"},
                                                     {"line of the program", false, 24},
                                                     {"line of the log", false, 28}},
                                                    std::move(rows), width);
  if (r.ooms.size() > shown_ooms) out += fmt::format("  and {} more\n", r.ooms.size() - shown_ooms);
  return out;
}

}  // namespace

std::string memory_text(const MemoryResult& r, const MemoryTextOptions& options) {
  const auto width = static_cast<std::size_t>(options.text.width);
  std::string out = messages_text(r, width);
  for (const PrintedMemory& printed : r.printed)
    out +=
        (out.empty() ? "" : "\n") + file_name(printed.path) + "\n\n" + printed_text(printed, width);
  // A device that ran out of memory is what the snapshot was taken for.
  for (const bool failed : {true, false})
    for (const AccountedSnapshot& s : r.snapshots)
      for (const DeviceMemoryAccount& d : s.account.devices) {
        if ((d.oom_count > 0) != failed) continue;
        if (!out.empty()) out += '\n';
        out += device_text(s, d, options.top, width);
      }
  if (!r.warnings.empty()) out += '\n';
  out += notes_text(r.warnings, width);
  return out;
}

}  // namespace stepscope
