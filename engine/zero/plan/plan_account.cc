// SPDX-License-Identifier: Apache-2.0
// The totals of a plan: calls of each collective, and its text.
#include <algorithm>
#include <cstdio>

#include "engine/zero/plan/step_plan.h"

namespace stepscope::zero {
namespace {

std::int64_t pieces(std::int64_t elements, std::int64_t of) { return (elements + of - 1) / of; }

void add(PlannedCalls& calls, std::int64_t count, std::int64_t elements, std::int64_t padding,
         std::int64_t size) {
  calls.calls += count;
  calls.payload += Bytes{elements * size};
  calls.padding += Bytes{padding * size};
}

void add_reductions(const Plan& plan, CollectiveKind kind, std::int64_t size, PlannedCalls& calls) {
  for (const Action& action : plan.step) {
    if (action.kind != ActionKind::reduce) continue;
    const ShardLayout& layout = plan.places[action.unit].layout;
    if (kind == CollectiveKind::all_reduce) {
      const std::int64_t piece = plan.bucket_elements * layout.world_size;
      add(calls, pieces(layout.elements, piece), layout.elements, 0, size);
    } else {
      add(calls, pieces(layout.stride, plan.bucket_elements), layout.padded_elements(),
          layout.padding(), size);
    }
  }
}

void add_gathers(const Plan& plan, std::int64_t size, PlannedCalls& calls) {
  if (plan.request.stage == 3) {
    for (const Action& action : plan.step) {
      if (action.kind != ActionKind::fetch) continue;
      const ShardLayout& layout = plan.places[action.unit].layout;
      add(calls, 1, layout.padded_elements(), layout.padding(), size);
    }
    return;
  }
  for (const UnitPlace& place : plan.places) {
    const ShardLayout& layout = place.layout;
    const std::int64_t count =
        layout.contiguous() ? 1 : pieces(layout.stride, plan.bucket_elements);
    add(calls, count, layout.padded_elements(), layout.padding(), size);
  }
}

std::string with_unit(Bytes bytes) {
  char text[64];
  const auto value = static_cast<double>(bytes.value);
  if (bytes.value >= 100'000'000) {
    std::snprintf(text, sizeof text, "%.3f GB", value / 1e9);
  } else if (bytes.value >= 100'000) {
    std::snprintf(text, sizeof text, "%.3f MB", value / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes.value));
  }
  return text;
}

void add_row(std::string& out, std::string_view name, const ClassMemory& memory) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-22.*s %14s", static_cast<int>(name.size()), name.data(),
                with_unit(memory.bytes).c_str());
  out += text;
  if (memory.padding.value != 0) out += "  + " + with_unit(memory.padding) + " padding";
  if (memory.unused.value != 0) out += "  + " + with_unit(memory.unused) + " free at the peak";
  out += '\n';
}

}  // namespace

PlannedCalls planned_calls(const Plan& plan, CollectiveKind kind) {
  const auto size = static_cast<std::int64_t>(element_bytes(plan.request.type));
  const bool sharded = plan.request.stage > 0;
  PlannedCalls calls;
  if (kind == CollectiveKind::all_gather && sharded) {
    add_gathers(plan, size, calls);
  } else if ((kind == CollectiveKind::reduce_scatter && sharded) ||
             (kind == CollectiveKind::all_reduce && !sharded)) {
    add_reductions(plan, kind, size, calls);
  }
  return calls;
}

std::string plan_text(const Plan& plan) {
  const PlanRequest& request = plan.request;
  std::string out = "Plan of rank " + std::to_string(request.rank) + " of " +
                    std::to_string(request.world_size) + ": ZeRO stage " +
                    std::to_string(request.stage) + ", " + std::string(element_name(request.type)) +
                    ", " + std::to_string(request.micro_batches) + " micro-batch" +
                    (request.micro_batches == 1 ? "" : "es") + " a step\n";
  for (std::size_t c = 0; c < arena_class_count; ++c) {
    const ClassMemory& memory = plan.memory[c];
    if (memory.arena().value == 0) continue;
    add_row(out, arena_class_names[c], memory);
  }
  add_row(out, "all", {.bytes = plan.total()});
  if (const Bytes files = file_bytes(plan); files.value > 0)
    add_row(out, "in files", {.bytes = files});
  out += "A step, in order (unit):\n ";
  std::size_t column = 1;
  for (const Action& action : plan.step) {
    if (action.micro_batch > 0) break;
    std::string word(action_names[static_cast<std::size_t>(action.kind)]);
    word.append(" ").append(plan.units[action.unit].name).append(";");
    if (column + word.size() + 1 > 100) {
      out += "\n ";
      column = 1;
    }
    column += word.size() + 1;
    out.append(" ").append(word);
  }
  if (request.micro_batches > 1) {
    out += "\n  and so for each micro-batch";
  }
  out += '\n';
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    const PlannedCalls calls = planned_calls(plan, kind);
    if (calls.calls == 0) continue;
    out += "  " + std::string(collective_kind_names[static_cast<std::size_t>(kind)]) + ": " +
           std::to_string(calls.calls) + " of " + with_unit(calls.payload) + " a step";
    if (calls.padding.value != 0) out += " (" + with_unit(calls.padding) + " padding)";
    out += '\n';
  }
  return out;
}

}  // namespace stepscope::zero
