// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/recording_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "stepscope/analysis/runs/recorded_facts.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

constexpr std::size_t most_listed_steps = 4;

// "steps 5 and 6 of rank 0 are incomplete and left out"
std::string broken_steps(const JobResult& job) {
  std::set<std::int64_t> steps;
  std::vector<int> ranks;
  for (const CutRank& c : job.cut) {
    steps.insert(c.steps.begin(), c.steps.end());
    if (!c.steps.empty()) ranks.push_back(c.rank);
  }
  if (steps.empty() && is_window(job)) return "what was recorded before is whole";
  if (steps.empty()) return "the steps before are whole";
  return fmt::format("{} {} of {} {} incomplete and left out", steps.size() == 1 ? "step" : "steps",
                     fmt::join(steps, ", "), ranks_in_words(ranks),
                     steps.size() == 1 ? "is" : "are");
}

// "a step", or that there are none.
std::string_view whole_in_words(const JobResult& job) {
  return is_window(job) ? "the recorded window" : "a step";
}

// "4.65 ms (12.3 %) of a step" of a sum over a rank's steps.
std::string part_in_words(Ns time, const RankResult& r, const JobResult& job) {
  const Ns whole = r.budget.total.sum();
  const auto steps = std::max<std::int64_t>(1, std::ssize(r.steps));
  return fmt::format("{} ({}) of {}", format_time(time / steps),
                     format_percent(share_of_time(time, whole)), whole_in_words(job));
}

// Launches without device rows: whose, how many, and which steps are left out for them.
std::string lost_sentence(const JobResult& job) {
  std::vector<int> ranks;
  std::set<std::int64_t> steps;
  std::uint64_t lost = 0;
  std::uint64_t launches = 0;
  bool unseen = false;
  for (const RankResult& r : job.ranks) {
    const RankRecording& rec = r.recording;
    if (rec.lost_steps.empty() && !rec.device_unseen() && lost_share(r) < threshold::least_gain)
      continue;
    ranks.push_back(r.rank);
    steps.insert(rec.lost_steps.begin(), rec.lost_steps.end());
    lost += rec.lost_launches;
    launches += rec.launches;
    unseen = unseen || rec.device_unseen();
  }
  if (ranks.empty()) return {};
  if (unseen)
    return fmt::format(
        "{} launched kernels, but the trace has no row of the device: what it did is not known.",
        capitalised(ranks_in_words(ranks)));
  std::string text = lost == 0
                         ? fmt::format("The recording has no device rows for some steps of {}",
                                       ranks_in_words(ranks))
                         : fmt::format("The recording lost the kernels of {} of {} launches on {}",
                                       lost, launches, ranks_in_words(ranks));
  if (steps.empty()) return text + ": what the device did there is not known.";
  return text + fmt::format(": {} {} {} left out.", steps.size() == 1 ? "step" : "steps",
                            steps.size() > most_listed_steps
                                ? fmt::format("{} to {} ({} in all)", *steps.begin(),
                                              *steps.rbegin(), steps.size())
                                : fmt::format("{}", fmt::join(steps, ", ")),
                            steps.size() == 1 ? "is" : "are");
}

// A file of several ranks whose rows cannot be told apart.
std::string merged_sentence(const JobResult& job) {
  const auto merged = std::ranges::find_if(
      job.ranks, [](const RankResult& r) { return r.recording.stepping_processes > 1; });
  if (merged == job.ranks.end()) return {};
  return fmt::format(
      "The file of rank {} holds {} processes that mark the same steps, and nothing tells which "
      "device rows are whose: what follows mixes them. Give the file of each rank.",
      merged->rank, merged->recording.stepping_processes);
}

// Rows of which it is not known what they are.
std::string nameless_sentence(const JobResult& job) {
  const bool none = !job.ranks.empty() && std::ranges::all_of(job.ranks, [](const RankResult& r) {
    std::uint64_t known = 0;
    for (const std::uint64_t n : r.recording.rows) known += n;
    return known > 0 && known == r.recording.of(Category::other);
  });
  if (!none) return {};
  return "No row has a category that tells operators, calls and kernels apart, so where the time "
         "goes is not known.";
}

// The rank with most time that is not recorded, if that is much.
std::string not_recorded_sentence(const JobResult& job) {
  const RankResult* most = nullptr;
  const auto time = [](const RankResult& r) {
    return r.budget.total[BudgetCategory::not_recorded];
  };
  for (const RankResult& r : job.ranks)
    if (most == nullptr || time(r) > time(*most)) most = &r;
  if (most == nullptr ||
      share_of_time(time(*most), most->budget.total.sum()) < threshold::much_not_recorded)
    return {};
  const auto cause = std::ranges::find(most->idle, BudgetCategory::not_recorded, &IdleCause::cause);
  const bool in_graph = cause != most->idle.end() && !cause->largest.empty() &&
                        is_graph_launch(cause->largest.front().culprit.value_or(""));
  return fmt::format("{} {}: {}.", part_in_words(time(*most), *most, job),
                     in_graph ? "lies between the nodes of a graph launch" : "is not recorded",
                     in_graph ? "the host made one call, and no row tells what the nodes wait for"
                              : "the device waits for work from before the recording");
}

std::string start_up_in_words(const StartUpSpan& span) {
  const std::string what = printable(short_kernel_name(span.what));
  switch (span.kind) {
    case StartUpKind::library:
      return fmt::format("{} sets up its library", what);
    case StartUpKind::code:
      return fmt::format("{} loads code", what);
    case StartUpKind::first_launch:
      return fmt::format("the first launch of {} loads its code", shorten(what, 40));
    case StartUpKind::first_call:
      return fmt::format("the first {}", what);
  }
  return {};
}

// Without marks of steps only the device's span counts, which may be a small part of the recording.
std::string span_sentence(const JobResult& job) {
  const auto part = [](const RankResult& r) {
    return share_of_time(r.steps.front().end - r.steps.front().start,
                         r.window_end - r.window_start);
  };
  const RankResult* least = nullptr;
  for (const RankResult& r : job.ranks)
    if (is_window(r) && r.device != "cpu" && (least == nullptr || part(r) < part(*least)))
      least = &r;
  if (least == nullptr || part(*least) > threshold::small_span) return {};
  return fmt::format(
      "Of the {} recorded, the {} from the device's first row to its last are accounted for.",
      format_time(least->window_end - least->window_start),
      format_time(least->steps.front().end - least->steps.front().start));
}

// The rank that waits most for start-up, if that is much.
std::string start_up_sentence(const JobResult& job) {
  const RankResult* most = nullptr;
  for (const RankResult& r : job.ranks)
    if (most == nullptr || r.recording.start_up.idle > most->recording.start_up.idle) most = &r;
  if (most == nullptr) return {};
  const StartUp& start_up = most->recording.start_up;
  if (start_up.spans.empty() ||
      share_of_time(start_up.idle, most->budget.total.sum()) < threshold::much_start_up)
    return {};
  const auto longest = std::ranges::max_element(
      start_up.spans, {}, [](const StartUpSpan& span) { return span.end - span.start; });
  return fmt::format(
      "Start-up takes {} ({}), which later steps do not repeat: record after a warm-up.",
      part_in_words(start_up.idle, *most, job), start_up_in_words(*longest));
}

}  // namespace

std::string cut_sentence(std::span<const InputRow> inputs, const JobResult& job) {
  const auto cut = [](const InputRow& i) { return i.truncated && !i.error; };
  const auto files = std::ranges::count_if(inputs, cut);
  if (files == 0 || job.cut.empty()) return {};
  const InputRow& first = *std::ranges::find_if(inputs, cut);
  const std::string at = first.cut_at ? fmt::format(" at byte {}", *first.cut_at) : "";
  std::string out = files == 1 ? fmt::format("{} is cut off{}", printable(first.path), at)
                               : fmt::format("{} files are cut off, among them {}{}", files,
                                             printable(first.path), at);
  if (job.steps.empty())
    return out + ": no whole step is left, so what bounds a step is not known.";
  return out + ": " + broken_steps(job) + ".";
}

std::string recording_sentence(std::span<const InputRow> inputs, const JobResult& job) {
  for (std::string said :
       {merged_sentence(job), nameless_sentence(job), cut_sentence(inputs, job), lost_sentence(job),
        not_recorded_sentence(job), start_up_sentence(job), span_sentence(job)})
    if (!said.empty()) return said;
  return {};
}

std::string slowed_sentence(const JobResult& job) {
  std::vector<Ns> unrecorded;
  for (const RankResult& r : job.ranks)
    if (r.unrecorded_step) unrecorded.push_back(*r.unrecorded_step);
  if (unrecorded.empty() || is_window(job)) return {};
  const auto middle = unrecorded.begin() + std::ssize(unrecorded) / 2;
  std::ranges::nth_element(unrecorded, middle);
  const auto longer = static_cast<double>(step_length(job).count());
  if (longer < threshold::slowed_by_recording * static_cast<double>(middle->count())) return {};
  return fmt::format(
      "Steps before the recording took {}: recording slows the host, so its part may be "
      "overstated.",
      format_time(*middle));
}

bool unaccountable(const JobResult& job) {
  return !merged_sentence(job).empty() || !nameless_sentence(job).empty();
}

std::vector<std::string> lost_rows_warnings(const JobResult& job) {
  std::vector<std::string> out;
  std::vector<int> unseen;
  std::vector<int> lossy;
  std::uint64_t lost = 0;
  for (const RankResult& r : job.ranks) {
    if (r.recording.lost_launches == 0) continue;
    (r.recording.device_unseen() ? unseen : lossy).push_back(r.rank);
    if (!r.recording.device_unseen()) lost += r.recording.lost_launches;
  }
  if (job.ranks.empty()) return out;
  const RankResult& first = job.ranks.front();
  const bool nsys = first.recording.format == "nsys";
  if (!unseen.empty())
    out.push_back(
        fmt::format("{} launched kernels but the trace has no row of the device: record with {}",
                    ranks_in_words(unseen), nsys ? "--trace=cuda" : "ProfilerActivity.CUDA"));
  if (!lossy.empty())
    out.push_back(fmt::format(
        "{} of {} {} no row of the device: the profiler lost them; record fewer steps, or give it "
        "larger buffers{}",
        counted(lost, "launch"), ranks_in_words(lossy), lost == 1 ? "has" : "have",
        first.recording.format == "kineto" && first.device == "cuda"
            ? " (ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB of Kineto)"
            : ""));
  return out;
}

}  // namespace stepscope
