// SPDX-License-Identifier: Apache-2.0
// The exceptions of a log: tracebacks of one or several ranks between each other, exceptions whose
// traceback is cut, and what stands on the lines behind them.
#include <algorithm>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/device_line.h"
#include "stepscope/read/incident/error_text.h"
#include "stepscope/read/incident/incident_log.h"
#include "stepscope/read/incident/lines_around.h"
#include "stepscope/read/incident/oom_line.h"
#include "stepscope/read/incident/python_frame.h"

namespace stepscope {
namespace {

constexpr std::uint64_t longest_traceback = 400;  // lines
constexpr int frames_looked_back = 60;

}  // namespace

// A frame, code, or the exception, which ends the traceback.
void IncidentLog::traceback_line(const OfLine& of, Traceback& open, bool& done) {
  const std::string_view text = without_launcher(of.text);
  if (++open.lines > longest_traceback) {
    done = true;
    return;
  }
  if (text.empty() || text.starts_with(' ') || text.starts_with('\t')) {
    if (auto place = frame_place(text)) open.where = std::move(*place);
    return;
  }
  if (!is_exception_line(text)) return;
  done = true;
  if (auto oom = parse_oom(text))
    out_of_memory(std::move(*oom), of, std::move(open.where));
  else
    exception(of, text, std::move(open));
}

// The place of the program in the frames in front of an exception, whose header is not there.
// Absent without frames; empty if all are of libraries.
std::optional<std::string> IncidentLog::place_before(const OfLine& of) const {
  const std::string stream = stream_of(of.whole);
  std::optional<std::string> found;
  std::string_view before = of.before;
  for (int i = 0; i < frames_looked_back && !before.empty(); ++i) {
    const std::string_view one = last_line_of(before);
    if (stream_of(one) != stream) continue;
    const std::string_view text = plain(one);
    const bool indented = text.starts_with(' ') || text.starts_with('\t');
    if (!indented && !text.starts_with("File \"")) break;
    if (!is_python_frame(text)) continue;
    if (auto place = frame_place(text)) return place;
    found = std::string();
  }
  return found;
}

// Whether the line is an exception without the header of its traceback, which is added.
bool IncidentLog::exception_alone(const OfLine& of) {
  const std::string_view text = without_launcher(of.text);
  if (!is_exception_line(text)) return false;
  auto place = place_before(of);
  if (!place && !is_of_device_or_group(text)) return false;
  exception(of, text, {.where = std::move(place).value_or(std::string())});
  return true;
}

// "terminate called after throwing an instance of 'c10::DistBackendError'", and its words on the
// next line: "  what():  NCCL error in: …". Whether the line has these words, which are added.
bool IncidentLog::exception_of_cpp(const OfLine& of) {
  const std::string_view text = trimmed(without_launcher(of.text));
  if (!text.starts_with("what():")) return false;
  const std::string stream = stream_of(of.whole);
  std::string_view before = of.before;
  for (int i = 0; i < joined_lines && !before.empty(); ++i) {
    const std::string_view one = last_line_of(before);
    if (stream_of(one) != stream) continue;
    const auto name = behind(one, "after throwing an instance of '");
    if (!name) return false;
    const std::string words(trimmed(text.substr(7)));
    exception(of, std::string(name->substr(0, name->find('\''))) + ": " + words, {});
    return true;
  }
  return false;
}

void IncidentLog::exception(const OfLine& of, std::string_view first, Traceback open) {
  // An error of NCCL has its kind and NCCL's own last error on the next lines.
  std::string text(first);
  std::string_view rest = of.behind;
  for (int i = 0; contains(first, "NCCL error") && i < joined_lines && !rest.empty(); ++i) {
    const std::string_view more = trimmed(plain(one_line(rest)));
    if (more.empty() || more.starts_with("```") || contains(more, "Exception raised")) break;
    // What NCCL says itself leads.
    const std::size_t name = text.find(": ");
    if (text.ends_with("Last error:") && name < text.size()) {
      text.insert(name + 2, std::string(more) + "; ");
      break;
    }
    if (is_exception_line(more)) break;
    text += "; ";
    text += more;
  }
  // Ray's message has a line break of its own.
  if (contains(first, "RayOutOfMemoryError") && first.ends_with(" node"))
    (text += ' ') += trimmed(plain(one_line(rest)));
  const std::optional<int> device_rank = reason_of_cann(of, text);
  // A process that joins the others and is refused there is no consequence of an end.
  const bool joins = contains(text, "gloo") && contains(text, "Connection refused");
  IncidentEvent e{.kind = IncidentKind::exception, .follows = is_consequence(text) && !joins};
  e.rank = device_rank;
  // "… in store based barrier on rank: 7" of PyTorch.
  if (contains(text, "store based barrier"))
    if (const auto rank = number_behind(text, "on rank: ");
        rank && *rank >= 0 && *rank < 10'000'000)
      e.rank = static_cast<int>(*rank);
  if (!e.rank) e.rank = open.rank;
  e.local_rank = open.local_rank;
  e.text = text;
  if (const auto words = device_words(text)) {
    e.kind = IncidentKind::device_error;
    e.text = *words;
  }
  // An exception that says how another process ended.
  if (const auto ended = event_in(text)) {
    const bool actor = ended->kind == IncidentKind::exit && !ended->code;
    const bool signal = ended->kind == IncidentKind::signal;
    if (ended->kind == IncidentKind::host_memory || actor || (signal && e.follows)) {
      e = *ended;
      e.text = text;
    }
    if (signal) e.code = ended->code;
  }
  e.text = cut_text(e.text);
  e.where = std::move(open.where);
  add(std::move(e), of);
}

// An error of Ascend's libraries has its rank and its reason on the next lines: "[ERROR] …
// RankID:3) ERR02200 DIST call hccl api failed.", "EJ0001: TIME Failed to initialize …". Adds the
// reason to `text`, and returns the rank.
std::optional<int> IncidentLog::reason_of_cann(const OfLine& of, std::string& text) {
  std::optional<int> rank;
  if (!contains_any(text, {"HCCL error", "torch_npu/", "torch_npu."})) return rank;
  std::string_view behind_it = of.behind;
  for (int i = 0; i < joined_lines && !behind_it.empty(); ++i) {
    const std::string_view more = trimmed(plain(one_line(behind_it)));
    if (const auto number = number_behind(more, "RankID:"); number && *number >= 0)
      rank = static_cast<int>(std::min<std::int64_t>(*number, 10'000'000));
    if (!is_cann_code(more)) continue;
    if (contains(more, "Notify register times out")) break;  // an event of its own
    text += "; ";
    text += more;
    joined_until_ = of.number + static_cast<std::uint64_t>(i) + 1;
    break;
  }
  return rank;
}

}  // namespace stepscope
