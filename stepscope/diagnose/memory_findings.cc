// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/memory_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

constexpr std::string_view use_expandable =
    "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: segments then grow and give back pages, "
    "and what is stranded can serve other sizes.";

bool expandable(const MemorySnapshot& snapshot, const DeviceMemoryAccount& device) {
  return snapshot.settings.expandable_segments || device.peak.fragments.expandable > 0;
}

MemoryFinding out_of_memory(const MemorySnapshot& snapshot, const DeviceMemoryAccount& device) {
  // The first one: what follows it may be a consequence.
  const OutOfMemory& oom = device.ooms.front();
  MemoryFinding f{.id = "out_of_memory", .bytes = oom.request};
  f.sentence = fmt::format("{} failed with {} free in the cache and {} free on the device: ",
                           device.oom_count > 1
                               ? fmt::format("{} allocations failed; the first, of {},",
                                             device.oom_count, format_bytes(oom.request))
                               : fmt::format("An allocation of {}", format_bytes(oom.request)),
                           format_bytes(oom.fragments.free()), format_bytes(oom.device_free));
  switch (oom.verdict) {
    case OomVerdict::fragmented:
      f.sentence +=
          fmt::format("it would have fitted in one piece, but the largest free block has {}.",
                      format_bytes(oom.fit.largest_usable));
      f.advice = expandable(snapshot, device)
                     ? "The pages are mapped for blocks of other sizes: allocate the largest "
                       "tensors first, or keep sizes from changing between steps."
                     : std::string(use_expandable);
      break;
    case OomVerdict::streams:
      f.sentence += fmt::format(
          "the free memory belongs to other streams or pools (a block of {} is free there).",
          format_bytes(oom.fit.largest_other));
      f.advice =
          "Call torch.cuda.empty_cache() between phases that use different streams or CUDA graph "
          "pools, or let them share a stream.";
      break;
    case OomVerdict::pending:
      f.sentence += fmt::format("{} wait for another stream (record_stream).",
                                format_bytes(oom.fragments.pending));
      f.advice =
          "Free later what another stream still reads: wait for it before the tensor is dropped, "
          "or limit how far prefetching runs ahead (FSDP: limit_all_gathers).";
      break;
    case OomVerdict::too_large:
      f.sentence += fmt::format("{} are really missing.", format_bytes(oom.missing));
      f.advice = "Fragmentation is not the reason: hold less (below), or shard it over more GPUs.";
      break;
  }
  return f;
}

// The line that holds most of a use at the peak.
std::string largest_of(const DeviceMemoryAccount& device, MemoryUse use) {
  for (const MemoryHolder& h : device.peak.holders)
    if (h.use == use && h.stack != 0)
      return fmt::format(" Most of it, {}, at {}.", format_bytes(h.bytes), site_in_words(h.site));
  return {};
}

void add_use(const DeviceMemoryAccount& device, MemoryUse use, std::string_view words,
             std::string_view advice, std::vector<MemoryFinding>& out) {
  const Bytes held = device.peak.by_use[static_cast<std::size_t>(use)];
  const Bytes live = device.peak.fragments.live();
  if (share_of_bytes(held, live) < threshold::large_memory_use) return;
  out.push_back(
      {.id = std::string(memory_use_names[static_cast<std::size_t>(use)]),
       .sentence = fmt::format("{} hold {}, {} of the peak.{}", words, format_bytes(held),
                               format_percent(share_of_bytes(held, live)), largest_of(device, use)),
       .advice = std::string(advice),
       .bytes = held});
}

void add_uses(const DeviceMemoryAccount& device, std::vector<MemoryFinding>& out) {
  const std::size_t first = out.size();
  add_use(device, MemoryUse::activations, "Activations",
          "Recompute them (torch.utils.checkpoint) in the layers that hold most, or make the "
          "micro-batch smaller.",
          out);
  add_use(device, MemoryUse::optimizer, "Optimizer states",
          "Shard them over the data-parallel ranks (ZeRO stage 1), or keep them in fewer bits.",
          out);
  add_use(device, MemoryUse::gradients, "Gradients",
          "Shard them (ZeRO stage 2), free them before the optimizer allocates, and zero them with "
          "set_to_none=True.",
          out);
  add_use(device, MemoryUse::parameters, "Parameters",
          "Shard them (FSDP, ZeRO stage 3), or keep them in bf16.", out);
  add_use(device, MemoryUse::temporary, "Temporary buffers",
          "Compute what is largest in parts (logits and loss by chunks of tokens), or fuse it.",
          out);
  std::ranges::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                           std::ranges::greater{}, &MemoryFinding::bytes);
}

// The last part of a path.
std::string file_name(const std::string& path) {
  return printable(path.substr(path.rfind('/') + 1));
}

void account_warnings(const MemorySnapshot& s, const DeviceMemoryAccount& d,
                      std::vector<std::string>& out) {
  const std::string where = file_name(s.path) + ", " + device_in_words(d.device) + ": ";
  if (d.events == 0)
    out.push_back(where +
                  "no history is recorded: only the instant of the snapshot is known; call "
                  "torch.cuda.memory._record_memory_history() before the first allocation");
  else if (!d.begins_empty)
    out.push_back(where +
                  "the history begins in the middle (recording began late, or max_entries was "
                  "reached): what was allocated before it is counted, and by whom is not known "
                  "where it was freed again");
  if (!d.has_stacks && d.peak.fragments.live().value > 0)
    out.push_back(where + "no stacks are recorded: record with context=\"all\"");
  if (d.contradictions > 0)
    out.push_back(
        fmt::format("{}{} in the history contradict each other or the snapshot (an "
                    "action may have been skipped): totals may be off",
                    where, counted(d.contradictions, "event")));
  if (d.peak.fragments.outside > 0)
    out.push_back(fmt::format("{}{} at the peak in no known segment are not counted", where,
                              counted(d.peak.fragments.outside, "block")));
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
         .sentence = fmt::format(
             "{} segments were given back to make room before an allocation, {} in all{}.",
             r.count == 1 ? "Once" : fmt::format("{} times", r.count), format_bytes(r.bytes),
             r.total > Ns{} ? fmt::format(" and {} of waiting", format_time(r.total)) : ""),
         .advice = "Each time the host waits for the device. Hold less, or "
                   "lower the fragmentation, so that the cache has what is asked for.",
         .bytes = r.bytes});
  }
  if (share_of_bytes(peak.stranded, peak.reserved) >= threshold::memory_loss)
    out.push_back(
        {.id = "stranded",
         .sentence =
             fmt::format("{} are stranded between blocks at the peak, {} of what is reserved; the "
                         "largest free block has {}.",
                         format_bytes(peak.stranded),
                         format_percent(share_of_bytes(peak.stranded, peak.reserved)),
                         format_bytes(peak.largest_free)),
         .advice = expandable(snapshot, device) ? std::string() : std::string(use_expandable),
         .bytes = peak.stranded});
  if (share_of_bytes(peak.rounding, peak.live()) >= threshold::memory_loss)
    out.push_back(
        {.id = "rounding",
         .sentence = fmt::format("Rounding adds {} to what was asked for, {} of what is "
                                 "held.",
                                 format_bytes(peak.rounding),
                                 format_percent(share_of_bytes(peak.rounding, peak.live()))),
         .advice = snapshot.settings.text.find("roundup_power2") != std::string::npos
                       ? "Raise the divisions of roundup_power2_divisions, or drop it."
                       : "Sizes just above a multiple of what the allocator splits off "
                         "cost most: pad or pack small tensors.",
         .bytes = peak.rounding});
  add_uses(device, out);
  return out;
}

std::vector<std::string> memory_warnings(const MemorySnapshot& snapshot,
                                         const MemoryAccount& account) {
  std::vector<std::string> out;
  const std::string name = file_name(snapshot.path);
  if (account.devices.empty()) out.push_back(name + ": nothing is allocated on any device");
  for (const DeviceMemoryAccount& d : account.devices) account_warnings(snapshot, d, out);
  for (const auto& [reason, count] : snapshot.notes) {
    std::string words = reason;
    std::ranges::replace(words, '_', ' ');
    out.push_back(fmt::format("{}: {}: {}", name, words, count));
  }
  return out;
}

std::string site_in_words(const AllocationSite& site) {
  if (site.name.empty() && site.file.empty()) return "no stack recorded";
  if (site.file.empty())
    return site.phase == AllocationPhase::backward && site.name != "autograd"
               ? site.name + " in autograd"
               : site.name;
  const std::string file = site.file.substr(site.file.rfind('/') + 1);
  return site.line > 0 ? fmt::format("{} ({}:{})", site.name, file, site.line)
                       : fmt::format("{} ({})", site.name, file);
}

std::string device_in_words(int device) {
  return device == pinned_host_memory ? "pinned host memory" : fmt::format("device {}", device);
}

}  // namespace stepscope
