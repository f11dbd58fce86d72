// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_parts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "stepscope/base/ascii.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

struct KnownPart {
  std::string_view name;
  StepPartKind kind;
};

// By kind; the name as plain_part() gives it.
std::optional<StepPartKind> known_part(std::string_view name) {
  using enum StepPartKind;
  static constexpr std::array parts = {KnownPart{"forward", computation},
                                       KnownPart{"fwd", computation},
                                       KnownPart{"forward_pass", computation},
                                       KnownPart{"backward", computation},
                                       KnownPart{"bwd", computation},
                                       KnownPart{"backward_pass", computation},
                                       KnownPart{"backward_with_allreduce", computation},
                                       KnownPart{"compute", computation},
                                       KnownPart{"comp", computation},
                                       KnownPart{"computation", computation},
                                       KnownPart{"optimizer", optimizer},
                                       KnownPart{"optimizer_step", optimizer},
                                       KnownPart{"optim", optimizer},
                                       KnownPart{"communication", communication},
                                       KnownPart{"comm", communication},
                                       KnownPart{"comms", communication},
                                       KnownPart{"nccl", communication},
                                       KnownPart{"collective", communication},
                                       KnownPart{"collectives", communication},
                                       KnownPart{"allreduce", communication},
                                       KnownPart{"all_reduce", communication},
                                       KnownPart{"allgather", communication},
                                       KnownPart{"all_gather", communication},
                                       KnownPart{"reducescatter", communication},
                                       KnownPart{"reduce_scatter", communication},
                                       KnownPart{"alltoall", communication},
                                       KnownPart{"all_to_all", communication},
                                       KnownPart{"broadcast", communication},
                                       KnownPart{"grad_sync", communication},
                                       KnownPart{"gradient_sync", communication},
                                       KnownPart{"data", data},
                                       KnownPart{"data_loading", data},
                                       KnownPart{"data_load", data},
                                       KnownPart{"data_loader", data},
                                       KnownPart{"dataloader", data},
                                       KnownPart{"dataloading", data},
                                       KnownPart{"data_fetch", data},
                                       KnownPart{"data_wait", data},
                                       KnownPart{"h2d", data},
                                       KnownPart{"checkpoint", other},
                                       KnownPart{"checkpointing", other},
                                       KnownPart{"eval", other},
                                       KnownPart{"evaluation", other},
                                       KnownPart{"idle", other},
                                       KnownPart{"other", other}};
  const auto found = std::ranges::find(parts, name, &KnownPart::name);
  return found == parts.end() ? std::nullopt : std::optional(found->kind);
}

std::string plain_part(std::string_view name) {
  std::string out(bare(name));
  for (char& c : out)
    c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view time = "_time";
  if (out.size() > time.size() && out.ends_with(time)) out.resize(out.size() - time.size());
  return out;
}

}  // namespace

std::optional<StepPartKind> step_part(std::string_view name) {
  return known_part(plain_part(name));
}

bool is_whole_step(std::string_view name) {
  constexpr std::array whole = {"step", "total", "iteration", "iter"};
  return std::ranges::find(whole, plain_part(name)) != whole.end();
}

std::optional<StepPartColumn> step_part_column(std::string_view header) {
  header = bare(header);
  const NameAndUnit split = name_and_unit(header);
  const auto kind = step_part(split.name);
  if (!kind) return std::nullopt;
  return StepPartColumn{.name = std::string(split.name), .kind = *kind, .unit = split.unit};
}

double longest_named_part(std::string_view line, TimeUnit assumed) {
  double longest = 0;
  for (std::size_t at = line.find_first_of("=:"); at != std::string_view::npos;
       at = line.find_first_of("=:", at + 1)) {
    std::size_t end = at;
    while (end > 0 && (is_blank(line[end - 1]) || line[end - 1] == '"')) --end;
    std::size_t begin = end;
    while (begin > 0 && is_word_letter(line[begin - 1])) --begin;
    const auto part = step_part_column(line.substr(begin, end - begin));
    // Communication may be a sum over streams, and data may be loaded during the step.
    if (!part || (part->kind != StepPartKind::computation && part->kind != StepPartKind::optimizer))
      continue;
    if (const auto time = time_behind(line.substr(at), part->unit, assumed))
      longest = std::max(longest, time->ns);
  }
  return longest;
}

}  // namespace stepscope
