// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/oom_findings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

std::string_view allocator_variable(const OomMessage& m) {
  if (m.backend == "HIP") return "PYTORCH_HIP_ALLOC_CONF";
  if (m.backend == "XPU") return "PYTORCH_ALLOC_CONF";
  if (m.backend == "NPU") return "PYTORCH_NPU_ALLOC_CONF";
  return "PYTORCH_CUDA_ALLOC_CONF";
}

// Fragments are a large part of what the allocator has reserved.
bool much_unallocated(const OomMessage& m) {
  constexpr std::int64_t part = 10;
  return m.unallocated && m.allocated && m.unallocated->value > m.allocated->value / part;
}

// How the framework shows what holds the memory; nothing where that is not known.
Message tell_holders(const OomMessage& m) {
  if (m.backend == "XLA") return msg::profile_device_memory();
  if (m.backend == "XPU" || m.backend == "HPU" || m.backend == "TensorFlow") return {};
  return msg::record_history(m.backend == "NPU" ? "torch_npu.npu" : "torch.cuda");
}

}  // namespace

Message oom_sentence(const OomMessage& m, const OomAccount& a) {
  const Message place = msg::oom_place(m.rank, m.device);
  const auto unsized =
      std::ranges::count_if(m.processes, [](const OomProcess& p) { return p.bytes.value == 0; });
  switch (a.cause) {
    case OomCause::too_large:
      return msg::oom_too_large(place, m.request, m.total);
    case OomCause::limited:
      return msg::oom_limited(place, m.request, m.allowed);
    case OomCause::fragmented:
      return msg::oom_fragmented(place, m.request, m.unallocated,
                                 value_if(m.free && m.free->value > 0, m.free));
    case OomCause::other_process:
      return msg::oom_other_process(place, m.request, a.others, a.other_pid);
    case OomCause::missing:
      return msg::oom_missing(place, m.request, a.missing, a.used, m.total, a.at_least);
    case OomCause::free_enough:
      return msg::oom_free_enough(place, m.request, m.free);
    case OomCause::program:
      return msg::oom_program(place, m.needed, m.total, a.missing, m.arguments);
    case OomCause::block:
      return msg::oom_block(place, m.request, m.at_once);
    case OomCause::outside:
      return msg::oom_outside(place, m.request, a.reserved, m.total, a.outside,
                              value_if(unsized > 0, unsized));
    case OomCause::unknown:
      break;
  }
  return msg::oom_without_sizes(place, m.request, m.request.has_value());
}

Messages oom_advice(const OomMessage& m, const OomAccount& a) {
  Messages out;
  const Message expandable = msg::use_expandable_first(allocator_variable(m));
  const Message history = tell_holders(m);
  const bool xla = m.backend == "XLA";
  switch (a.cause) {
    case OomCause::too_large:
      out = {msg::ask_in_parts()};
      break;
    case OomCause::limited:
      out = {msg::raise_own_limit(), msg::hold_less_or_shard()};
      break;
    case OomCause::fragmented:
      if (!xla) out = {expandable};
      if (!much_unallocated(m)) out.push_back(msg::hold_less_or_shard());
      if (a.outside.value > 0) out.push_back(msg::held_outside_too(a.outside));
      break;
    case OomCause::other_process:
      out = {msg::end_other_processes()};
      break;
    case OomCause::outside:
      out = {msg::look_at_processes()};
      break;
    case OomCause::missing:
      if (much_unallocated(m)) out.push_back(expandable);
      out.push_back(msg::hold_less_or_shard());
      if (m.private_pools && m.private_pools->value > 0)
        out.push_back(msg::private_pools_hold(m.private_pools));
      out.push_back(history);
      break;
    case OomCause::free_enough:
      out.push_back(history);
      break;
    case OomCause::program:
      if (m.arguments && m.total && *m.arguments > *m.total)
        out = {msg::shard_arguments()};
      else
        out = {msg::hold_less_or_shard()};
      break;
    case OomCause::block:
      out = {msg::ask_in_parts()};
      break;
    case OomCause::unknown:
      out = {history};
      break;
  }
  if (m.retried) out.push_back(msg::allocator_tries_again());
  std::erase_if(out, [](const Message& message) { return message.empty(); });
  return out;
}

std::string predict_command(const std::map<std::string, std::string, std::less<>>& settings,
                            int world) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> numbers = {
      {{"tensor_model_parallel_size", "--tp"},
       {"pipeline_model_parallel_size", "--pp"},
       {"zero_optimization_stage", "--zero"},
       {"train_micro_batch_size_per_gpu", "--micro-batch"},
       {"micro_batch_size", "--micro-batch"},
       {"global_batch_size", "--global-batch"},
       {"train_batch_size", "--global-batch"},
       {"seq_length", "--seq"}}};
  const auto of = [&](std::string_view name) -> std::string_view {
    const auto at = settings.find(name);
    return at == settings.end() ? std::string_view() : std::string_view(at->second);
  };
  std::string flags;
  int told = 0;
  for (const auto& [name, flag] : numbers) {
    const auto number = number_of<std::int64_t>(of(name));
    if (!number || *number < 0 || flags.find(std::string(flag) + ' ') != std::string::npos)
      continue;
    flags += ' ' + std::string(flag) + ' ' + std::to_string(*number);
    ++told;
  }
  if (told < 2) return {};
  if (const std::string_view recompute = of("recompute_granularity");
      recompute == "full" || recompute == "selective")
    flags += " --recompute " + std::string(recompute);
  std::string_view model = of("model_name_or_path");
  if (model.empty()) model = of("_name_or_path");
  for (const char c : model)
    if (c <= ' ' || c == '\'' || c == '"' || c == '`' || c == '$' || c == ';' || c == '&' ||
        c == '|' || c == '<' || c == '>' || c == '(' || c == ')' || c == '\\' || c == '*')
      model = {};
  std::string out = "stepscope predict " +
                    (model.empty() ? std::string("MODEL") : std::string(model)) +
                    " --machine MACHINE";
  if (world > 0) out += " --gpus " + std::to_string(world);
  return out + flags;
}

}  // namespace stepscope
