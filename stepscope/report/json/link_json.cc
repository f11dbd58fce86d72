// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/link_json.h"

#include <cmath>

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

}  // namespace stepscope
