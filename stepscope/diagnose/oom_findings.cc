// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/oom_findings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// The variable with the settings of PyTorch's allocator, and the module that records its history.
struct TorchDevice {
  std::string_view backend;
  std::string_view variable;
  std::string_view module;
};
constexpr std::array<TorchDevice, 4> torch_devices = {
    {{"HIP", "PYTORCH_HIP_ALLOC_CONF", "torch.cuda"},
     {"XPU", "PYTORCH_ALLOC_CONF", {}},
     {"NPU", "PYTORCH_NPU_ALLOC_CONF", "torch_npu.npu"},
     {{}, "PYTORCH_CUDA_ALLOC_CONF", "torch.cuda"}}};

// What a framework offers against pieces, what it says of its holders and of its share of a device,
// how less is held, and how its own limit is raised. Nothing where it has no such thing.
struct FrameworkAdvice {
  Message pieces{};
  Message holders{};
  Message share{};
  Message hold_less = msg::hold_less_or_shard("");
  Message limit = msg::raise_own_limit();
};

FrameworkAdvice advice_of(const OomMessage& m) {
  if (m.space == OomSpace::host)
    return {.hold_less = msg::hold_less_on_host(), .limit = msg::raise_limit_of_host()};
  switch (m.framework) {
    case OomFramework::tensorflow:
      return {.pieces = msg::let_driver_place(),
              .holders = msg::profile_with_tensorflow(),
              .share = msg::let_tensorflow_grow(),
              .limit = {}};
    case OomFramework::xla:
      return {.holders = msg::profile_device_memory(),
              .share = msg::set_share_of_jax(),
              .limit = msg::set_share_of_jax()};
    case OomFramework::paddle:
      return {.pieces = msg::take_larger_parts(), .holders = msg::ask_peak_of_paddle()};
    case OomFramework::pytorch: {
      if (m.backend == "MPS")
        return {.hold_less = msg::hold_less_here(), .limit = msg::raise_limit_of_metal()};
      const auto* const of = std::ranges::find_if(torch_devices, [&](const TorchDevice& d) {
        return d.backend.empty() || d.backend == m.backend;
      });
      return {.pieces = msg::use_expandable_first(
                  m.variable.empty() ? of->variable : std::string_view(m.variable)),
              .holders = of->module.empty() ? Message() : msg::record_history(of->module),
              .hold_less = msg::hold_less_or_shard("ZeRO, FSDP")};
    }
    case OomFramework::vllm:
    case OomFramework::unknown:
      break;
  }
  return {};
}

// Fragments are a large part of what the allocator has reserved.
bool much_unallocated(const OomMessage& m) {
  constexpr std::int64_t part = 10;
  return m.unallocated && m.allocated && m.unallocated->value > m.allocated->value / part;
}

// The share of the device that is free, rounded down to hundredths.
double usable_share(const OomMessage& m) {
  return m.total->value > 0 ? static_cast<double>(m.free->value * 100 / m.total->value) / 100 : 0;
}

}  // namespace

Message oom_place(const OomMessage& m) {
  if (m.space == OomSpace::host)
    return msg::oom_place_of_host(m.rank, m.allocator.ends_with("host_bfc"));
  if (m.space == OomSpace::chip) return msg::oom_place_on_chip(m.rank, m.allocator);
  if (m.space == OomSpace::unknown) return msg::oom_place_of_allocator(m.rank);
  return msg::oom_place(m.rank, m.device);
}

Message oom_sentence(const OomMessage& m, const OomAccount& a) {
  const Message place = oom_place(m);
  const auto unsized =
      std::ranges::count_if(m.processes, [](const OomProcess& p) { return p.bytes.value == 0; });
  switch (a.cause) {
    case OomCause::too_large:
      return msg::oom_too_large(place, m.request, m.total);
    case OomCause::limited:
      if (m.elsewhere)
        return msg::oom_limit_of_metal(place, m.request, m.allocated, m.elsewhere, m.allowed,
                                       a.missing);
      if (!m.allocator.empty())
        return msg::oom_pool_full(place, m.request, m.allocated, m.allowed, m.allocator, a.missing);
      return msg::oom_limited(place, m.request, m.allowed);
    case OomCause::fragmented:
      if (!m.allocator.empty() && m.allowed)
        return msg::oom_pool_pieces(place, m.request, m.allocator, m.allocated, m.allowed);
      return msg::oom_fragmented(place, m.request, m.unallocated,
                                 value_if(m.free && m.free->value > 0, m.free));
    case OomCause::other_process:
      return msg::oom_other_process(place, m.request, a.others, a.other_pid);
    case OomCause::missing:
      if (a.missing.value == 0) return msg::oom_full(place, m.request, a.used, m.total);
      return msg::oom_missing(place, m.request, a.missing, a.used, m.total, a.at_least);
    case OomCause::free_enough:
      return msg::oom_free_enough(place, m.request, m.free, a.alone);
    case OomCause::program:
      if (m.space == OomSpace::chip)
        return msg::oom_on_chip(m.allocator, m.needed, m.total, a.missing);
      return msg::oom_program(place, m.needed, m.total, a.missing, m.arguments);
    case OomCause::block:
      return msg::oom_block(place, m.request, m.at_once);
    case OomCause::outside:
      return msg::oom_outside(place, m.request, a.reserved, m.total, a.outside,
                              value_if(unsized > 0, unsized));
    case OomCause::at_start:
      return msg::oom_at_start(place, m.free, m.total, m.request, a.outside);
    case OomCause::context:
      return msg::oom_no_context(place, m.total);
    case OomCause::beyond:
      return msg::oom_beyond(place, m.request, Bytes{m.total->value + a.beyond.value}, a.beyond,
                             m.total);
    case OomCause::unknown:
      break;
  }
  return msg::oom_without_sizes(place, m.request, m.request.has_value());
}

Messages oom_advice(const OomMessage& m, const OomAccount& a) {
  Messages out;
  const FrameworkAdvice own = advice_of(m);
  switch (a.cause) {
    case OomCause::too_large:
      out = {msg::ask_in_parts()};
      break;
    case OomCause::limited:
      out = {own.limit, own.hold_less};
      if (!m.allocator.empty()) out.push_back(own.holders);
      break;
    case OomCause::fragmented:
      out = {own.pieces};
      if (!much_unallocated(m)) out.push_back(own.hold_less);
      if (a.outside.value > 0) out.push_back(msg::held_outside_too(a.outside));
      break;
    case OomCause::other_process:
      out = {msg::end_other_processes()};
      if (a.missing.value == 0) out.push_back(own.pieces);
      break;
    case OomCause::outside:
      out = {msg::look_at_processes()};
      if (a.missing.value == 0) out.push_back(own.pieces);
      break;
    case OomCause::missing:
      if (much_unallocated(m)) out.push_back(own.pieces);
      out.push_back(own.hold_less);
      if (a.reserved && a.used && a.reserved->value > a.used->value + a.used->value / 200)
        out.push_back(msg::counts_more_than_device(a.reserved, a.used));
      // Paddle does not say what of its memory is unused.
      if (m.framework == OomFramework::paddle) out.push_back(own.pieces);
      if (m.private_pools && m.private_pools->value > 0)
        out.push_back(msg::private_pools_hold(m.private_pools));
      out.push_back(own.holders);
      break;
    case OomCause::free_enough:
      out.push_back(a.alone ? msg::look_at_driver() : own.holders);
      break;
    case OomCause::program:
      if (m.space == OomSpace::chip)
        out = {msg::make_blocks_smaller(m.allocator == "vmem")};
      else if (m.arguments && m.total && *m.arguments > *m.total)
        out = {msg::shard_arguments()};
      else
        out = {own.hold_less};
      break;
    case OomCause::block:
      out = {msg::ask_in_parts()};
      break;
    case OomCause::at_start:
      out = {msg::lower_share_of_vllm(Digits{usable_share(m)})};
      break;
    case OomCause::context:
      out = {msg::look_at_processes(), own.share};
      break;
    case OomCause::beyond:
      out = {own.hold_less, own.holders};
      break;
    case OomCause::unknown:
      out = {own.holders, own.share};
      break;
  }
  // The contexts alone may be what is missing.
  if (a.contexts > 0) {
    const bool enough = m.request && m.free && a.others.value >= m.request->value - m.free->value;
    out.insert(enough ? out.begin() : out.end(), msg::contexts_of_ranks(a.contexts, a.others));
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
