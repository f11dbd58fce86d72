// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_verdict.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/verdict.h"

namespace stepscope {
namespace {

// What the ranks' options differ in.
struct Header {
  std::int64_t unix_offset = 0;
  std::array<char, 256> host{};  // ends with a zero
};

std::vector<std::byte> own_bytes(const zero::TraceOptions& options,
                                 const zero::RecordedRows& rows) {
  Header header{.unix_offset = options.unix_offset.count()};
  options.host.copy(header.host.data(), header.host.size() - 1);
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  const std::vector<std::byte> encoded = zero::encode(rows);
  bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  return bytes;
}

Result<RankRows> received(std::span<const std::byte> bytes, zero::TraceOptions options, int rank) {
  Header header;
  if (bytes.size() < sizeof header) return Error{.what = "the rows of a rank are missing"};
  std::memcpy(&header, bytes.data(), sizeof header);
  auto rows = zero::decode_rows(bytes.subspan(sizeof header));
  if (!rows) return rows.error();
  options.rank = rank;
  options.unix_offset = Ns{header.unix_offset};
  options.host = header.host.data();
  return RankRows{std::move(options), std::move(*rows)};
}

}  // namespace

Result<std::vector<RankRows>> gather_rows(Communicator& comm, const zero::TraceOptions& options,
                                          const zero::RecordedRows& own) {
  const std::vector<std::byte> bytes = own_bytes(options, own);
  const std::array<std::int64_t, 1> size = {static_cast<std::int64_t>(bytes.size())};
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()));
  if (auto done = wait_for(comm, all_gather(comm, size, sizes, "sizes of recorded rows")); !done)
    return done.error();
  std::vector<RankRows> ranks;
  if (comm.rank() != 0) {
    if (auto done = wait_for(comm, send(comm, bytes, 0, "recorded rows")); !done)
      return done.error();
    return ranks;
  }
  ranks.push_back({options, own});
  for (int r = 1; r < comm.size(); ++r) {
    std::vector<std::byte> theirs(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]));
    if (auto done = wait_for(comm, recv(comm, theirs, r, "recorded rows")); !done)
      return done.error();
    auto rows = received(theirs, options, r);
    if (!rows) return rows.error();
    ranks.push_back(std::move(*rows));
  }
  return ranks;
}

TrainVerdict verdict_of(std::vector<RankRows> ranks, std::int64_t first_step) {
  TrainVerdict verdict;
  if (std::ranges::any_of(ranks, [](const RankRows& r) { return r.rows.left_out > 0; })) {
    verdict.why_none = msg::rows_beyond_recorder();
    return verdict;
  }
  for (RankRows& r : ranks) {
    const std::vector<StepRecord>& steps = r.rows.steps;
    if (steps.size() > 1 && steps.front().index == first_step) r.rows.keep_last(steps.size() - 1);
  }
  std::vector<Trace> traces;
  traces.reserve(ranks.size());
  std::vector<RankInput> inputs;
  for (const RankRows& r : ranks) {
    traces.push_back(zero::make_trace(r.options, r.rows));
    inputs.push_back({r.options.rank, &traces.back()});
  }
  JobOptions options;
  options.world_size = static_cast<int>(ranks.size());
  options.threads = std::thread::hardware_concurrency();
  const JobResult job = analyze_job(inputs, options);
  if (job.steps.common.size() < threshold::enough_steps) {
    verdict.why_none = msg::fewer_than_three_steps();
    return verdict;
  }
  verdict.first_step = job.steps.common.front().index;
  verdict.last_step = job.steps.common.back().index;
  JobVerdict found = find_verdict(job, std::nullopt);
  verdict.culprits = std::move(found.culprits);
  if (!verdict.culprits.empty()) return verdict;
  const auto none = no_answer(job);
  verdict.why_none =
      joined(msg::sentences,
             {none ? none->reason : msg::steps_not_replayable(),
              found.culprit.empty() ? Message() : msg::sentence(std::move(found.culprit))});
  return verdict;
}

}  // namespace stepscope
