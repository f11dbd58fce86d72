// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/train_summary.h"

#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/bytes/whole_file.h"

namespace stepscope {
namespace {

// Larger figures are damage.
constexpr double most_share = 1e6;  // of a peak that is given wrong
constexpr double most_ns = 1e18;    // 31 years

const std::vector<JsonValue>& list_of(const JsonValue& object, std::string_view key) {
  static const std::vector<JsonValue> none;
  const JsonValue* value = object.find(key);
  return value == nullptr || value->kind != JsonValue::Kind::list ? none : value->items;
}

std::string without_stop(std::string text) {
  while (text.ends_with('.')) text.pop_back();
  return text;
}

void take_verdict(const JsonValue& json, TrainSummary& summary) {
  const JsonValue* answer = json.find("answer");
  const JsonValue* why = answer == nullptr ? nullptr : answer->find("no_verdict");
  if (why != nullptr && why->kind == JsonValue::Kind::text)
    summary.why_unjudged = without_stop(why->text);
  const JsonValue* verdict = answer == nullptr ? nullptr : answer->find("verdict");
  if (verdict == nullptr || verdict->kind != JsonValue::Kind::object) return;
  summary.judged = true;
  const JsonValue* sentence = verdict->find("sentence");
  if (list_of(*verdict, "ranks").empty() || sentence == nullptr) return;
  summary.late = without_stop(sentence->text);  // as the run said it
}

}  // namespace

Result<TrainSummary> parse_train_summary(std::string_view text, std::string_view path) {
  const auto json = parse_json(text, path);
  if (!json) return json.error();
  const JsonValue* schema = json->find("schema");
  if (schema == nullptr || !schema->text.starts_with("stepscope.train/"))
    return Error{.what = "is not of stepscope train",
                 .file = std::string(path),
                 .hint = "give what stepscope train --json writes"};
  TrainSummary summary;
  const auto share = [&](std::string_view key) {
    const auto value = json_number(*json, key);
    return value && *value >= 0 && *value <= most_share ? value : std::nullopt;
  };
  summary.mfu = share("mfu");
  summary.hfu = share("hfu");
  take_verdict(*json, summary);
  for (const JsonValue& step : list_of(*json, "rank_steps")) {
    const auto rank = json_number(step, "rank");
    const JsonValue* budget = step.find("budget_ns");
    if (!rank || !(*rank >= 0 && *rank < 1e9) || budget == nullptr) continue;
    TrainSummary::Rank& sums = summary.ranks[static_cast<int>(*rank)];
    ++sums.steps;
    for (std::size_t i = 0; i < budget->keys.size() && i < budget->items.size(); ++i)
      if (const double ns = budget->items[i].number; ns >= 0 && ns <= most_ns)
        sums.budget_ns[budget->keys[i]] += ns;
  }
  return summary;
}

Result<TrainSummary> read_train_summary(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  return parse_train_summary(*text, path);
}

}  // namespace stepscope
