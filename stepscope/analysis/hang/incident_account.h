// SPDX-License-Identifier: Apache-2.0
// One account of what the files of a job say of its end: a timeline, the first event that nothing
// else explains, and the ranks without any line.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stepscope/event/comm_records.h"

namespace stepscope {

// Events of one kind and text on several ranks. Ends of processes are of one row if they come
// within ten seconds.
struct IncidentRow {
  std::uint32_t event = 0;           // the first, in Incident::events
  std::vector<int> ranks{};          // of the job, ascending
  std::uint64_t unranked = 0;        // events whose rank is not known
  std::uint64_t events = 0;          // of all
  std::vector<std::int64_t> pids{};  // of the events without a rank, in their order, each once
  std::optional<WrittenTime> last{};
};

struct IncidentAccount {
  // By time. An event without a time of its own stands between the lines around it in its file. The
  // events of files without any time come last, in the order of files.
  std::vector<IncidentRow> rows{};
  // The first row that neither follows from another event by its own words nor is a wait of a
  // watchdog or barrier. An end that always has a reason (an exit code, SIGABRT, a cancelled job)
  // gives way to an error that may have come before.
  std::optional<std::size_t> cause{};
  bool cause_is_first = false;  // times or the order of lines show it, or it is the only one
  std::optional<int> world{};   // ranks of the job, if the files agree on it
  std::vector<int> silent{};    // ranks below `world`, or between others, that no file names
};

// `seen`: ranks of other files, as dumps of threads.
[[nodiscard]] IncidentAccount account_incident(const CommRecords& records,
                                               const std::vector<int>& seen = {});

// The first event of a rank that is more than a wait.
[[nodiscard]] const IncidentEvent* first_error_of(const Incident& incident, int rank);

}  // namespace stepscope
