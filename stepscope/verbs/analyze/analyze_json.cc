// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_json.h"

#include <map>
#include <set>

#include "stepscope/diagnose/step_rates.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/expected_views.h"
#include "stepscope/verbs/analyze/explanation_views.h"
#include "stepscope/verbs/analyze/gpu_views.h"
#include "stepscope/verbs/analyze/group_json.h"
#include "stepscope/verbs/analyze/pipeline_views.h"
#include "stepscope/verbs/analyze/range_views.h"
#include "stepscope/verbs/analyze/rank_json.h"
#include "stepscope/verbs/analyze/recording_views.h"
#include "stepscope/verbs/analyze/remedy.h"
#include "stepscope/verbs/analyze/unit_views.h"
#include "stepscope/verbs/sections/link_views.h"

namespace stepscope {
namespace {

std::string source_of(const Analysis& report, int rank) {
  for (const InputRow& i : report.inputs)
    if (i.rank == rank && !i.rank_source.empty()) return i.rank_source;
  return "metadata";  // a further rank of a file that holds several
}

// What each category takes over a day on all devices.
Json budget_per_day(const Analysis& report) {
  const Budget& mean = report.job.steps.mean;
  const auto step = static_cast<double>(mean.sum().count());
  Json out = Json::object();
  for (std::size_t c = 0; step > 0 && c < budget_category_count; ++c) {
    const auto time = static_cast<double>(mean[static_cast<BudgetCategory>(c)].count());
    const DayCost day = cost_of_a_day(time / step, devices_of(report), report.price_per_gpu_hour);
    out[std::string(budget_category_names[c])] = {{"gpu_hours_per_day", day.gpu_hours},
                                                  {"money_per_day", real(day.money)}};
  }
  return out;
}

Json job_json(const Analysis& report) {
  const JobResult& job = report.job;
  Json steps = Json::array();
  const auto counted_places = places_by_number(job.steps.counted);
  for (const JobStep& s : job.steps.common) {
    const auto counted = counted_places.find(s.index);
    steps.push_back(
        {{"index", s.index},
         {"wall_ns", value(s.wall)},
         {"counted_ns", counted == counted_places.end()
                            ? Json(nullptr)
                            : value(job.steps.counted[counted->second].end -
                                    job.steps.counted[counted->second].start)},
         {"start_ns",
          job.clocks.origin.count() != 0 ? value(s.start - job.clocks.origin) : Json(nullptr)},
         {"ranks", s.ranks}});
  }
  Json missing = Json::array();
  for (const MissingStep& m : job.steps.missing)
    missing.push_back({{"rank", m.rank}, {"index", m.index}});
  Json cut = Json::array();
  for (const CutRank& c : job.steps.cut)
    cut.push_back({{"rank", c.rank}, {"steps", c.steps}, {"window", c.window}, {"whole", c.whole}});
  Json spread = Json::object();
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    const CategorySpread& s = job.steps.spread[c];
    spread[std::string(budget_category_names[c])] = {{"mean_ns", s.mean},
                                                     {"worst_ns", s.worst},
                                                     {"worst_rank", s.worst_rank},
                                                     {"stdev_ns", real(s.stdev)},
                                                     {"least_ns", s.least}};
  }
  const std::optional<Summary>& summary = job.steps.summary;
  return {{"ranks", job.ranks.size()},
          {"world_size", value(report.world_size)},
          {"clocks_comparable", job.collectives.matches.clocks_comparable},
          {"clock_uncertainty_ns", value(job.collectives.times.clock_uncertainty)},
          {"steps", std::move(steps)},
          {"missing_steps", std::move(missing)},
          {"cut_steps", std::move(cut)},
          {"step_mean_ns", summary ? Json(summary->mean) : Json(nullptr)},
          {"step_min_ns", summary ? Json(summary->min) : Json(nullptr)},
          {"step_max_ns", summary ? Json(summary->max) : Json(nullptr)},
          {"step_stdev_ns", summary ? real(summary->stdev) : Json(nullptr)},
          {"budget_ns", budget_json(job.steps.mean)},
          {"budget_per_day", budget_per_day(report)},
          {"spread", std::move(spread)},
          {"phases", phases_json(job.steps.phases)}};
}

Json possible_link_share(const Analysis& report, const CollectiveRow& row) {
  if (!report.machine) return nullptr;
  const auto share =
      link_share(*report.machine, row, report.job.collectives.matches, report.world_size);
  return share && *share <= most_link_share ? Json(*share) : Json(nullptr);
}

Json collectives(const Analysis& report) {
  Json out = Json::array();
  for (const CollectiveRow& c : report.job.collectives.rows)
    out.push_back({{"name", name_of(collective_kind_names, c.kind)},
                   {"group", c.group},
                   {"dimension", name_of(dimension_names, c.dimension)},
                   {"group_size", value(c.group_size)},
                   {"dtype", text_or_null(c.dtype)},
                   {"count", c.count},
                   {"matched", c.matched},
                   {"split", c.split},
                   {"bytes", value(c.bytes)},
                   {"algbw_gb_per_s", gb_per_s(c.algbw)},
                   {"busbw_gb_per_s", gb_per_s(c.busbw)},
                   {"link_share", possible_link_share(report, c)},
                   {"transfer_ns", value(c.transfer)},
                   {"wait_ns", value(c.wait)},
                   {"exposed_ns", value(c.exposed)},
                   {"duration_ns", value(c.duration)},
                   {"skew_ns", value(c.skew)},
                   {"last_rank", value(c.last_rank)},
                   {"last_rank_share", real(c.last_rank_share)},
                   {"clock_uncertainty_ns", value(c.clock_uncertainty)}});
  return out;
}

Json rates_json(const Analysis& report) {
  const StepRates r = step_rates(report);
  const auto tflops = [](const std::optional<FlopRate>& rate) {
    return rate ? Json(rate->value / 1e12) : Json(nullptr);
  };
  const bool row = r.collective != nullptr;
  return {{"achieved_tflops_per_device", tflops(r.achieved)},
          {"achieved_is_least", r.achieved_is_least},
          {"peak_tflops_per_device", tflops(r.peak)},
          {"overlap_efficiency", real(r.overlap_efficiency)},
          {"collective",
           row ? Json(name_of(collective_kind_names, r.collective->kind)) : Json(nullptr)},
          {"group", row ? Json(r.collective->group) : Json(nullptr)},
          {"busbw_gb_per_s", row ? gb_per_s(r.collective->busbw) : Json(nullptr)},
          {"link_share", real(r.link_share)}};
}

Json mismatches(const JobResult& job) {
  Json out = Json::array();
  for (const CollectiveMismatch& m : job.collectives.matches.mismatches)
    out.push_back({{"group", m.group},
                   {"ordinal", value(m.ordinal)},
                   {"ranks", m.ranks},
                   {"what", say(m.what)}});
  for (const UnsureGroup& u : job.collectives.matches.unsure)
    out.push_back(
        {{"group", u.group.empty() ? "unknown" : u.group},
         {"ordinal", nullptr},
         {"ranks", {u.rank}},
         {"what", std::to_string(u.calls) + " calls of uncertain group are not matched"}});
  return out;
}

Json dimensions(const Analysis& report) {
  Json out = Json::array();
  const std::vector<double> exposed = step_rates(report).exposed;
  for (const DimensionRow& d : report.job.collectives.dimensions)
    out.push_back(
        {{"dimension", name_of(dimension_names, d.dimension)},
         {"count", d.count},
         {"bytes", value(d.bytes)},
         {"wait_ns", value(d.wait)},
         {"transfer_ns", value(d.transfer)},
         {"exposed_ns", value(d.exposed)},
         {"step_share",
          exposed.empty() ? Json(nullptr) : Json(exposed[static_cast<std::size_t>(d.dimension)])}});
  return out;
}

Json ddp_buckets(const JobResult& job) {
  Json out = Json::array();
  for (std::size_t r = 0; r < job.traffic.buckets.size(); ++r) {
    const Ns origin = origin_of(job, job.ranks[r].rank);
    for (const DdpBucket& b : job.traffic.buckets[r])
      out.push_back({{"rank", job.ranks[r].rank},
                     {"step", b.step},
                     {"bucket", b.bucket},
                     {"bytes", value(b.bytes)},
                     {"ready_ns", b.ready ? value(*b.ready - origin) : Json(nullptr)},
                     {"launched_ns", value(b.launched - origin)},
                     {"done_ns", value(b.done - origin)},
                     {"exposed_ns", value(b.exposed)}});
  }
  return out;
}

Json stragglers(const JobResult& job) {
  Json out = Json::array();
  for (const Straggler& s : job.stragglers) {
    Json steps = Json::array();
    for (const StragglerStep& step : s.steps)
      steps.push_back({{"index", step.index}, {"late_ns", value(step.late)}});
    out.push_back({{"rank", s.rank},
                   {"role", s.role},
                   {"late_ns", value(s.late)},
                   {"late_share", s.late_share},
                   {"last_count", s.last_count},
                   {"collectives", s.collectives},
                   {"persistence", s.persistence},
                   {"upper_bound_ns", value(s.upper_bound)},
                   {"significant", s.significant},
                   {"cause", s.cause ? Json(say(cause_and_waiting(*s.cause))) : Json(nullptr)},
                   {"steps", std::move(steps)}});
  }
  return out;
}

Json mfu_json(const std::optional<MfuBudget>& mfu) {
  if (!mfu) return nullptr;
  Json conventions = Json::array();
  for (const ConventionMfu& c : mfu->conventions)
    conventions.push_back({{"name", c.model.convention},
                           {"model_flops_per_step", value(c.model.per_step)},
                           {"mfu", c.mfu}});
  Json terms = Json::array();
  for (const MfuShare& t : mfu->terms)
    terms.push_back({{"name", name_of(mfu_term_names, t.term)},
                     {"ns", value(t.time)},
                     {"percent", t.percent},
                     {"gpu_hours_per_day", t.gpu_hours_per_day},
                     {"money_per_day", real(t.money_per_day)}});
  return {{"convention", text_or_null(mfu->convention)},
          {"peak_flops", mfu->peak.value},
          {"peak_source", mfu->peak_source},
          {"model_flops_per_step", value(mfu->model_flops_per_step)},
          {"executed_flops_per_step", value(mfu->executed_flops_per_step)},
          {"mfu", real(mfu->mfu)},
          {"hfu", real(mfu->hfu)},
          {"conventions", std::move(conventions)},
          {"step_ns", value(mfu->step)},
          {"contention_ns", value(mfu->contention)},
          {"terms", std::move(terms)},
          {"warnings", say_all(mfu->warnings)}};
}

// The short names of every kernel that the object or its timeline names.
std::map<std::string, std::string> short_names(const JobResult& job) {
  std::set<std::string> wholes;
  for (const RankResult& r : job.ranks)
    for (const KernelRow& k : r.work.kernels.kernels) wholes.emplace((*r.strings)[k.name]);
  std::set<std::uint32_t> on_devices;
  if (job.timeline)
    for (const TimelineTrack& track : job.timeline->tracks)
      if (track.kind != TimelineKind::host)
        for (const TimelineBlock& b : track.blocks) on_devices.insert(b.name);
  for (const std::uint32_t name : on_devices) wholes.insert(job.timeline->names[name]);
  constexpr std::size_t longest = 200;  // columns, more than a page has
  const std::vector<std::string> all(wholes.begin(), wholes.end());
  std::vector<std::string> brief = distinct_kernel_names(all, longest);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (brief[i] != all[i]) names[all[i]] = std::move(brief[i]);
  return names;
}

void append_track(const TimelineTrack& track, Ns origin, std::string& out) {
  out += R"({"rank":)" + std::to_string(track.rank) + R"(,"label":)" + dump(track.label) +
         R"(,"kind":")" + name_of(timeline_kind_names, track.kind) + R"(","rows":[)";
  bool first = true;
  for (const TimelineBlock& b : track.blocks) {
    if (!first) out += ',';
    first = false;
    out += '[' + std::to_string((b.start - origin).count()) + ',' + std::to_string(b.dur.count()) +
           ",\"" + std::string(name_class_names[b.kind_class]) + "\"," + std::to_string(b.name) +
           ',' + (b.step < 0 ? std::string("null") : std::to_string(b.step)) + ']';
  }
  out += "]}";
}

std::string timeline_text(const JobResult& job) {
  const Timeline& timeline = *job.timeline;
  std::string out = R"({"origin_ns":0,"tracks":[)";
  for (const TimelineTrack& track : timeline.tracks) {
    if (&track != timeline.tracks.data()) out += ',';
    append_track(track, origin_of(job, track.rank), out);
  }
  Json steps = Json::array();
  for (const RankResult& r : job.ranks)
    for (const Step& s : r.steps)
      steps.push_back({{"rank", r.rank},
                       {"index", s.index},
                       {"start_ns", value(s.start - origin_of(job, r.rank))},
                       {"wall_ns", value(s.end - s.start)}});
  out += R"(],"names":)" + dump(timeline.names) + R"(,"steps":)" + dump(steps) +
         R"(,"truncated":)" + (timeline.reduced ? "true" : "false") + '}';
  return out;
}

Json verdict_row(const Culprit& v) {
  return {{"kind", name_of(culprit_kind_names, v.kind)},
          {"ranks", v.ranks},
          {"group", value(v.group)},
          {"dim", text_or_null(v.dim)},
          {"stage", value(v.stage)},
          {"steps", v.steps},
          {"gain_ns", value(v.gain)},
          {"share", v.share},
          {"confidence", name_of(confidence_names, v.confidence)},
          {"sentence", text_or_null(say_stopped(v.sentence))},
          {"clock", clock_json(v.clock)},
          {"change", text_or_null(v.change)}};
}

}  // namespace

Json verdict_json(std::span<const Culprit> verdicts) {
  if (verdicts.empty()) return nullptr;
  Json first = verdict_row(verdicts.front());
  Json others = Json::array();
  for (const Culprit& v : verdicts.subspan(1)) others.push_back(verdict_row(v));
  first["alternatives"] = std::move(others);
  return first;
}

Json inputs_json(std::span<const InputRow> inputs) {
  Json out = Json::array();
  for (const InputRow& i : inputs)
    out.push_back({{"path", i.path},
                   {"format", text_or_null(i.format)},
                   {"rank", value(i.rank)},
                   {"clock", text_or_null(i.clock)},
                   {"bytes", i.file_bytes},
                   {"text_bytes", i.text_bytes},
                   {"events", i.events},
                   {"truncated", i.truncated},
                   {"cut_at", i.cut_at ? Json(*i.cut_at) : Json(nullptr)},
                   {"notes", i.notes},
                   {"error", value(i.error)}});
  return out;
}

Json analyze_tree(const Analysis& report) {
  const JobResult& job = report.job;
  Json ranks = Json::array();
  for (const RankResult& r : job.ranks)
    ranks.push_back(rank_json(report, r, source_of(report, r.rank)));
  return {{"schema", "stepscope.analyze/1"},
          {"version", report.version},
          {"origin_unix_ns", std::to_string(job.clocks.origin.count())},
          {"answer",
           {{"bound_by", job.steps.common.empty()
                             ? Json(nullptr)
                             : Json(name_of(bound_by_names, report.answer.bound_by))},
            {"sentence", say_stopped(report.answer.sentence)},
            {"culprit", text_or_null(say(report.answer.culprit))},
            {"remedy", text_or_null(say(remedy_of(report)))},
            {"command", text_or_null(whatif_command(report))},
            {"verdict", verdict_json(report.answer.culprits)}}},
          {"inputs", inputs_json(report.inputs)},
          {"warnings", say_all(report.warnings)},
          {"recording", recording_json(job)},
          {"ranks", std::move(ranks)},
          {"job", job_json(report)},
          {"rates", rates_json(report)},
          {"collectives", collectives(report)},
          {"groups", groups_json(job.collectives, job.traffic.rates)},
          {"collective_mismatches", mismatches(job)},
          {"dimensions", dimensions(report)},
          {"ddp_buckets", ddp_buckets(job)},
          {"ddp_bucket_sums", ddp_bucket_sums_tree(job)},
          {"unit_waits", unit_waits_json(job)},
          {"stragglers", stragglers(job)},
          {"pipeline", pipeline_json(job)},
          {"clock_alignment", clock_alignment_json(job.clocks)},
          {"link_fits", link_fits_json(report.link_fits)},
          {"gpu_readings", gpu_readings_json(job.gpus, job.ranks)},
          {"counters", counters_json(report)},
          {"mfu", mfu_json(report.mfu)},
          {"expected", expected_json(report)},
          {"explanation", explanation_json(job)},
          {"findings", findings_json(report.findings, job)},
          {"short_names", short_names(job)},
          {"terms", terms_json({"budget", "mfu", "phase", "bound_by", "finding", "confidence",
                                "kernel_class", "dimension", "bubble", "schedule", "path",
                                "step_class", "memory_use", "placement", "dtype"},
                               on_cpu(job.ranks))}};
}

std::string analyze_page_json(Json tree, const JobResult& job) {
  if (Json& waits = tree["unit_waits"]; !waits.is_null()) {
    waits.erase("fetches");
    waits.erase("reduces");
  }
  std::string json = json_text(tree);
  append_timeline(json, job);
  return json;
}

void append_timeline(std::string& json, const JobResult& job) {
  if (!job.timeline) return;
  json.resize(json.rfind('}'));
  json += ",\"timeline\":" + timeline_text(job) + "}\n";
}

}  // namespace stepscope
