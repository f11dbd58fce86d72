// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/memory_findings.h"

#include <algorithm>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

bool expandable(const MemorySnapshot& snapshot, const DeviceMemoryAccount& device) {
  return snapshot.settings.expandable_segments || device.peak.fragments.expandable > 0;
}

MemoryFinding out_of_memory(const MemorySnapshot& snapshot, const DeviceMemoryAccount& device) {
  // The first one: what follows it may be a consequence.
  const OutOfMemory& oom = device.ooms.front();
  MemoryFinding f{.id = "out_of_memory", .bytes = oom.request};
  const auto failed = [&](Message why) {
    f.sentence =
        msg::allocation_failed(value_if(device.oom_count > 1, device.oom_count), oom.request,
                               oom.fragments.free(), oom.device_free, std::move(why));
  };
  switch (oom.verdict) {
    case OomVerdict::fragmented:
      failed(msg::would_have_fitted(oom.fit.largest_usable));
      f.advice =
          expandable(snapshot, device) ? msg::allocate_largest_first() : msg::use_expandable();
      break;
    case OomVerdict::streams:
      failed(msg::in_other_pools(oom.fit.largest_other));
      f.advice = msg::share_a_stream();
      break;
    case OomVerdict::pending:
      failed(msg::waits_for_stream(oom.fragments.pending));
      f.advice = msg::free_later();
      break;
    case OomVerdict::too_large:
      failed(msg::really_missing(oom.missing));
      f.advice = msg::hold_less();
      break;
  }
  return f;
}

// The line that holds most of a use at the peak.
Message largest_of(const DeviceMemoryAccount& device, MemoryUse use) {
  for (const MemoryHolder& h : device.peak.holders)
    if (h.use == use && h.stack != 0) return msg::most_of_use(h.bytes, site_in_words(h.site));
  return {};
}

void add_use(const DeviceMemoryAccount& device, MemoryUse use, MessageMaker<2> holds,
             Message advice, std::vector<MemoryFinding>& out) {
  const Bytes held = device.peak.by_use[static_cast<std::size_t>(use)];
  const double share = share_of_bytes(held, device.peak.fragments.live());
  if (share < threshold::large_memory_use) return;
  out.push_back(
      {.id = std::string(memory_use_names[static_cast<std::size_t>(use)]),
       .sentence = joined(msg::sentences, {holds(held, Percent{share}), largest_of(device, use)}),
       .advice = std::move(advice),
       .bytes = held});
}

void add_uses(const DeviceMemoryAccount& device, std::vector<MemoryFinding>& out) {
  add_use(device, MemoryUse::activations, msg::activations_hold,
          device.trains ? msg::recompute_activations() : msg::no_backward_seen(), out);
  add_use(device, MemoryUse::optimizer, msg::optimizer_holds, msg::shard_optimizer(), out);
  add_use(device, MemoryUse::gradients, msg::gradients_hold, msg::shard_gradients(), out);
  add_use(device, MemoryUse::parameters, msg::parameters_hold, msg::shard_parameters(), out);
  add_use(device, MemoryUse::older, msg::older_holds, msg::record_from_the_start(), out);
  add_use(device, MemoryUse::casts, msg::casts_hold, msg::keep_weights_narrow(), out);
  add_use(device, MemoryUse::temporary, msg::temporaries_hold, msg::compute_in_parts(), out);
}

// The last part of a path.
std::string file_name(const std::string& path) {
  return printable(path.substr(path.rfind('/') + 1));
}

void account_warnings(const MemorySnapshot& s, const DeviceMemoryAccount& d, Messages& out) {
  const auto add = [&](Message what) {
    out.push_back(msg::in_snapshot(file_name(s.path), device_in_words(d.device), std::move(what)));
  };
  if (d.events == 0)
    add(msg::no_history());
  else if (!d.begins_empty)
    add(msg::history_begins_late());
  if (!d.has_stacks && d.peak.fragments.live().value > 0) add(msg::no_stacks());
  if (d.contradictions > 0) add(msg::contradictions(d.contradictions));
  if (d.peak.fragments.outside > 0) add(msg::blocks_outside(d.peak.fragments.outside));
}

}  // namespace

std::vector<MemoryFinding> memory_findings(const MemorySnapshot& snapshot,
                                           const DeviceMemoryAccount& device) {
  std::vector<MemoryFinding> out;
  const MemoryFragments& peak = device.peak.fragments;
  if (!device.ooms.empty()) out.push_back(out_of_memory(snapshot, device));
  if (device.retries.count > 0) {
    const SegmentRetries& r = device.retries;
    out.push_back(
        {.id = "retries",
         .sentence = msg::segments_given_back(r.count, r.bytes, value_if(r.total > Ns{}, r.total)),
         .advice = msg::hold_less_or_lower(),
         .bytes = r.bytes});
  }
  const auto events = std::ssize(out);
  if (share_of_bytes(peak.stranded, peak.reserved) >= threshold::memory_loss)
    out.push_back({.id = "stranded",
                   .sentence = msg::stranded_between(
                       peak.stranded, Percent{share_of_bytes(peak.stranded, peak.reserved)},
                       peak.largest_free),
                   .advice = expandable(snapshot, device) ? Message() : msg::use_expandable(),
                   .bytes = peak.stranded});
  if (share_of_bytes(peak.rounding, peak.live()) >= threshold::memory_loss)
    out.push_back({.id = "rounding",
                   .sentence = msg::rounding_adds(
                       peak.rounding, Percent{share_of_bytes(peak.rounding, peak.live())}),
                   .advice = snapshot.settings.text.find("roundup_power2") != std::string::npos
                                 ? msg::raise_divisions()
                                 : msg::pad_small_tensors(),
                   .bytes = peak.rounding});
  add_uses(device, out);
  std::ranges::stable_sort(out.begin() + events, out.end(), std::ranges::greater{},
                           &MemoryFinding::bytes);
  return out;
}

Messages memory_warnings(const MemorySnapshot& snapshot, const MemoryAccount& account) {
  Messages out;
  const std::string name = file_name(snapshot.path);
  if (account.devices.empty()) out.push_back(msg::nothing_allocated(name));
  for (const DeviceMemoryAccount& d : account.devices) account_warnings(snapshot, d, out);
  for (const auto& [reason, count] : snapshot.notes)
    out.push_back(msg::counted_reason(name, spaced(reason), count));
  return out;
}

Message site_in_words(const AllocationSite& site) {
  if (site.name.empty() && site.file.empty()) return msg::no_stack();
  if (site.file.empty())
    return site.phase == AllocationPhase::backward && site.name != "autograd"
               ? msg::site_in_autograd(site.name)
               : msg::plain(site.name);
  return msg::site_at(site.name, site.file.substr(site.file.rfind('/') + 1),
                      value_if(site.line > 0, site.line));
}

Message device_in_words(int device) {
  return device == pinned_host_memory ? msg::pinned_host() : msg::device_number(device);
}

}  // namespace stepscope
