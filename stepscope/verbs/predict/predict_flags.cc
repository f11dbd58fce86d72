// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/nearest_names.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"

namespace stepscope {
namespace {

// All kinds but `none` and `unknown`.
std::span<const std::string_view> collectives_to_time() {
  return std::span(collective_kind_names).subspan(1, collective_kind_count - 2);
}

}  // namespace

void declare(CLI::App& app, PredictFlags& f) {
  const char* questions = "Questions";
  const char* collective = "Collective";
  app.description(
      "Predicts what a step of a model should take on a machine, in how much memory, term by "
      "term. With --collective it predicts a single collective.");
  declare_plan_source(app, f.source);
  app.add_option("--vary,--compare", f.compare,
                 "Plans side by side: zero=0,1,2,3. Several make every combination.")
      ->type_name("NAME=V1,V2,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(questions);
  app.add_option("--explain", f.explain,
                 "Formula of a term, a part or an operation with its values, or all")
      ->type_name("TERM")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(questions);
  app.add_flag("--layers", f.layers, "Show the table of all operations")->group(questions);
  app.add_option("--conventions", f.conventions,
                 "Text whose conventions count the tables of --layers")
      ->type_name("stepscope|notebook|notebook-cells")
      ->capture_default_str()
      ->group(questions);
  as_positive(app.add_option("--price", f.price_per_gpu_hour,
                             "Price of a GPU-hour, which shows the step in money too"))
      ->group("Machine");
  app.add_option("--collective", f.collective,
                 fmt::format("Collective to time instead of a model: {}",
                             fmt::join(collectives_to_time(), ", ")))
      ->type_name("NAME")
      ->group(collective);
  app.add_option("--bytes", f.bytes, "Sizes of the collective's whole buffer")
      ->capture_default_str()
      ->type_name("FROM:TO")
      ->group(collective);
  app.add_option("--group", f.group, "Devices that take part in the collective")
      ->type_name("N")
      ->group(collective);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
  declare_programs(app, f.chakra, f.goal);
  mark_common(app, {"--machine", "--gpus", "--tp", "--pp", "--zero", "--seq", "--global-batch",
                    "--vary", "--json", "--html"});
  app.footer(
      "stepscope predict gpt3-175b --machine a100_sxm_80gb --gpus 1024 --tp 8 --pp 16 "
      "--global-batch 1536 --recompute selective --sequence-parallel\n"
      "stepscope predict --collective all_reduce --bytes 1KB:1GB --group 64 "
      "--machine h100_sxm_80gb");
}

Result<PredictRequest> predict_request(const PredictFlags& flags) {
  PredictRequest request{.model = flags.source.model,
                         .machine = flags.source.machine,
                         .plan = settings_of(flags.source),
                         .explain = flags.explain};
  request.conventions = flags.conventions;
  if (flags.conventions != PredictRequest{}.conventions && !flags.layers)
    return Error{.what = "--conventions " + flags.conventions + " without --layers",
                 .hint = "add --layers, whose tables it counts"};
  if (flags.price_per_gpu_hour > 0) request.price_per_gpu_hour = flags.price_per_gpu_hour;
  for (const std::string& axis : flags.compare) {
    const std::size_t is = axis.find('=');
    if (is == std::string::npos || is + 1 == axis.size())
      return Error{.what = "--vary " + axis + " is no list of values",
                   .hint = "write zero=0,1,2,3"};
    PlanAxis& a = request.compare.emplace_back(PlanAxis{axis.substr(0, is), {}});
    for (std::size_t at = is + 1; at <= axis.size();) {
      const std::size_t end = std::min(axis.find(',', at), axis.size());
      a.values.push_back(axis.substr(at, end - at));
      at = end + 1;
    }
  }
  return request;
}

Result<PredictCollectiveRequest> collective_request(const PredictFlags& flags) {
  PredictCollectiveRequest request{.machine = flags.source.machine,
                                   .group = flags.group,
                                   .devices_of_a_domain = domain_of(settings_of(flags.source))};
  const auto names = collectives_to_time();
  const auto found = std::ranges::find(names, flags.collective);
  if (found == names.end())
    return Error{
        .what = fmt::format("--collective {} is unknown", flags.collective),
        .hint = fmt::format("did you mean {}? The names are {}",
                            nearest_names(flags.collective, names), fmt::join(names, ", "))};
  request.kind = static_cast<CollectiveKind>(found - names.begin() + 1);
  const std::size_t colon = flags.bytes.find(':');
  const std::string_view text = flags.bytes;
  const auto from = parse_bytes(text.substr(0, colon));
  const auto to = colon == std::string::npos ? from : parse_bytes(text.substr(colon + 1));
  if (!from || !to || *from > *to)
    return Error{.what = fmt::format("--bytes {} is no range of sizes", flags.bytes),
                 .hint = "write 1KB:1GB or 64MiB"};
  request.range.from = Bytes{*from};
  request.range.to = Bytes{*to};
  if (flags.group < 2)
    return Error{.what = "a collective needs two devices or more", .hint = "give --group N"};
  if (!flags.source.model.empty() || !flags.out.html.empty())
    return Error{.what = "--collective takes no model and makes no page",
                 .hint = "leave MODEL and --html out"};
  if (!flags.chakra.empty() || !flags.goal.empty())
    return Error{.what = "--collective makes no program for simulators",
                 .hint = "leave --chakra and --goal out"};
  return request;
}

}  // namespace stepscope
