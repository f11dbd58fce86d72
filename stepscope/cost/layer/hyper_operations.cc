// SPDX-License-Identifier: Apache-2.0
// Hyper-connections: n parallel residual streams of h features (arXiv 2512.24880). Before a part of
// a layer the streams' weights are projected from all streams of a token, and one sum of them is
// the part's input; after it the streams are mixed and its output is added to each. Megatron-Core's
// kernels for them move what is counted here (hyper_connection.py).
#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

// Elements of all streams on this device.
double all_streams(const DeviceShare& s) { return number(streams(s.model)) * s.stream(); }

// y = x W over all streams of a token, whose length scales y; and what follows for its numbers,
// which are fp32. They have one bias each, and `scales` in all.
Operation project(const DeviceShare& s, std::string_view name, std::int64_t columns,
                  double flops_of_a_token, double scales) {
  const std::int64_t width = streams(s.model) * s.model.hidden;
  Operation op = linear(s, {.name = name,
                            .shape = {s.tokens, width, columns},
                            .replicated = true,
                            .always_16_bit = true});
  const double rows = number(s.stream_rows);
  const double numbers = 4 * rows * number(columns);
  op.forward.vector += {rows * flops_of_a_token + 2 * all_streams(s)};
  op.backward.vector += {3 * rows * flops_of_a_token + 4 * all_streams(s)};
  op.forward.output_bytes += numbers;
  op.backward.input_bytes += numbers;
  op.kept_bytes += numbers;
  op.parameters += number(columns) + scales;
  op.vectors = 2;
  op.vector_elements = number(columns) + scales;
  return op;
}

// One weighted sum of the streams. Backward adds the gradients of the streams' three uses.
Operation collapse(const DeviceShare& s, std::string_view name) {
  const double share = 1 / number(streams(s.model));
  Operation op = pointwise(s, {.name = name,
                               .count = {.forward = 2, .backward = 6},
                               .elements = all_streams(s),
                               .writes = share,
                               .gradient_reads = share + 3,
                               .gradient_writes = 2});
  op.backward.other_bytes += all_streams(s) * s.element;  // which the projection keeps
  return op;
}

}  // namespace

void open_part(const DeviceShare& s, std::vector<Operation>& to) {
  if (!s.model.hyper) return;
  const HyperConnections& h = *s.model.hyper;
  const double n = number(h.streams);
  // An iteration divides rows by their sums and columns by theirs.
  const double balance = 4 * n * n * number(h.iterations);
  to.push_back(project(s, "hyper_maps", hyper_maps(h), 4 * number(hyper_maps(h)) + balance, 3));
  to.push_back(collapse(s, "hyper_collapse"));
}

Operation merge_streams(const DeviceShare& s) {
  const double n = number(streams(s.model));
  Operation op = pointwise(s, {.name = "hyper_merge",
                               .count = {.forward = 2 * n + 2, .backward = 4 * n + 4},
                               .elements = all_streams(s),
                               .second_reads = 1 / n,
                               .gradient_writes = 1 + 1 / n,
                               .kept = s.stream()});
  op.backward.other_bytes += all_streams(s) * s.element;  // which the projection keeps
  return op;
}

void expand_streams(const DeviceShare& s, std::vector<Operation>& to) {
  if (!s.model.hyper) return;
  const double share = 1 / number(streams(s.model));
  to.push_back(pointwise(s, {.name = "hyper_expand",
                             .count = {.forward = 0, .backward = 1},
                             .elements = all_streams(s),
                             .reads = share,
                             .gradient_writes = share}));
}

void end_streams(const DeviceShare& s, std::vector<Operation>& to) {
  if (!s.model.hyper) return;
  const std::int64_t n = s.model.hyper->streams;
  to.push_back(project(s, "hyper_head", n, 4 * number(n), 1));
  to.push_back(collapse(s, "hyper_head_collapse"));
}

}  // namespace stepscope
