// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/link_views.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

Json whole(double bytes) { return std::llround(bytes); }

Json piece_json(const AlphaBetaPiece& p) {
  return {
      {"from_bytes", whole(p.from)},
      {"to_bytes", whole(p.to)},
      {"sizes", p.sizes},
      {"calls", p.calls},
      {"start_ns", p.start * ns_per_s},
      {"start_interval_ns", {p.start_interval.low * ns_per_s, p.start_interval.high * ns_per_s}},
      {"gb_per_s", real(gb_per_second(p.slope))},
      {"interval_gb_per_s",
       {real(gb_per_second(p.slope_interval.high)), real(gb_per_second(p.slope_interval.low))}}};
}

Json fit_json(const TransferFit& f) {
  const auto& fit = f.answer.fit;
  Json pieces = Json::array();
  if (fit)
    for (const AlphaBetaPiece& p : fit->pieces) pieces.push_back(piece_json(p));
  Json points = Json::array();
  for (const SizedTime& p : f.typical) {
    const auto fitted = predicted_time(f, Bytes{std::llround(p.size)});
    points.push_back({{"bytes", whole(p.size)},
                      {"transfer_ns", p.time * ns_per_s},
                      {"fitted_ns", fitted ? Json(fitted->count() * ns_per_s) : Json(nullptr)}});
  }
  return {{"name", name_of(collective_kind_names, f.kind)},
          {"group_size", f.group_size},
          {"placement", name_of(host_placement_names, f.placement)},
          {"calls", f.answer.calls},
          {"sizes", f.answer.sizes},
          {"refused", text_or_null(refusal_text(f.answer))},
          {"mean_error", fit ? Json(fit->mean_error) : Json(nullptr)},
          {"max_error", fit ? Json(fit->max_error) : Json(nullptr)},
          {"r_squared", fit ? Json(fit->r_squared) : Json(nullptr)},
          {"from_bytes", fit ? whole(fit->smallest()) : Json(nullptr)},
          {"to_bytes", fit ? whole(fit->largest()) : Json(nullptr)},
          {"pieces", std::move(pieces)},
          {"points", std::move(points)}};
}

}  // namespace

Json clock_alignment_json(const ClockAlignment& clocks) {
  Json hosts = Json::array();
  for (const HostAlignment& h : clocks.hosts)
    hosts.push_back({{"host", text_or_null(h.host)},
                     {"ranks", h.ranks},
                     {"offset_ns", value(h.offset)},
                     {"drift_ppm", h.drift_ppm},
                     {"uncertainty_ns", value(h.uncertainty)}});
  return {{"applied", clocks.applied},
          {"reason", say(clocks.reason)},
          {"collectives", clocks.collectives},
          {"spread_ns", value(clocks.spread)},
          {"spread_aligned_ns", value(clocks.spread_aligned)},
          {"hosts", std::move(hosts)}};
}

Json link_fits_json(std::span<const TransferFit> fits) {
  Json out = Json::array();
  for (const TransferFit& f : fits) out.push_back(fit_json(f));
  return out;
}

namespace {

constexpr std::size_t most_hosts = 6;
constexpr std::size_t most_fits = 12;

std::string placement_words(HostPlacement placement) {
  if (placement == HostPlacement::unknown) return "-";
  return placement == HostPlacement::one_host ? "one" : "several";
}

std::string called(const HostAlignment& host) {
  const std::string ranks = ranks_in_words(host.ranks);
  return host.host.empty() ? ranks : fmt::format("{} ({})", printable(host.host), ranks);
}

// "node2 (rank 1) 250 µs ahead ± 1 µs"
std::string offset_text(const HostAlignment& host) {
  std::string text =
      fmt::format("{} {} {}", called(host), format_time(std::chrono::abs(*host.offset)),
                  *host.offset < Ns{0} ? "behind" : "ahead");
  if (host.drift_ppm != 0) text += fmt::format(", drifting {:.1f} ppm", host.drift_ppm);
  if (host.uncertainty) text += fmt::format(" ± {}", format_time(*host.uncertainty));
  return text;
}

std::string corrected_text(const ClockAlignment& clocks) {
  std::string text = "Clocks corrected: ";
  std::size_t said = 0;
  for (const HostAlignment& host : clocks.hosts) {
    if (!host.offset || (*host.offset == Ns{0} && host.drift_ppm == 0)) continue;
    if (said == most_hosts) {
      text += fmt::format(" and {} more", clocks.hosts.size() - 1 - said);
      break;
    }
    text += (said++ == 0 ? "" : "; ") + offset_text(host);
  }
  return text + fmt::format(", against {}", called(clocks.hosts.front()));
}

std::string range(double from, double to) {
  return from == to ? format_bytes(from)
                    : fmt::format("{} – {}", format_bytes(from), format_bytes(to));
}

std::vector<std::string> piece_row(const TransferFit& f, std::size_t piece) {
  const AlphaBetaFit& fit = *f.answer.fit;
  const AlphaBetaPiece& p = fit.pieces[piece];
  const auto gb = [](double slope) {
    const auto r = gb_per_second(slope);
    return r ? format_digits(*r) : std::string("-");
  };
  const bool first = piece == 0;
  return {first ? name_of(collective_kind_names, f.kind) : "",
          first ? std::to_string(f.group_size) : "",
          first ? placement_words(f.placement) : "",
          range(p.from, p.to),
          std::to_string(p.calls),
          format_time(p.start * ns_per_s),
          fmt::format("{} – {}", format_time(p.start_interval.low * ns_per_s),
                      format_time(p.start_interval.high * ns_per_s)),
          gb(p.slope),
          fmt::format("{} – {}", gb(p.slope_interval.high), gb(p.slope_interval.low)),
          first ? format_percent(fit.mean_error) : "",
          first ? format_percent(fit.max_error) : "",
          first ? fmt::format("{:.4f}", fit.r_squared) : ""};
}

}  // namespace

std::string clocks_text(const ClockAlignment& clocks, std::size_t width) {
  if (clocks.hosts.size() < 2) return {};
  std::string text =
      clocks.applied ? corrected_text(clocks) : "Clocks as recorded: " + say(clocks.reason);
  if (clocks.applied && clocks.spread && clocks.spread_aligned)
    text += fmt::format("; the ends of a collective lie {} apart instead of {}",
                        format_time(*clocks.spread_aligned), format_time(*clocks.spread));
  else if (clocks.spread)
    text +=
        fmt::format("; the ends of a collective lie {} apart, and skews are no better than that",
                    format_time(*clocks.spread));
  return wrapped(text + ".", width);
}

std::string link_fits_text(std::span<const TransferFit> fits, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  Messages refused;
  std::size_t shown = 0;
  std::size_t more = 0;
  for (const TransferFit& f : fits) {
    if (!f.answer.fit) {
      refused.push_back(msg::link_not_fitted(name_of(collective_kind_names, f.kind), f.group_size,
                                             refusal_text(f.answer)));
      continue;
    }
    if (shown++ >= most_fits) {
      ++more;
      continue;
    }
    for (std::size_t p = 0; p < f.answer.fit->pieces.size(); ++p) rows.push_back(piece_row(f, p));
  }
  std::string out;
  if (!rows.empty())
    out = "Transfer time by size: start + bytes / rate, with 95 % intervals\n" +
          text_table({{"collective", false},
                      {"n"},
                      {"hosts", false},
                      {"bytes"},
                      {"calls"},
                      {"start"},
                      {"95 %"},
                      {"GB/s"},
                      {"95 %"},
                      {"error"},
                      {"max"},
                      {"R²"}},
                     std::move(rows), width);
  if (more > 0) out += fmt::format("  … and {} more\n", more);
  if (!refused.empty()) out += wrapped(msg::no_link_fit(std::move(refused)), width);
  return out;
}

}  // namespace stepscope
