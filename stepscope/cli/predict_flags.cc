// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/predict_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "stepscope/base/byte_size.h"
#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

CLI::Validator price() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return end != text.c_str() && *end == '\0' && value > 0 && std::isfinite(value)
                   ? std::string()
                   : text + " is no positive number";
      },
      "POSITIVE");
}

}  // namespace

void declare(CLI::App& app, PredictFlags& f) {
  declare_plan_source(app, f.source);
  app.add_flag("--layers", f.layers, "The table of all operations");
  app.add_option("--explain", f.explain,
                 "The formula of a term, a part or an operation with its values; all (repeatable)")
      ->type_name("TERM")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--compare", f.compare,
                 "Plans side by side: zero=0,1,2,3 (repeatable: every combination)")
      ->type_name("NAME=VALUES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--price", f.price_per_gpu_hour, "Price of a GPU-hour")
      ->check(price())
      ->type_name("N");
  app.add_option("--collective", f.collective,
                 "Time a collective instead of a model: all_reduce, all_gather, ...")
      ->type_name("OP")
      ->group("Collective");
  app.add_option("--bytes", f.bytes, "Sizes of its whole buffer (default 1KB:1GB)")
      ->type_name("FROM:TO")
      ->group("Collective");
  app.add_option("--group", f.group, "Devices that take part")->type_name("N")->group("Collective");
  app.add_option("--json", f.out.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.out.html, "Write one self-contained page")->type_name("FILE");
  app.add_option("--csv", f.out.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  app.footer(
      "Example: stepscope predict gpt3-175b --machine a100_sxm_80gb --gpus 1024 --tp 8 --pp 16 "
      "--global-batch 1536 --recompute selective --sequence-parallel\n"
      "Example: stepscope predict --collective all_reduce --bytes 1KB:1GB --group 64 "
      "--machine h100_sxm_80gb");
}

Result<PredictRequest> predict_request(const PredictFlags& flags) {
  PredictRequest request{.model = flags.source.model,
                         .machine = flags.source.machine,
                         .plan = settings_of(flags.source),
                         .explain = flags.explain};
  if (flags.price_per_gpu_hour > 0) request.price_per_gpu_hour = flags.price_per_gpu_hour;
  for (const std::string& axis : flags.compare) {
    const std::size_t is = axis.find('=');
    if (is == std::string::npos || is + 1 == axis.size())
      return Error{.what = "--compare " + axis + " is no list of values",
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
  const auto names = std::span(collective_kind_names).subspan(1, collective_kind_count - 2);
  const auto found = std::ranges::find(names, flags.collective);
  if (found == names.end())
    return Error{.what = fmt::format("--collective {} is unknown", flags.collective),
                 .hint = fmt::format("did you mean {}?", nearest_names(flags.collective, names))};
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
  return request;
}

}  // namespace stepscope
