// SPDX-License-Identifier: Apache-2.0
#include "tests/training/matrix_processes.h"

#include <cstdlib>
#include <fstream>
#include <istream>
#include <ostream>
#include <utility>

#include "engine/comm/groups/shm_group.h"

namespace stepscope::matrix {
namespace {

template <class T>
void put(std::ostream& out, const T& value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T get(std::istream& in) {
  T value{};
  in.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

// False if the file ends early or has impossible values.
bool read_outcome(std::istream& in, std::size_t rank, zero::TestOutcome& outcome) {
  for (auto unit = get<std::int64_t>(in); unit >= 0; unit = get<std::int64_t>(in)) {
    const auto first = get<std::int64_t>(in);
    const auto count = get<std::int64_t>(in);
    const auto u = static_cast<std::size_t>(unit);
    if (!in || u >= outcome.state.master.size()) return false;
    for (auto* part : {&outcome.state.master, &outcome.state.m, &outcome.state.v}) {
      std::vector<float>& values = (*part)[u];
      const auto end = static_cast<std::size_t>(first + count);
      if (first < 0 || count < 0 || end > values.size()) return false;
      in.read(reinterpret_cast<char*>(values.data() + first),
              static_cast<std::streamsize>(static_cast<std::size_t>(count) * sizeof(float)));
    }
  }
  const auto steps = get<std::int64_t>(in);
  for (std::int64_t i = 0; i < steps && in; ++i) {
    zero::StepResult step;
    step.loss = get<double>(in);
    step.gradient_norm = get<double>(in);
    step.tokens = get<std::int64_t>(in);
    step.clipped = get<bool>(in);
    outcome.steps[rank].push_back(step);
  }
  return static_cast<bool>(in);
}

Result<SpawnReport> start(const Job& job, int ranks) {
  std::vector<std::string> argv = {
      STEPSCOPE_MATRIX_RANK, job.extent == Extent::core ? "core" : "full",
      std::to_string(job.training), std::to_string(job.delays), job.file};
  if (job.transport == Transport::shm) return spawn_ranks(argv, ranks);
#ifdef STEPSCOPE_MPIEXEC
  // One process that starts the others and ends them when it is ended.
  argv.insert(argv.begin(), {STEPSCOPE_MPIEXEC, "--oversubscribe", "-n", std::to_string(ranks)});
  return spawn_ranks(
      argv, 1, {.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}});
#else
  return Error{.what = "this build has no MPI"};
#endif
}

// The outcomes of all variants, from the files of all ranks.
Result<std::vector<zero::TestOutcome>> read_outcomes(const Job& job, const Training& training,
                                                     const std::vector<Variant>& all, int ranks) {
  std::vector<zero::TestOutcome> outcomes;
  for (const Variant& variant : all) {
    outcomes.push_back(zero::no_outcome(run_of(training, variant, ranks)));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = job.file + "." + std::to_string(rank);
    std::ifstream in(path, std::ios::binary);
    for (zero::TestOutcome& outcome : outcomes) {
      if (!read_outcome(in, static_cast<std::size_t>(rank), outcome)) {
        return Error{.what = "not the outcome of " + std::to_string(all.size()) + " variants",
                     .file = path};
      }
    }
  }
  return outcomes;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  configurations += other.configurations;
  differences += other.differences;
  clipped += other.clipped;
  faults.insert(faults.end(), other.faults.begin(), other.faults.end());
  return *this;
}

Result<Job> job_of(int count, char** arguments) {
  if (count != 5) return Error{.what = "usage: matrix_rank core|full TRAINING DELAYS FILE"};
  Job job{.extent = std::string(arguments[1]) == "core" ? Extent::core : Extent::full,
          .training = std::strtoull(arguments[2], nullptr, 10),
          .delays = std::strtoull(arguments[3], nullptr, 10),
          .file = arguments[4]};
  if (job.training >= trainings(job.extent).size()) return Error{.what = "no such training"};
  return job;
}

void write_outcome(std::ostream& out, const zero::TrainingState& state,
                   const std::vector<zero::StepResult>& steps) {
  for (const zero::StateExtent& extent : state.extents) {
    put(out, static_cast<std::int64_t>(extent.unit));
    put(out, extent.first);
    put(out, static_cast<std::int64_t>(extent.master.size()));
    for (const auto values : {extent.master, extent.m, extent.v}) {
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size_bytes()));
    }
  }
  put(out, std::int64_t{-1});
  put(out, static_cast<std::int64_t>(steps.size()));
  for (const zero::StepResult& step : steps) {
    put(out, step.loss);
    put(out, step.gradient_norm);
    put(out, step.tokens);
    put(out, step.clipped);
  }
}

Result<Tally> compare_processes(const Job& job, int ranks) {
  const Training training = trainings(job.extent)[job.training];
  const std::vector<Variant> all = variants(job.extent);
  const zero::TestOutcome expected = reference(training, ranks);
  zero::expect_no_errors(expected);

  const auto report = start(job, ranks);
  if (!report) return report.error();
  if (report->first_failed) {
    return Error{.what = "a rank of the matrix failed, or could not be started"};
  }
  const auto outcomes = read_outcomes(job, training, all, ranks);
  if (!outcomes) return outcomes.error();

  Tally tally;
  for (const zero::StepResult& step : expected.steps[0]) tally.clipped += step.clipped ? 1 : 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t found = differences((*outcomes)[i], expected);
    ++tally.configurations;
    tally.differences += found;
    if (found != 0) {
      tally.faults.push_back(text_of(training) + text_of(all[i]) + ", " + std::to_string(ranks) +
                             " ranks: " + std::to_string(found) + " differences");
    }
  }
  return tally;
}

}  // namespace stepscope::matrix
