// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/calibrate_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tuple>
#include <vector>

#include "stepscope/report/sentences/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

// "all-reduce of 8 ranks: α 20.1 µs (small sizes), β 202 GB/s (large sizes)"
std::string link_words(const TransferFit& f) {
  const AlphaBetaFit& fit = *f.answer.fit;
  std::string kind(name_of(collective_kind_names, f.kind));
  for (char& c : kind)
    if (c == '_') c = '-';
  const bool one = fit.pieces.size() == 1;
  std::string out = fmt::format(
      "{} of {}: α {}{}", kind, counted(static_cast<std::uint64_t>(f.group_size), "rank"),
      format_time(fit.pieces.front().start * ns_per_s), one ? "" : " (small sizes)");
  if (const auto rate = gb_per_second(fit.pieces.back().slope))
    out += fmt::format(", β {} GB/s{}", format_digits(*rate), one ? "" : " (large sizes)");
  return out;
}

std::string rate_words(FlopRate rate) {
  return rate.value < tera ? format_digits(rate.value / giga) + " GFLOP/s"
                           : format_digits(rate.value / tera) + " TFLOP/s";
}

}  // namespace

const TransferFit* speaking_fit(std::span<const TransferFit> fits) {
  const TransferFit* best = nullptr;
  const auto worth = [](const TransferFit& f) {
    return std::tuple(f.kind == CollectiveKind::all_reduce, f.group_size);
  };
  for (const TransferFit& f : fits)
    if (f.answer.fit && (best == nullptr || worth(f) > worth(*best))) best = &f;
  return best;
}

std::string calibrate_sentence(const CalibrateResult& r, std::span<const TransferFit> fits) {
  const Calibration& c = r.measured;
  std::vector<std::string> peaks;
  for (std::size_t d = 0; d < dtype_count; ++d)
    if (c.peaks[d]) peaks.push_back(fmt::format("{} {}", rate_words(*c.peaks[d]), dtype_names[d]));
  std::string out = fmt::format("{}: {} and {} GB/s of memory a core", c.name,
                                fmt::join(peaks, ", "), format_digits(c.memory_rate.value / giga));
  if (const TransferFit* fit = speaking_fit(fits)) out += "; " + link_words(*fit);
  out += fmt::format(". The model is off by {} on kernels", format_percent(r.made.compute_error));
  if (!c.collectives.empty())
    out += fmt::format(" and by {} on links", format_percent(r.made.link_error));
  return out + '.';
}

std::string calibrate_sentence(const CalibrateFromResult& r) {
  std::string out = r.machine->name + ": ";
  if (r.kernel_fit) {
    const KernelFit& fit = *r.kernel_fit;
    std::vector<std::string> shares;
    for (const FittedNumber& n : fit.numbers) {
      constexpr std::string_view key = "matmul_efficiency.";
      if (n.name.starts_with(key))
        shares.push_back(
            fmt::format("{} in {}", format_percent(n.value), n.name.substr(key.size())));
    }
    if (!shares.empty())
      out += fmt::format("large products reach {} of the peak. ", fmt::join(shares, ", "));
    out +=
        fmt::format("The model of {} is off by {} in the median; before the fit it was off by {}.",
                    counted(fit.rows.size(), "kernel time"), format_percent(fit.median_error),
                    format_percent(fit.median_before));
  }
  if (!r.fit) return out;
  const BenchmarkFit& fit = *r.fit;
  const TransferFit* speaking = speaking_fit(fit.transfers);
  return out + fmt::format(
                   "{}{}. The model of the links is off by {} on average over {}; before the fit "
                   "it was off by {}.",
                   r.kernel_fit ? " Links: " : "",
                   speaking != nullptr ? link_words(*speaking) : "no collective has a fitted line",
                   format_percent(fit.modelled_error), counted(fit.rows.size(), "collective"),
                   format_percent(fit.before_error));
}

}  // namespace stepscope
