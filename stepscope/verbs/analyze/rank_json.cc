// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/rank_json.h"

#include <cmath>

#include "stepscope/fit/roofline.h"

namespace stepscope {
namespace {

std::string text(const RankResult& r, StringId id) { return std::string((*r.strings)[id]); }

Json step_phases(const StepPhases& phases) {
  Json out = Json::object();
  for (std::size_t p = 0; p < phase_count; ++p)
    out[std::string(phase_names[p])] = value(phases.time[p]);
  return out;
}

Json steps(const RankResult& r, Ns origin) {
  Json out = Json::array();
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const Step& s = r.steps[i];
    out.push_back({{"index", s.index},
                   {"name", s.name},
                   {"start_ns", value(s.start - origin)},
                   {"wall_ns", value(s.end - s.start)},
                   {"budget_ns", budget_json(r.budget.rank().steps[i])},
                   {"phases_ns", step_phases(r.phases.steps[i])}});
  }
  return out;
}

// The mean of the steps that count, as job.budget_ns.
Json mean_budget_json(const RankResult& r) {
  const CategoryMeans means = mean_step_of(r);
  Budget budget;
  for (std::size_t c = 0; c < budget_category_count; ++c)
    budget.time[c] = Ns{std::llround(means[c])};
  return budget_json(budget);
}

Json gpu_window(const RankResult& r, Ns origin) {
  Json all = Json::array();
  for (const GpuWindow& w : r.device.windows)
    all.push_back({{"device", w.device},
                   {"start_ns", value(w.start - origin)},
                   {"end_ns", value(w.end - origin)},
                   {"compute_ns", value(w.compute)},
                   {"comm_ns", value(w.comm)},
                   {"copy_ns", value(w.copy)},
                   {"overlap_ns", value(w.overlap)},
                   {"busy_ns", value(w.busy)},
                   {"idle_ns", value(w.idle)}});
  if (all.empty()) return nullptr;
  return all.size() == 1 ? all[0] : all;
}

Json gaps(const RankResult& r, Ns origin) {
  Json out = Json::array();
  for (const IdleCause& cause : r.device.idle) {
    Json largest = Json::array();
    for (const IdleInstance& i : cause.largest)
      largest.push_back({{"start_ns", value(i.start - origin)},
                         {"wall_ns", value(i.wall)},
                         {"step", i.step},
                         {"host_activity", text_or_null(i.host_activity)},
                         {"culprit", i.culprit ? text_or_null(*i.culprit) : Json(nullptr)}});
    out.push_back({{"cause", name_of(budget_category_names, cause.cause)},
                   {"total_ns", value(cause.total)},
                   {"count", cause.count},
                   {"largest", std::move(largest)}});
  }
  return out;
}

Json overlap_json(const RankResult& r) {
  if (!r.work.overlap) return nullptr;
  const Overlap& o = *r.work.overlap;
  Json contention = Json::array();
  for (const Contention& c : o.contention)
    contention.push_back({{"name", c.name},
                          {"shape", text_or_null(c.shape)},
                          {"alone_ns", value(c.alone)},
                          {"overlapped_ns", value(c.overlapped)},
                          {"slowdown", c.slowdown},
                          {"count", c.count},
                          {"lost_ns", value(c.lost)}});
  return {{"ratio", real(o.ratio)},
          {"efficiency", real(o.efficiency)},
          {"compute_ns", value(o.compute)},
          {"comm_ns", value(o.comm)},
          {"overlap_ns", value(o.overlap)},
          {"step_ns", value(o.step)},
          {"no_overlap_ns", value(o.no_overlap)},
          {"perfect_overlap_ns", value(o.perfect_overlap)},
          {"schedule_bound_ns", value(o.schedule_bound)},
          {"contention", std::move(contention)}};
}

// Where a row stands on the machine's roofline; nulls without a machine.
Json roofline(const Analysis& report, const RooflineWork& work) {
  if (!report.machine || work.time.count() <= 0)
    return {{"peak_share", nullptr}, {"bandwidth_share", nullptr}, {"bound", nullptr}};
  const RooflinePlace place = place_on_roofline(work, *report.machine, report.peak_override);
  return {{"peak_share", real(place.peak_share)},
          {"bandwidth_share", real(place.bandwidth_share)},
          {"bound", place.bound == Bound::unknown ? Json(nullptr)
                                                  : Json(name_of(bound_names, place.bound))}};
}

Json kernels(const RankResult& r) {
  Json out = Json::array();
  for (const KernelRow& k : r.work.kernels.kernels) {
    Json counters = Json::object();
    for (const KernelCounter& c : k.counters) counters[text(r, c.metric)] = c.mean;
    out.push_back({{"name", text(r, k.name)},
                   {"class", name_of(name_class_names, k.kind)},
                   {"count", k.count},
                   {"total_ns", value(k.total)},
                   {"mean_ns", value(k.mean())},
                   {"min_ns", value(k.min)},
                   {"max_ns", value(k.max)},
                   {"share", k.share},
                   {"flops", value(k.flops)},
                   {"tflops", tflops(k.rate)},
                   {"bytes", value(k.bytes)},
                   {"gb_per_s", gb_per_s(k.bandwidth)},
                   {"tensor_core", value(k.tensor_core)},
                   {"counters", std::move(counters)}});
  }
  return out;
}

Json kernel_classes(const RankResult& r) {
  Json out = Json::array();
  for (const KernelClassRow& c : r.work.kernels.classes)
    out.push_back({{"class", name_of(name_class_names, c.kind)},
                   {"count", c.count},
                   {"total_ns", value(c.total)},
                   {"share", c.share}});
  return out;
}

Json operators(const Analysis& report, const RankResult& r) {
  Json out = Json::array();
  for (const OperatorRow& o : r.work.operators) {
    Json row = {{"name", text(r, o.name)},
                {"class", name_of(name_class_names, o.kind)},
                {"shape", text_or_null(text(r, o.dims))},
                {"dtype", text_or_null(text(r, o.types))},
                {"calls", o.calls},
                {"host_self_ns", value(o.host_self)},
                {"device_ns", value(o.device)},
                {"mean_ns", value(o.mean())},
                {"min_ns", value(o.min)},
                {"max_ns", value(o.max)},
                {"share", o.share},
                {"flops", value(o.flops)},
                {"tflops", tflops(o.rate)},
                {"bytes", value(o.bytes)},
                {"gb_per_s", gb_per_s(o.bandwidth)}};
    row.update(roofline(report, roofline_work(o)));
    out.push_back(std::move(row));
  }
  return out;
}

Json range_node(const RangeNode& node) {
  Json children = Json::array();
  for (const RangeNode& child : node.children) children.push_back(range_node(child));
  return {{"name", node.name},
          {"kind", name_of(range_kind_names, node.kind)},
          {"count", node.count},
          {"host_ns", value(node.host)},
          {"device_ns", value(node.device)},
          {"children", std::move(children)}};
}

Json calls(const RankResult& r, const std::vector<CallSum>& sums) {
  Json out = Json::array();
  for (const CallSum& c : sums)
    out.push_back({{"name", text(r, c.name)}, {"count", c.count}, {"total_ns", value(c.total)}});
  return out;
}

Json host(const RankResult& r) {
  const HostTable& h = r.host;
  return {{"launches", h.launches},
          {"launch_ns", value(h.launch_time)},
          {"empty_queue_launches", h.empty_queue_launches},
          {"starved_ns", value(h.starved)},
          {"slack_p10_ns", value(h.slack_p10)},
          {"slack_p50_ns", value(h.slack_p50)},
          {"slack_p90_ns", value(h.slack_p90)},
          {"queue_mean", real(h.queue_mean)},
          {"queue_max", h.queue_max},
          {"launch_bound", h.launch_bound},
          {"sync_ns", value(h.sync)},
          {"sync_calls", calls(r, h.sync_calls)},
          {"allocator_ns", value(h.allocator)},
          {"allocator_calls", calls(r, h.allocator_calls)},
          {"data_ns", value(h.data)},
          {"gc_ns", value(h.gc)},
          {"overhead_ns", value(h.overhead)},
          {"negative_latencies", h.negative_latencies}};
}

Json device_memory(const DeviceMemory& d, Ns origin) {
  Json composition = nullptr;
  for (std::size_t u = 0; d.composition && u < memory_use_count; ++u)
    composition[std::string(memory_use_names[u])] = value((*d.composition)[u]);
  Json phases = Json::array();
  for (const MemoryPhase& p : d.phases)
    phases.push_back({{"phase", name_of(phase_names, p.phase)},
                      {"start_ns", value(p.start - origin)},
                      {"end_ns", value(p.end - origin)},
                      {"at_start_bytes", value(p.at_start)},
                      {"at_end_bytes", value(p.at_end)},
                      {"change_bytes", value(p.at_end - p.at_start)},
                      {"peak_allocated_bytes", value(p.peak)},
                      {"reserved_bytes", value(p.reserved)},
                      {"not_allocated_bytes", value(p.not_allocated())},
                      {"not_allocated_share", real(p.not_allocated_share())}});
  Json points = Json::array();
  for (const MemoryPoint& p : d.timeline)
    points.push_back({{"time_ns", value(p.time - origin)},
                      {"allocated_bytes", value(p.allocated)},
                      {"reserved_bytes", value(p.reserved)}});
  return {{"device", d.device},
          {"peak_allocated_bytes", value(d.peak_allocated)},
          {"peak_reserved_bytes", value(d.peak_reserved)},
          {"peak_time_ns", value(d.peak_time - origin)},
          {"phase_at_peak", name_of(phase_names, d.phase_at_peak)},
          {"before_recording_bytes", value(d.before_recording)},
          {"older_counts", d.older_counts},
          {"uncounted_bytes", value(d.uncounted)},
          {"running_at_peak", text_or_null(d.running_at_peak)},
          {"headroom_bytes", value(d.headroom)},
          {"composition_bytes", std::move(composition)},
          {"composition_inferred", true},
          {"unmatched_frees", d.unmatched_frees},
          {"phases", std::move(phases)},
          {"timeline", std::move(points)}};
}

Json memory(const RankResult& r, Ns origin) {
  if (r.memory.devices.empty() && r.memory.copies.empty()) return nullptr;
  Json devices = Json::array();
  for (const DeviceMemory& d : r.memory.devices) devices.push_back(device_memory(d, origin));
  Json copies = Json::array();
  for (const CopyRow& c : r.memory.copies)
    copies.push_back({{"direction", c.direction},
                      {"pinned", value(c.pinned)},
                      {"count", c.count},
                      {"bytes", value(c.bytes)},
                      {"total_ns", value(c.total)},
                      {"gb_per_s", gb_per_s(c.bandwidth)}});
  return {{"devices", std::move(devices)}, {"copies", std::move(copies)}};
}

}  // namespace

Json budget_json(const Budget& budget) {
  Json out = Json::object();
  for (std::size_t c = 0; c < budget_category_count; ++c)
    out[std::string(budget_category_names[c])] = value(budget.time[c]);
  return out;
}

Json phases_json(std::span<const PhaseSummary> phases) {
  Json out = Json::array();
  for (const PhaseSummary& p : phases)
    out.push_back({{"phase", name_of(phase_names, p.phase)},
                   {"steps", p.steps},
                   {"mean_ns", p.mean},
                   {"min_ns", p.min},
                   {"max_ns", p.max},
                   {"stdev_ns", real(p.stdev)},
                   {"communication_ns", real(p.communication)}});
  return out;
}

Json rank_json(const Analysis& report, const RankResult& r, const std::string& source) {
  const Ns origin = origin_of(report.job, r.rank);
  Json ranges = Json::array();
  for (const RangeNode& node : r.work.ranges) ranges.push_back(range_node(node));
  return {{"rank", r.rank},
          {"rank_source", source},
          {"device", r.device.kind},
          {"gpu_name", text_or_null(r.device.name)},
          {"unrecorded_step_ns", value(r.recording.unrecorded_step)},
          {"role", r.role},
          {"window_start_ns", value(r.recording.start - origin)},
          {"window_end_ns", value(r.recording.end - origin)},
          {"steps", steps(r, origin)},
          {"budget_ns", budget_json(r.budget.total)},
          {"mean_budget_ns", mean_budget_json(r)},
          {"phases_ns", step_phases(r.phases.total)},
          {"outside_ns",
           {{"before", value(r.recording.outside.before)},
            {"after", value(r.recording.outside.after)},
            {"between", value(r.recording.outside.between)}}},
          {"gpu_window", gpu_window(r, origin)},
          {"phases", phases_json(summarize_phases(r.phases.steps, !r.device.is_cpu()))},
          {"gaps", gaps(r, origin)},
          {"overlap", overlap_json(r)},
          {"kernels", kernels(r)},
          {"kernel_classes", kernel_classes(r)},
          {"operators", operators(report, r)},
          {"ranges", std::move(ranges)},
          {"host", host(r)},
          {"memory", memory(r, origin)}};
}

}  // namespace stepscope
