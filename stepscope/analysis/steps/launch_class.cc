// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/launch_class.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/nesting.h"

namespace stepscope {
namespace {

using enum NameClass;

// Whether an operator may change the class that the name gave.
bool is_open(NameClass by_name) {
  return by_name == other || by_name == reduction || by_name == softmax || by_name == elementwise ||
         by_name == copy;
}

NameClass class_of_launch(NameClass by_name, NameClass by_operator) {
  const bool product = by_operator == matmul || by_operator == attention;
  const bool special = by_operator == quantize || by_operator == routing;
  if (by_name == other) return by_operator;
  if (by_name == reduction || by_name == softmax)
    return product || (special && by_name == reduction) ? by_operator : by_name;
  return special ? by_operator : by_name;
}

// Whether the helpers that an operator of this class calls are part of its work.
bool passes_down(NameClass c) {
  return c == attention || c == norm || c == softmax || c == quantize || c == routing ||
         c == optimizer || c == embedding || c == loss;
}

bool is_evidence(Category category, NameClass c) {
  if (c == other || c == communication || c == wait) return false;
  return category == Category::cpu_op || (category == Category::user_annotation && c == optimizer);
}

}  // namespace

void classify_by_launch(Trace& trace, const RankIndex& rank) {
  Slices& s = trace.slices;
  // What surrounds the launch of a graph says nothing about its kernels.
  const auto open = [&](SliceId op) {
    if (s.category[index(op)] != Category::kernel || !is_open(s.kind[index(op)])) return false;
    const SliceId call = rank.launch(op);
    return call != no_slice && trace.name(call).find("GraphLaunch") == std::string_view::npos;
  };
  if (std::ranges::none_of(rank.devices, [&](const DeviceLane& lane) {
        return std::ranges::any_of(lane.ops, open);
      }))
    return;
  std::vector<NameClass> around(s.size(), other);  // by host row: what its operators say
  const auto frame = [&](SliceId row) {
    const Category c = s.category[index(row)];
    return c == Category::cpu_op || c == Category::user_annotation;
  };
  for (const TrackId track : rank.host_tracks) {
    visit_nested(s, trace.track(track), frame, [&](SliceId row, SliceId parent) {
      const std::uint32_t i = index(row);
      const NameClass outer = parent == no_slice ? other : around[index(parent)];
      if (frame(row) && is_evidence(s.category[i], s.kind[i]))
        around[i] = s.kind[i];
      else if (!frame(row) || passes_down(outer))
        around[i] = outer;
    });
  }
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      if (!open(op)) continue;
      NameClass& kind = s.kind[index(op)];
      const NameClass by_operator = around[index(rank.launch(op))];
      if (by_operator != other) kind = class_of_launch(kind, by_operator);
    }
  }
}

}  // namespace stepscope
