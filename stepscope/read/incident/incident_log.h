// SPDX-License-Identifier: Apache-2.0
// The events of whole files of a job that stands still or ended: single lines (incident_line.h),
// Python tracebacks of one or several ranks between each other, messages of allocators that a
// terminal has wrapped, the last line of each rank, and arguments of the job that programs print.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/event/incident.h"
#include "stepscope/read/incident/framework_oom.h"
#include "stepscope/read/incident/launcher_prefix.h"

namespace stepscope {

// The rank in the name of a file: the number behind its last "rank" ("rank_3.log", "log-rank3"). A
// file whose lines name other ranks is not that of one rank.
[[nodiscard]] std::optional<int> rank_in_file_name(std::string_view path);

class IncidentLog {
 public:
  explicit IncidentLog(Incident& into) : into_(into) {}

  // Begins a file: its number in the list of inputs, and its path.
  void begin(std::uint32_t input, std::string_view path);
  // Whole lines, in order. Time is linear in the bytes; memory is bounded.
  void take(std::string_view block);
  // Ends the file. Returns whether it has any event.
  bool end();

  // Forgets the last lines of this file, which turned out to be no log of the job.
  void drop_last_lines();

  // Gives times without a year the only year that other times have. Call after the last file.
  void settle();

 private:
  struct Traceback {
    std::string where{};
    std::uint64_t lines = 0;
    std::optional<int> local_rank{};
    std::optional<int> rank{};
  };

  struct OfLine {
    std::string_view text;  // without the name in front of it
    std::uint64_t number = 0;
    std::string_view before;  // of the block: the lines in front of it
    std::string_view behind;
    std::string_view name{};  // of the host, pod or container that writes it
    std::string_view whole{};
  };

  [[nodiscard]] static std::optional<IncidentEvent> event_in(std::string_view line);
  void line(const OfLine& of);
  void traceback_line(const OfLine& of, Traceback& open, bool& done);
  void watchdog(const OfLine& of);
  void out_of_memory(OomMessage message, const OfLine& of, std::string where);
  [[nodiscard]] bool allocator_stats(const OfLine& of);
  void exception(const OfLine& of, std::string_view first, Traceback open);
  [[nodiscard]] bool exception_alone(const OfLine& of);
  [[nodiscard]] bool exception_of_cpp(const OfLine& of);
  [[nodiscard]] std::optional<int> reason_of_cann(const OfLine& of, std::string& text);
  void begin_step(bool labelled);
  void add_each(const IncidentEvent& event, const OfLine& of);
  void keep_last_of_labels(std::string_view block);
  void complete(IncidentEvent& event, const OfLine& of) const;
  void add(IncidentEvent event, const OfLine& of);
  [[nodiscard]] std::string_view plain(std::string_view line) const;
  [[nodiscard]] std::string stream_of(std::string_view line) const;
  [[nodiscard]] std::optional<std::string> place_before(const OfLine& of) const;
  [[nodiscard]] std::string place_of_crash(std::string_view behind) const;
  void keep_last(int rank, const OfLine& of);
  [[nodiscard]] std::optional<WrittenTime> time_of(const OfLine& of);

  Incident& into_;
  std::uint32_t input_ = 0;
  std::string path_;
  std::optional<int> file_rank_;
  bool other_ranks_ = false;            // lines name other ranks: the file is not that of its rank
  std::vector<std::size_t> by_name_{};  // events whose rank is that of the file
  bool labelled_ = false;               // the output of srun --label
  std::size_t tasks_ = 0;               // of lists of srun, each an event of its own
  std::uint64_t lines_ = 0;             // before the block
  std::uint64_t found_ = 0;             // events of this file
  std::size_t first_ = 0;               // the first of them in the list of all
  std::optional<WrittenTime> latest_;
  LauncherNames names_{};
  std::uint64_t joined_until_ = 0;  // line; what CANN writes before it belongs to an exception
  std::optional<std::size_t> last_oom_{};                  // of this file
  std::optional<BfcStats> stats_{};                        // before the first of them
  std::map<std::string, Traceback, std::less<>> open_;     // by writer
  std::map<std::string, std::size_t, std::less<>> known_;  // event → its index
};

}  // namespace stepscope
