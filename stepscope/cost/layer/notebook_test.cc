// SPDX-License-Identifier: Apache-2.0
// The notebook "transformer estimates", cell by cell, from the functions that predict uses. Its
// differences are set as conventions (Counting, LinkVolume, a machine file).
// docs/dev/notebook-differences.md lists its errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "stepscope/cost/layer/layer_conventions.h"
#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/layer_table.h"
#include "stepscope/cost/layer/notebook_test_tables.h"
#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {
namespace {

using namespace notebook_test;

const LayerConventions& notebook = *find_layer_conventions("notebook");
const Counting& conventions = notebook.counting;
const LayerConventions& notebook_cells = *find_layer_conventions("notebook-cells");

// Its vector rate is that of fp16. 600 GB/s counts both directions of the link.
constexpr std::string_view machine_file = R"({
  "name": "the notebook's A100",
  "peak_tflops": {"fp16": 312},
  "vector_tflops": {"fp16": 78},
  "memory_gb_per_s": 1555,
  "scale_up": {"name": "nvlink", "gb_per_s_per_direction": 600, "domain": 4, "topology": "switch"},
  "sources": ["the notebook's cell 21"]
})";

constexpr double depth = 96;
constexpr double embed = 12288;

Transformer gpt3() {
  Transformer m = operations_test::gpt();
  m.layers = 96;
  m.qkv_bias = m.tied_embeddings = false;
  m.activation_dropout = 0.1;
  return m;
}

Plan degrees_of(std::int64_t tp, std::int64_t sequence) {
  return {.devices = std::lcm(tp, sequence),
          .tp = tp,
          .tensor = {.sequence_parallel = sequence > 1, .sequence_degree = sequence},
          .kernels = {.fused_attention = false},
          .precision = {.matmul = Dtype::fp16}};
}

std::string_view printed_name(const std::vector<CollectiveKind>& kinds) {
  if (kinds.empty()) return "";
  EXPECT_EQ(kinds.size(), 1U);
  if (kinds.front() == CollectiveKind::all_gather) return "allgather";
  return kinds.front() == CollectiveKind::reduce_scatter ? "reducescatter" : "unknown";
}

class Notebook : public testing::Test {
 protected:
  void SetUp() override {
    const auto machine = parse_machine(machine_file, "notebook.json");
    ASSERT_TRUE(machine) << machine.error().message();
    ASSERT_TRUE(machine->scale_up && machine->scale_up->domain);
    domain = *machine->scale_up->domain;
    rates = {.matrix = *peak(*machine, Dtype::fp16),
             .vector = *machine->vector_rates[index(Dtype::fp16)],
             .memory = *machine->memory_rate,
             .link = same_link(*machine->scale_up->per_direction),
             .volume = notebook.volume};
  }

  // One row of layer 0 under `plan`.
  [[nodiscard]] LayerRow row(std::string_view notebook_name, const Plan& plan,
                             const Counting& counting) const {
    const auto rows = layer_table(layer_operations(gpt3(), plan, 0, counting), plan, rates);
    const std::string_view name = our_name(notebook_name);
    const auto it = std::ranges::find(rows, name, &LayerRow::name);
    EXPECT_NE(it, rows.end()) << name;
    return it == rows.end() ? LayerRow{} : *it;
  }

  IdealRates rates;
  int domain = 0;
};

struct Comparison {
  int cells = 0;
  double worst = 0;  // relative

  void number(double ours, double theirs, const std::string& place) {
    ++cells;
    if (std::isnan(theirs)) {
      EXPECT_TRUE(std::isnan(ours)) << place;
      return;
    }
    const double difference = std::abs(ours - theirs) / std::max(std::abs(theirs), 1e-300);
    const double relative = ours == theirs ? 0 : difference;
    EXPECT_LT(relative, 1e-12) << place << ": " << ours << " for " << theirs;
    worst = std::max(worst, relative);
  }
  void text(std::string_view ours, std::string_view theirs, const std::string& place) {
    ++cells;
    EXPECT_EQ(ours, theirs) << place;
  }
};

// In the notebook's units. Cells of a direction without communication are empty.
struct Direction {
  double sent = none;
  double compute;
  double memory;
  double roofline;
  double communication;
  double total;
  double share;

  explicit Direction(const PassRow& r)
      : sent(r.group > 0 ? r.sent_bytes / 1e9 : none),
        compute(r.compute.count() * 1e3),
        memory(r.memory.count() * 1e3),
        roofline(r.roofline().count() * 1e3),
        communication(r.communication.count() * 1e3),
        total(r.total().count() * 1e3),
        share(r.communication / r.total()) {}
};

void compare(const LayerRow& r, const PrintedRow& p, int domain, Comparison& all) {
  const Direction f(r.forward);
  const Direction b(r.backward);
  const std::int64_t group = std::max(r.forward.group, r.backward.group);
  const auto number = [&](double ours, double theirs, const char* column) {
    all.number(ours, theirs, std::string(p.layer) + "." + column);
  };
  all.text(our_name(p.layer), r.name, "layer");
  number(r.forward.flops.value / 1e12, p.flops_fwd, "flops_fwd");
  number(r.input_bytes / 1e9, p.activation_in_mem, "activation_in_mem");
  number(r.other_bytes / 1e9, p.activation_in_other_mem, "activation_in_other_mem");
  number(r.output_bytes / 1e9, p.activation_out_mem, "activation_out_mem");
  number(r.kept_bytes / 1e9, p.activation_buffer, "activation_buffer");
  number(r.weight_bytes / 1e9, p.weights_mem, "weights_mem");
  number(r.forward.bytes / 1e9, p.total_mem_fwd, "total_mem_fwd");
  number(r.backward.flops.value / 1e12, p.flops_bwd, "flops_bwd");
  number(r.gradient_bytes / 1e9, p.activation_grad_mem, "activation_grad_mem");
  number(r.weight_gradient_bytes / 1e9, p.weights_grad_mem, "weights_grad_mem");
  number(r.backward.bytes / 1e9, p.total_mem_bwd, "total_mem_bwd");
  number(b.sent, p.comm_bwd, "comm_bwd");
  all.text(printed_name(r.backward.sent_by), p.comm_bwd_type, "comm_bwd_type");
  number(group > 0 ? static_cast<double>(group) : none, p.comm_size, "comm_size");
  number(f.sent, p.comm_fwd, "comm_fwd");
  all.text(printed_name(r.forward.sent_by), p.comm_fwd_type, "comm_fwd_type");
  number(f.compute, p.t_comp_fwd, "t_comp_fwd");
  number(f.memory, p.t_mem_fwd, "t_mem_fwd");
  number(b.compute, p.t_comp_bwd, "t_comp_bwd");
  number(b.memory, p.t_mem_bwd, "t_mem_bwd");
  number(r.forward.intensity(), p.intensity, "intensity");
  number(f.roofline, p.t_fwd, "t_fwd");
  number(b.roofline, p.t_bwd, "t_bwd");
  all.text(group == 0 ? "" : group <= domain ? "nvlink" : "ib", p.comm_topology, "comm_topology");
  number(f.communication, p.t_comm_fwd, "t_comm_fwd");
  number(b.communication, p.t_comm_bwd, "t_comm_bwd");
  number(f.total, p.t_total_fwd, "t_total_fwd");
  number(b.total, p.t_total_bwd, "t_total_bwd");
  number(f.share, p.frac_t_comm_fwd, "frac_t_comm_fwd");
  number(b.share, p.frac_t_comm_bwd, "frac_t_comm_bwd");
}

TEST_F(Notebook, EveryPrintedCellComesOut) {
  const Plan plan = degrees_of(4, 4);
  Comparison all;
  for (const PrintedRow& p : mlp) compare(row(p.layer, plan, conventions), p, domain, all);
  for (const PrintedRow& p : self_attention) {
    compare(row(p.layer, plan, conventions), p, domain, all);
  }
  EXPECT_EQ(all.cells, 434);
  RecordProperty("cells", all.cells);
  std::cout << all.cells << " cells, worst relative difference " << all.worst << '\n';
}

// The notebook's sums over the rows of one of its tables.
struct Sums {
  PrintedSums s{};
  double forward_time = 0;
  double forward_communication = 0;

  void add(const LayerRow& r) {
    s.activation_buffer += r.kept_bytes / 1e9 * depth;
    s.weights_mem += r.weight_bytes / 1e9 * depth;
    s.weights_grad_mem += r.weight_gradient_bytes / 1e9 * depth;
    s.flops_fwd += r.forward.flops.value / 1e12 * depth;
    s.flops_bwd += r.backward.flops.value / 1e12 * depth;
    s.t_total_fwd += r.forward.total().count() * 1e3 * depth;
    s.t_total_bwd += r.backward.total().count() * 1e3 * depth;
    s.t_comm_fwd += r.forward.communication.count() * 1e3 * depth;
    s.t_comm_bwd += r.backward.communication.count() * 1e3 * depth;
    s.communication_share = s.t_comm_fwd / s.t_total_fwd;
  }
};

void compare(const PrintedSums& ours, const PrintedSums& printed) {
  constexpr double rounding = 5.001e-7;
  EXPECT_NEAR(ours.activation_buffer, printed.activation_buffer, rounding);
  EXPECT_NEAR(ours.weights_mem, printed.weights_mem, rounding);
  EXPECT_NEAR(ours.weights_grad_mem, printed.weights_grad_mem, rounding);
  EXPECT_NEAR(ours.flops_fwd, printed.flops_fwd, rounding);
  EXPECT_NEAR(ours.flops_bwd, printed.flops_bwd, rounding);
  EXPECT_NEAR(ours.t_total_fwd, printed.t_total_fwd, rounding);
  EXPECT_NEAR(ours.t_total_bwd, printed.t_total_bwd, rounding);
  EXPECT_NEAR(ours.t_comm_fwd, printed.t_comm_fwd, rounding);
  EXPECT_NEAR(ours.t_comm_bwd, printed.t_comm_bwd, rounding);
  EXPECT_NEAR(ours.communication_share, printed.communication_share, 1e-15);
}

TEST_F(Notebook, EveryPrintedSumComesOut) {
  const Plan plan = degrees_of(4, 4);
  Sums feed_forward;
  Sums attention;
  for (const PrintedRow& p : mlp) feed_forward.add(row(p.layer, plan, conventions));
  for (const PrintedRow& p : self_attention) attention.add(row(p.layer, plan, conventions));
  compare(feed_forward.s, mlp_sums);
  compare(attention.s, self_attention_sums);
}

// nonlinear_act_estimates does not ask for the function.
TEST_F(Notebook, EveryActivationIsOneFlopAnElement) {
  using enum Activation;
  const double elements = 2048.0 * 4 * embed;
  for (const Activation function : {relu, gelu, silu}) {
    for (const bool gated : {false, true}) {
      Transformer m = gpt3();
      m.activation = function;
      m.gated = gated;
      const auto ops = layer_operations(m, degrees_of(1, 1), 0, conventions);
      const Operation& act = operations_test::named(ops, "activation");
      EXPECT_EQ(act.forward.vector.value, (gated ? 2 : 1) * elements);
      EXPECT_EQ(act.backward.vector.value, (gated ? 2 : 1) * elements);
    }
  }
}

// The activations of the printed tables are Korthikanti's, plus the whole inputs of fc1 and
// qkv_proj and the mask of a dropout that GPT does not have.
TEST_F(Notebook, ItsActivationsAreKorthikantisAndTwoMore) {
  const double sbh = 2048 * embed;
  const double printed = (mlp_sums.activation_buffer + self_attention_sums.activation_buffer) * 1e9;
  const double paper = sbh / 4 * (34 + 5 * 96 * 2048 / embed);
  const double whole_inputs = 2 * 2 * sbh * 3 / 4;
  const double mask = 4 * sbh / 4;
  EXPECT_NEAR(printed / depth, paper + whole_inputs + mask, 20);
}

// The intended code cells without their bugs (docs/dev/notebook-differences.md): adds of a
// reduction count, links carry (m - 1) / m of a buffer, without sequence parallelism a reduction is
// an all-reduce, and the last dropout works on (l / s) x e.
struct Cells {
  double m;  // tensor degree
  double s;  // sequence degree
  double t = 2048;
  double e = embed;
  double f = 4 * embed;

  [[nodiscard]] double reduced() const { return t * e * (m - 1) / m; }
  // Bytes on the link: whole dX or Y, twice unless the sequence is split. If it is split into fewer
  // parts than m, m / s devices need the same part and gather it.
  [[nodiscard]] double tensor_volume() const {
    const double copies = s > 1 && s < m ? t * e / s * (m / s - 1) / (m / s) : 0;
    return 2 * (reduced() * (s > 1 ? 1 : 2) + copies);
  }
  [[nodiscard]] double sequence_volume() const { return 2 * t * e * (s - 1) / s; }
};

class NotebookCells : public Notebook,
                      public testing::WithParamInterface<std::pair<std::int64_t, std::int64_t>> {
 protected:
  void SetUp() override {
    Notebook::SetUp();
    rates.volume = notebook_cells.volume;
  }
  // Matmuls depend on the tensor degree, other operations on the sequence degree.
  [[nodiscard]] LayerRow at(std::string_view name) const {
    const Plan plan = degrees_of(cells.m, cells.s);
    EXPECT_TRUE(check_plan(gpt3(), plan));
    return row(name, plan, counting);
  }
  // Bytes of a pass on the link.
  [[nodiscard]] double volume(const PassRow& pass) const {
    return pass.communication.count() * rates.link[0].value;
  }

  struct Degrees {
    std::int64_t m;
    std::int64_t s;
  };
  Degrees cells{GetParam().second, GetParam().first};
  Cells formula{static_cast<double>(GetParam().second), static_cast<double>(GetParam().first)};
  const Counting& counting = notebook_cells.counting;
};

TEST_P(NotebookCells, LinearLayersReduceWhatTheySum) {
  const auto& c = formula;
  struct Linear {
    std::string_view name;
    double in;
    double out;
    double bias;
    bool reduces_forward;
  };
  for (const Linear& l : {Linear{"fc1", c.e, c.f / c.m, 1, false},
                          {"fc2", c.f / c.m, c.e, 1, true},
                          {"qkv_proj", c.e, 3 * c.e / c.m, 0, false},
                          {"v_proj", c.e / c.m, c.e, 1, true}}) {
    const LayerRow r = at(l.name);
    const double bias = l.bias * c.t * l.out;
    const double forward = c.t * l.out * (2 * l.in - 1) + bias;
    const double backward = c.t * l.in * (2 * l.out - 1) + l.in * l.out * (2 * c.t - 1) + bias;
    EXPECT_DOUBLE_EQ(r.forward.flops.value, forward + (l.reduces_forward ? c.reduced() : 0));
    EXPECT_DOUBLE_EQ(r.backward.flops.value, backward + (l.reduces_forward ? 0 : c.reduced()));
    const PassRow& reduces = l.reduces_forward ? r.forward : r.backward;
    const PassRow& silent = l.reduces_forward ? r.backward : r.forward;
    EXPECT_NEAR(volume(reduces), c.tensor_volume(), 1e-6) << l.name;
    EXPECT_EQ(volume(silent), 0) << l.name;
    const double weights = 2 * (l.in * l.out + l.bias * l.out);
    EXPECT_DOUBLE_EQ(r.forward.bytes, 2 * c.t * (l.in + l.out) + weights);
    EXPECT_DOUBLE_EQ(r.backward.bytes, 2 * c.t * (2 * l.in + l.out) + 2 * weights);
    EXPECT_DOUBLE_EQ(r.kept_bytes, 2 * c.t * l.in);
  }
}

TEST_P(NotebookCells, AttentionHasItsShareOfHeads) {
  const auto& c = formula;
  const double scores = 96 / c.m * c.t * c.t;
  const double q = c.t * c.e / c.m;
  const LayerRow logits = at("logits");
  EXPECT_DOUBLE_EQ(logits.forward.flops.value, scores * (2 * 128 - 1));
  EXPECT_DOUBLE_EQ(logits.backward.flops.value, 2 * q * (2 * c.t - 1));
  EXPECT_DOUBLE_EQ(logits.backward.bytes, 2 * (4 * q + scores));
  const LayerRow softmax = at("softmax");
  EXPECT_DOUBLE_EQ(softmax.forward.flops.value, 2 * scores + 96 / c.m * c.t * (c.t - 1));
  EXPECT_DOUBLE_EQ(softmax.backward.flops.value, 3 * scores + 96 / c.m * c.t * (c.t - 1));
  EXPECT_DOUBLE_EQ(softmax.backward.bytes, 2 * 3 * scores);
  const LayerRow dropped = at("dropout_softmax");
  EXPECT_DOUBLE_EQ(dropped.forward.bytes, 5 * scores);
  EXPECT_DOUBLE_EQ(dropped.kept_bytes, scores);
  const LayerRow attend = at("attend");
  EXPECT_DOUBLE_EQ(attend.forward.flops.value, q * (2 * c.t - 1));
  EXPECT_DOUBLE_EQ(attend.backward.flops.value, scores * (2 * 128 - 1) + q * (2 * c.t - 1));
  EXPECT_DOUBLE_EQ(attend.backward.bytes, 2 * 2 * (scores + q));
}

TEST_P(NotebookCells, WhatIsBetweenIsSplitOverTheSequenceAndGathered) {
  const auto& c = formula;
  const double part = c.t / c.s * c.e;
  for (const std::string_view name : {"layer_norm_1", "layer_norm_2"}) {
    const LayerRow r = at(name);
    EXPECT_DOUBLE_EQ(r.forward.flops.value, 9 * part);
    EXPECT_DOUBLE_EQ(r.backward.flops.value, 9 * part + 4 * c.t / c.s * (c.e - 1));
    EXPECT_DOUBLE_EQ(r.forward.bytes, 4 * part + 4 * c.e);
    EXPECT_NEAR(volume(r.forward), c.sequence_volume(), 1e-6);
    EXPECT_EQ(volume(r.backward), 0);
  }
  for (const std::string_view name : {"dropout", "dpr2"}) {
    const LayerRow r = at(name);
    EXPECT_DOUBLE_EQ(r.forward.flops.value, part);
    EXPECT_DOUBLE_EQ(r.forward.bytes, 5 * part);
    EXPECT_DOUBLE_EQ(r.kept_bytes, part);
    EXPECT_NEAR(volume(r.backward), c.sequence_volume(), 1e-6);
    EXPECT_EQ(volume(r.forward), 0);
  }
  for (const std::string_view name : {"act", "dpr1"}) {
    const LayerRow r = at(name);
    EXPECT_DOUBLE_EQ(r.forward.flops.value, c.t * c.f / c.m);
    EXPECT_EQ(volume(r.forward) + volume(r.backward), 0);
  }
}

std::vector<std::pair<std::int64_t, std::int64_t>> degrees() {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const std::int64_t s : {1, 2, 4}) {
    for (const std::int64_t m : {1, 2, 4}) all.emplace_back(s, m);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(SequenceTimesTensor, NotebookCells, testing::ValuesIn(degrees()));

}  // namespace
}  // namespace stepscope
