// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/project/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/fit/expected_step.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr double most_unjoined = 0.5;  // of the calls in groups that stages or tensors need

// A field by its name among settings; the last one counts.
const std::string* find(std::span<const PlanSetting> settings, std::string_view name) {
  const PlanField* field = find_plan_field(name);
  const std::string* found = nullptr;
  for (const PlanSetting& s : settings)
    if (find_plan_field(s.name) == field) found = &s.value;
  return found;
}

std::optional<std::int64_t> number(std::span<const PlanSetting> settings, std::string_view name) {
  const std::string* text = find(settings, name);
  if (text == nullptr) return std::nullopt;
  const auto n = number_of<std::int64_t>(*text);
  return n && *n >= 1 ? n : std::nullopt;
}

// Every setting is a known field with a value that it takes.
Result<Done> check_settings(std::span<const PlanSetting> settings) {
  Plan plan;
  for (const PlanSetting& s : settings)
    if (auto set = set_plan_field(plan, s.name, s.value); !set) return set;
  return Done{};
}

// What is known before the traces are read.
struct NamedJob {
  std::optional<Transformer> model{};
  std::optional<Machine> machine{};
  std::optional<Machine> recorded_machine{};
  std::optional<Network> network{};
  std::optional<Network> recorded_network{};
};

Result<Done> read_machine(const std::string& given, std::optional<int> domain,
                          std::optional<Machine>& machine, std::optional<Network>& network) {
  if (given.empty()) return Done{};
  auto named = machine_named(given);
  if (!named) return named.error();
  machine = std::move(*named);
  auto made = make_network(*machine, {.domain = domain});
  if (!made) return made.error();
  network = std::move(*made);
  return Done{};
}

Result<NamedJob> read_asked(const ProjectRequest& r) {
  NamedJob asked;
  if (const auto ok = check_settings(r.recorded); !ok) return ok.error();
  if (const auto ok = check_settings(r.plan.fields); !ok) return ok.error();
  if (!r.model.empty()) {
    auto model = find_model(r.model);
    if (!model) return model.error();
    asked.model = std::move(*model);
    if (r.machine.empty())
      return Error{.what = "--model without --machine",
                   .hint = "the model's expected times are those of a machine: give --machine",
                   .code = ErrorCode::refused};
  }
  if (r.machine.empty() && !r.recorded_machine.empty())
    return Error{.what = "--recorded-machine without --machine",
                 .hint = "give --machine, whose links the new job has",
                 .code = ErrorCode::refused};
  const auto domain = domain_of(r.plan);
  if (const auto ok = read_machine(r.machine, domain, asked.machine, asked.network); !ok)
    return ok.error();
  const std::string& recorded = r.recorded_machine.empty() ? r.machine : r.recorded_machine;
  if (const auto ok =
          read_machine(recorded, domain, asked.recorded_machine, asked.recorded_network);
      !ok)
    return ok.error();
  return asked;
}

// The recorded degrees: what the user says of them goes over what the traces show.
Result<JobShape> shape_of_recording(const ProjectRequest& r, const WhatIfInputs& in,
                                    const std::optional<TokenLookups>& lookups,
                                    std::optional<int> world) {
  JobShape shape = recorded_shape(in.collectives, in.pipeline, lookups, world);
  const std::int64_t devices = world.value_or(static_cast<int>(in.views.size()));
  for (const auto& [name, field] : {std::pair{"tp", &JobShape::tp},
                                    {"cp", &JobShape::cp},
                                    {"ep", &JobShape::ep},
                                    {"pp", &JobShape::pp}})
    if (const auto n = number(r.recorded, name)) shape.*field = *n;
  const std::int64_t inner = shape.tp * shape.cp * shape.pp;
  shape.dp = number(r.recorded, "dp").value_or(std::max<std::int64_t>(1, devices / inner));
  if (shape.devices() != devices)
    return Error{.what = fmt::format("the recorded job has {} ranks, which are not tp {} × cp {} × "
                                     "pp {} × dp {}",
                                     devices, shape.tp, shape.cp, shape.pp, shape.dp),
                 .hint = "say what it ran with: --recorded tp=N,pp=N,cp=N",
                 .code = ErrorCode::refused};
  if (const auto micro = number(r.recorded, "micro-batch")) shape.micro_batch = *micro;
  if (const auto batch = number(r.recorded, "global-batch")) {
    const std::int64_t at_once = shape.micro_batch.value_or(1) * shape.dp;
    if (*batch % at_once != 0)
      return Error{.what = fmt::format("the recorded global batch of {} is no multiple of "
                                       "micro-batch {} × dp {}",
                                       *batch, shape.micro_batch.value_or(1), shape.dp),
                   .hint = "say what the job ran with: --recorded global-batch=N,micro-batch=N",
                   .code = ErrorCode::refused};
    shape.micro_batches = *batch / at_once;
  }
  return shape;
}

// The degrees asked for; dp is what they leave of the devices.
Result<JobShape> shape_asked(const ProjectRequest& r, const JobShape& recorded) {
  JobShape shape = recorded;
  const auto& fields = r.plan.fields;
  for (const auto& [name, field] : {std::pair{"tp", &JobShape::tp},
                                    {"cp", &JobShape::cp},
                                    {"ep", &JobShape::ep},
                                    {"pp", &JobShape::pp}})
    if (const auto n = number(fields, name)) shape.*field = *n;
  const std::int64_t inner = shape.tp * shape.cp * shape.pp;
  std::int64_t devices = r.plan.gpus;
  if (r.plan.nodes > 0) {
    if (r.plan.gpus_per_node == 0)
      return Error{.what = "--nodes without --gpus-per-node",
                   .hint = "give --gpus, or both",
                   .code = ErrorCode::refused};
    devices = r.plan.nodes * r.plan.gpus_per_node;
  }
  const auto dp = number(fields, "dp");
  if (devices == 0) devices = dp ? inner * *dp : recorded.devices();
  shape.dp = dp.value_or(devices / inner);
  if (shape.dp < 1 || shape.devices() != devices)
    return Error{.what = fmt::format("{} GPUs are not tp {} × cp {} × pp {} × a whole dp", devices,
                                     shape.tp, shape.cp, shape.pp),
                 .hint = fmt::format("give --gpus as a multiple of {}", inner),
                 .code = ErrorCode::refused};
  // Without a batch each data-parallel rank has as much to do as in the recording.
  const auto batch = number(fields, "global-batch");
  if (const auto micro_asked = number(fields, "micro-batch")) shape.micro_batch = *micro_asked;
  const std::int64_t micro = shape.micro_batch.value_or(1);
  if (batch) {
    if (*batch % (micro * shape.dp) != 0)
      return Error{.what = fmt::format("--global-batch {} is no multiple of micro-batch {} × dp {}",
                                       *batch, micro, shape.dp),
                   .hint = fmt::format("give a multiple of {}", micro * shape.dp),
                   .code = ErrorCode::refused};
    shape.micro_batches = *batch / (micro * shape.dp);
    if (!recorded.micro_batches)
      return Error{.what = "how many micro-batches the recorded steps have is not in the traces",
                   .hint = "say it: --recorded global-batch=N,micro-batch=N",
                   .code = ErrorCode::refused};
  }
  return shape;
}

// Fields that the traces alone cannot answer. The others are degrees and counts.
std::optional<std::string> needs_model(const ProjectRequest& r, const JobShape& recorded,
                                       const JobShape& asked) {
  constexpr std::array<std::string_view, 6> counted = {"tp", "cp", "ep",
                                                       "pp", "dp", "global-batch"};
  const auto degree = [](std::int64_t a, std::int64_t b, const char* name) {
    return a == b ? std::optional<std::string>() : std::string(name);
  };
  for (const auto& change :
       {degree(recorded.tp, asked.tp, "--tp"), degree(recorded.cp, asked.cp, "--cp"),
        degree(recorded.ep, asked.ep, "--ep"), degree(recorded.pp, asked.pp, "--pp")})
    if (change) return change;
  if (recorded.dp == 1 && asked.dp > 1) return "data parallelism, which the traces do not have,";
  if (!r.recorded_machine.empty() && r.recorded_machine != r.machine) return "another machine";
  for (const PlanSetting& s : r.plan.fields) {
    if (std::ranges::find(counted, s.name) != counted.end()) continue;
    const std::string* was = find(r.recorded, s.name);
    if (was == nullptr || *was != s.value) return "--" + s.name;
  }
  return std::nullopt;
}

// The three plans of a model.
struct Plans {
  Plan recorded;
  Plan replayed;
  Plan asked;
};

void set_degrees(Plan& plan, const JobShape& shape) {
  plan.tp = shape.tp;
  plan.cp = shape.cp;
  plan.ep = shape.ep;
  plan.pp = shape.pp;
  plan.dp = shape.dp;
  plan.devices = shape.devices();
}

// The recorded program with the sizes asked for: what the recording lacks stays away, and what the
// plan leaves out stays.
Plan replayed_plan(const Plan& recorded, const Plan& asked) {
  Plan plan = recorded;
  const auto sized = [&](std::int64_t Plan::* m) {
    if (recorded.*m > 1 && asked.*m > 1) plan.*m = asked.*m;
  };
  sized(&Plan::tp);
  sized(&Plan::cp);
  sized(&Plan::ep);
  if (recorded.dp > 1) plan.dp = asked.dp;
  plan.batch.sequence = asked.batch.sequence;
  plan.batch.micro = asked.batch.micro;
  plan.precision = asked.precision;
  plan.devices = plan.tp * plan.cp * plan.pp * plan.dp;
  plan.batch.global = micro_batches(recorded) * plan.batch.micro * plan.dp;
  return plan;
}

Result<Plans> plans_of(const ProjectRequest& r, const NamedJob& a, const JobShape& recorded,
                       const JobShape& asked, const std::optional<TokenLookups>& lookups) {
  PlanSettings first{.gpus = recorded.devices(), .fields = r.recorded};
  if (find(first.fields, "global-batch") == nullptr) {
    if (!recorded.micro_batches)
      return Error{.what = "the batch of the recorded steps is not in the traces",
                   .hint = "say it: --recorded global-batch=N,micro-batch=N",
                   .code = ErrorCode::refused};
    first.fields.push_back(
        {"global-batch",
         std::to_string(*recorded.micro_batches * recorded.micro_batch.value_or(1) * recorded.dp)});
  }
  if (recorded.micro_batch && find(first.fields, "micro-batch") == nullptr)
    first.fields.push_back({"micro-batch", std::to_string(*recorded.micro_batch)});
  if (lookups && find(first.fields, "seq") == nullptr)
    first.fields.push_back({"seq", std::to_string(lookups->tokens * recorded.cp)});
  for (const auto& [name, n] : {std::pair{"tp", recorded.tp},
                                {"cp", recorded.cp},
                                {"ep", recorded.ep},
                                {"pp", recorded.pp},
                                {"dp", recorded.dp}})
    if (find(first.fields, name) == nullptr) first.fields.push_back({name, std::to_string(n)});
  auto made = make_plan(first, *a.model, *a.recorded_machine);
  if (!made) return made.error();
  if (const auto ok = check_plan(*a.model, made->plan); !ok) {
    Error error = ok.error();
    error.what = "the recorded plan: " + error.what;
    error.hint += " (say with --recorded what the job ran with)";
    return error;
  }
  Plans plans;
  plans.recorded = made->plan;
  plans.asked = plans.recorded;
  for (const PlanSetting& s : r.plan.fields)
    if (const auto set = set_plan_field(plans.asked, s.name, s.value); !set) return set.error();
  set_degrees(plans.asked, asked);
  if (find(r.plan.fields, "global-batch") == nullptr)
    plans.asked.batch.global =
        micro_batches(plans.recorded) * plans.asked.batch.micro * plans.asked.dp;
  if (const auto ok = check_plan(*a.model, plans.asked); !ok) return ok.error();
  plans.replayed = replayed_plan(plans.recorded, plans.asked);
  if (!check_plan(*a.model, plans.replayed)) plans.replayed = plans.recorded;
  return plans;
}

// Seconds by class; the error says which plan it is of.
Result<StepSeconds> expected_of(const NamedJob& a, const Machine& machine, const Network& network,
                                const Plan& plan) {
  auto expected = expected_step(*a.model, machine, network, plan);
  if (!expected) return expected.error();
  return expected->seconds;
}

Result<ExpectedPlans> expected_plans(const NamedJob& a, const Plans& plans) {
  Plan passed = plans.replayed;
  passed.batch.global = micro_batches(plans.asked) * passed.batch.micro * passed.dp;
  if (!check_plan(*a.model, passed)) passed = plans.replayed;
  ExpectedPlans out;
  const auto recorded = expected_of(a, *a.recorded_machine, *a.recorded_network, plans.recorded);
  if (!recorded) return recorded.error();
  out.recorded = *recorded;
  for (const auto& [plan, seconds] : {std::pair{&plans.replayed, &out.replayed},
                                      {&passed, &out.passed},
                                      {&plans.asked, &out.asked}}) {
    const auto expected = expected_of(a, *a.machine, *a.network, *plan);
    if (!expected) return expected.error();
    *seconds = *expected;
  }
  return out;
}

// Traces that cannot carry the question.
std::optional<Error> cannot_project(const WhatIfInputs& in, const JobShape& recorded,
                                    const JobShape& asked) {
  const auto& compute = in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)];
  if (compute.empty())
    return Error{.what =
                     "the traces have no kernels and no operators, so nothing tells what the "
                     "work takes",
                 .hint = "record with ProfilerActivity.CUDA and ProfilerActivity.CPU"};
  const bool stages = recorded.pp > 1 || asked.pp > 1;
  if (recorded.pp > 1 && in.views.size() == 1)
    return Error{.what = fmt::format("one rank of a pipeline of {} stages is in the traces, and a "
                                     "stage waits for the others",
                                     recorded.pp),
                 .hint = "record one rank of each stage"};
  const std::uint64_t calls = in.replay.graph->joined + in.replay.graph->unjoined;
  if (stages && calls > 0 &&
      static_cast<double>(in.replay.graph->unjoined) > most_unjoined * static_cast<double>(calls))
    return Error{.what = fmt::format("{} of {} messages have no other rank in the traces, so their "
                                     "waiting is unknown",
                                     in.replay.graph->unjoined, calls),
                 .hint = "record one rank of each stage, with record_shapes=True"};
  return std::nullopt;
}

// The machine of the catalogue that is named like a GPU in the traces.
const Machine* usual_machine(std::span<const RankInput> ranks) {
  for (const RankInput& rank : ranks)
    for (const DeviceProperties& d : rank.trace->metadata.devices)
      if (const Machine* found = find_machine(
              d.name, d.total_memory.value > 0 ? std::optional(d.total_memory) : std::nullopt))
        return found;
  return nullptr;
}

// Whether two machines have different devices: a format whose peaks both name differs.
bool other_devices(const Machine& a, const Machine& b) {
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (a.peak_rates[i] && b.peak_rates[i] && a.peak_rates[i]->value != b.peak_rates[i]->value)
      return true;
  return false;
}

// Asks the replay of the job.
struct Visit {
  const ProjectRequest& request;
  const NamedJob& asked;
  std::optional<int> world;
  const Machine* usual = nullptr;  // of the GPUs in the traces; null: not known
  std::optional<TokenLookups> lookups{};
  std::optional<JobShape> recorded{};
  std::optional<ExpectedPlans> expected{};
  ProjectionQuestion question{};
  std::optional<Result<ReplayedChange>> answer{};

  Result<ReplayedChange> ask(const WhatIfInputs& in) {
    if (request.recorded_machine.empty() && asked.machine && usual != nullptr &&
        other_devices(*asked.machine, *usual))
      return Error{.what = "the traces are of " + usual->name + ", not of " + asked.machine->name,
                   .hint = "give the machine of the traces as --recorded-machine, and --model",
                   .code = ErrorCode::refused};
    lookups = token_lookups(in.views);
    auto shape = shape_of_recording(request, in, lookups, world);
    if (!shape) return shape.error();
    recorded = *shape;
    const auto wanted = shape_asked(request, *recorded);
    if (!wanted) return wanted.error();
    question.shape = *wanted;
    if (auto why_not = cannot_project(in, *recorded, *wanted)) return *std::move(why_not);
    if (asked.network) question.asked = &*asked.network;
    if (asked.recorded_network) {
      question.recorded = &*asked.recorded_network;
    } else if (usual != nullptr) {
      question.usual_latency = message_latency_model(*usual, world);
      question.usual_machine = usual->name;
    }
    if (const auto what = needs_model(request, *recorded, *wanted)) {
      if (!asked.model)
        return Error{.what = *what +
                             " changes what the kernels do, and the traces do not tell "
                             "what others take",
                     .hint = "give --model and --machine",
                     .code = ErrorCode::refused};
    }
    if (asked.model) {
      const auto plans = plans_of(request, asked, *recorded, *wanted, lookups);
      if (!plans) return plans.error();
      auto made = expected_plans(asked, *plans);
      if (!made) return made.error();
      expected = *made;
      question.plans = &*expected;
      const auto passed = [](const Plan& p) {
        return static_cast<double>(p.batch.micro * p.batch.sequence) / static_cast<double>(p.cp);
      };
      question.boundary_bytes = passed(plans->replayed) / passed(plans->recorded);
      question.data_bytes =
          static_cast<double>(plans->recorded.tp) / static_cast<double>(plans->replayed.tp);
    }
    return replay_change(in, *recorded, question);
  }
};

// What was taken of the recorded batch without evidence, or against it.
void add_batch_warnings(const ProjectRequest& r, const Visit& visit, Messages& warnings) {
  const auto micro = number(r.recorded, "micro-batch");
  if (visit.lookups && micro && *micro != visit.lookups->sequences)
    warnings.push_back(msg::micro_batch_doubted(*micro, visit.lookups->sequences));
  if (!visit.recorded->micro_batch && number(r.recorded, "global-batch"))
    warnings.push_back(msg::micro_batch_assumed());
}

}  // namespace

Result<ProjectResult> project(const ProjectRequest& r, const Progress& progress) {
  const auto asked = read_asked(r);
  if (!asked) return asked.error();
  if (r.traces.inputs.empty()) return Error{.what = "no trace is named", .hint = "name one"};
  std::optional<Visit> asking;
  auto analyzed = analyze_traces(r.traces, progress, [&](const ReadTraces& read) {
    Visit& visit = asking.emplace(Visit{.request = r,
                                        .asked = *asked,
                                        .world = read.run.world_size,
                                        .usual = usual_machine(read.ranks)});
    JobOptions options = job_options(r.traces, progress, read.run.world_size);
    options.standing = false;
    options.visit = [&visit](const WhatIfInputs& in) { visit.answer = visit.ask(in); };
    return options;
  });
  if (!analyzed) return analyzed.error();
  ReadTraces& read = analyzed->read;
  const JobResult& job = analyzed->job;
  const Visit& visit = *asking;
  if (read.ranks.empty()) return no_ranks(read.failures, r.traces.inputs.front());
  if (auto none = not_in_traces(r.traces, job)) {
    fail(progress, read.failures, *none);
    return *none;
  }
  if (!job.explanation || !visit.answer) return no_whole_step(read.inputs, r.traces.inputs.front());
  if (!*visit.answer) return visit.answer->error();
  if (const auto none = no_answer(job))
    return Error{.what = "the traces carry no projection: " + say(none->reason),
                 .file = r.traces.inputs.front(),
                 .hint = say(none->remedy)};
  auto projection = project_step(job, *visit.recorded, visit.question, **visit.answer);
  if (!projection) return projection.error();
  ProjectResult result{.version = std::string(version()),
                       .inputs = std::move(read.inputs),
                       .projection = std::move(*projection),
                       .held_out = job.explanation->held_out,
                       .warnings = replay_warnings(job),
                       .failures = std::move(read.failures)};
  add_batch_warnings(r, visit, result.warnings);
  if (const Message cut = cut_sentence(result.inputs, job); !cut.empty())
    result.warnings.insert(result.warnings.begin(), msg::plain(say_stopped(cut)));
  return result;
}

}  // namespace stepscope
