// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/memory_json.h"

#include <algorithm>
#include <array>

#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t written_holders = 500;

constexpr std::array<std::string_view, 6> allocation_phase_names = {
    "unknown", "setup", "forward", "backward", "optimizer", "other"};

constexpr std::array<std::string_view, 4> verdict_names = {"fragmented", "streams", "pending",
                                                           "too_large"};

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
          {"terms", terms_json({"allocator"})},
          {"warnings", say_all(r.warnings)}};
}

}  // namespace stepscope
