// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/run_sentences.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/report/sentences/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

Message check_sentence(const std::vector<CheckLine>& lines) {
  std::vector<std::string> names;
  std::size_t known = 0;
  for (const CheckLine& l : lines) {
    if (l.status == CheckStatus::look) names.push_back(spaced(l.name));
    if (l.status != CheckStatus::unknown) ++known;
  }
  return names.empty() ? msg::nothing_to_look_at(known, lines.size())
                       : msg::worth_a_look(names, known, lines.size());
}

const TransferFit* speaking_fit(std::span<const TransferFit> fits) {
  const TransferFit* best = nullptr;
  const auto worth = [](const TransferFit& f) {
    return std::tuple(f.kind == CollectiveKind::all_reduce, f.group_size);
  };
  for (const TransferFit& f : fits)
    if (f.answer.fit && (best == nullptr || worth(f) > worth(*best))) best = &f;
  return best;
}

namespace {

// "all-reduce of 8 ranks: α 20.1 µs (small sizes), β 202 GB/s (large sizes)"
Message link_words(const TransferFit& f) {
  const auto& pieces = f.answer.fit->pieces;
  std::string kind = name_of(collective_kind_names, f.kind);
  std::ranges::replace(kind, '_', '-');
  return msg::line_of_links(kind, f.group_size, Seconds{pieces.front().start},
                            digits_of(gb_per_second(pieces.back().slope)), pieces.size() > 1);
}

}  // namespace

Message calibrate_sentence(const CalibrateResult& r, std::span<const TransferFit> fits) {
  const Calibration& c = r.measured;
  Messages peaks;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (!c.peaks[d]) continue;
    const bool large = c.peaks[d]->value >= tera;
    peaks.push_back(
        msg::peak_of(Digits{c.peaks[d]->value / (large ? tera : giga)}, large, dtype_names[d]));
  }
  const TransferFit* fit = speaking_fit(fits);
  return joined(msg::sentences,
                {msg::calibrated(c.name, std::move(peaks), Digits{c.memory_rate.value / giga},
                                 fit != nullptr ? link_words(*fit) : Message()),
                 msg::model_is_off(Percent{r.made.compute_error},
                                   value_if(!c.collectives.empty(), Percent{r.made.link_error}))});
}

Message calibrate_sentence(const CalibrateFromResult& r) {
  Messages said;
  if (r.kernel_fit) {
    const KernelFit& fit = *r.kernel_fit;
    Messages shares;
    for (const FittedNumber& n : fit.numbers) {
      constexpr std::string_view key = "matmul_efficiency.";
      if (n.name.starts_with(key))
        shares.push_back(msg::share_in(Percent{n.value}, n.name.substr(key.size())));
    }
    if (!shares.empty()) said.push_back(msg::products_reach(std::move(shares)));
    said.push_back(
        msg::kernels_off(fit.rows.size(), Percent{fit.median_error}, Percent{fit.median_before}));
  }
  if (r.fit) {
    const BenchmarkFit& fit = *r.fit;
    const TransferFit* speaking = speaking_fit(fit.transfers);
    said.push_back(msg::fitted_links(r.kernel_fit.has_value(),
                                     speaking != nullptr ? link_words(*speaking) : Message()));
    said.push_back(
        msg::links_off(Percent{fit.modelled_error}, fit.rows.size(), Percent{fit.before_error}));
  }
  return msg::fitted(r.machine->name, msg::sentences(std::move(said)));
}

namespace {

std::string_view use_in_words(std::size_t use) {
  if (use == static_cast<std::size_t>(MemoryUse::optimizer)) return "optimizer states";
  if (use == static_cast<std::size_t>(MemoryUse::temporary)) return "temporary buffers";
  if (use == static_cast<std::size_t>(MemoryUse::unknown)) return "of unknown use";
  return memory_use_names[use];
}

}  // namespace

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

Message device_memory_sentence(const AccountedSnapshot& s, const DeviceMemoryAccount& d) {
  const MemoryFragments& peak = d.peak.fragments;
  const Message place = place_in_words(s, d.device);
  if (peak.live().value == 0) return msg::no_tensor_on(place, peak.reserved);
  Messages parts;
  for (const std::size_t u : uses_by_size(d.peak)) {
    const double share = share_of_bytes(d.peak.by_use[u], peak.live());
    if (u != static_cast<std::size_t>(MemoryUse::unknown) && share >= 0.1)
      parts.push_back(msg::name_and_share(Percent{share}, use_in_words(u)));
  }
  return joined(msg::sentences,
                {msg::device_holds(d.events > 0, place, peak.live(), std::move(parts)),
                 msg::reserved_and_stranded(peak.reserved, peak.stranded,
                                            Percent{share_of_bytes(peak.stranded, peak.reserved)}),
                 d.oom_count > 0 ? msg::allocations_failed(d.oom_count) : Message()});
}

Message memory_sentence(const MemoryResult& r) {
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

}  // namespace stepscope
