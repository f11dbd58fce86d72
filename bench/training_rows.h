// SPDX-License-Identifier: Apache-2.0
// Published training runs from a table with the columns of a collection of measured throughput
// (source, framework, model and its sizes, gpu, interconnect, degrees of parallelism, batch,
// precision, recompute, step_time_s and what it may be derived from, peak_mem_GB, ...): each row
// becomes a model, a plan and a machine, or the reason why that is impossible.
//
// The framework's defaults (training_setup.h) fill a row's gaps. A model that the catalogue knows
// by its name, with the row's sizes, has the catalogue's architecture (training_notes.h). Names of
// sources decide nothing. Columns that a file lacks read as empty.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csv_table.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope::bench {

// A machine of the catalogue with the network that the rows name.
struct TrainingSystem {
  const Machine* catalogue = nullptr;
  Machine machine;
  Network network;
};

struct TrainingRow {
  std::size_t line = 0;
  std::string id;
  std::string source;
  std::string group;  // rows that differ only in plan: same model, devices, batch, format
  std::string shape;  // rows with the same layer on the same devices, micro-batch and degrees
  std::size_t system = 0;
  Transformer model;
  Plan plan;
  bool several_nodes = false;
  bool searches_micro_batch = false;  // not published: the fastest that fits
  bool tuned = true;                  // false: a check that the run works; no model is fitted to it
  bool recompute_in_doubt = false;    // stated for a simulator's configuration, not for the run
  double step = 0;                    // seconds, measured
  std::optional<double> peak_memory;  // bytes
};

struct TrainingRows {
  std::vector<TrainingSystem> systems;
  std::vector<TrainingRow> rows;
  std::map<std::string, std::size_t> left_out;  // "source: reason" to rows
};

[[nodiscard]] Result<TrainingRows> training_rows(const CsvTable& table);
// The rows of all files, one after the other.
[[nodiscard]] Result<TrainingRows> read_training_rows(const std::vector<std::string>& paths);

}  // namespace stepscope::bench
