// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/train_summary.h"

#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/json_members.h"

namespace stepscope {
namespace {

// Larger figures are damage.
constexpr double most_share = 1e6;  // of a peak that is given wrong
constexpr double most_ns = 1e18;    // 31 years

std::string without_stop(std::string text) {
  while (text.ends_with('.')) text.pop_back();
  return text;
}

void take_verdict(const JsonValue& answer, TrainSummary& summary) {
  const JsonValue* why = answer.find("no_verdict");
  if (why != nullptr && why->kind == JsonValue::Kind::text)
    summary.why_unjudged = without_stop(why->text);
  const JsonValue* verdict = answer.find("verdict");
  if (verdict == nullptr || verdict->kind != JsonValue::Kind::object) return;
  summary.judged = true;
  const JsonValue* sentence = verdict->find("sentence");
  const JsonValue* ranks = json_member(*verdict, "ranks", JsonValue::Kind::list);
  if (ranks == nullptr || ranks->items.empty() || sentence == nullptr) return;
  summary.late = without_stop(sentence->text);  // as the run said it
}

}  // namespace

Result<TrainSummary> parse_train_summary(ByteSource& source, std::string_view path) {
  TrainSummary summary;
  bool ours = false;
  const auto take_rank = [&](const JsonValue& step) {
    const auto rank = json_number(step, "rank");
    const JsonValue* budget = step.find("budget_ns");
    if (!rank || !(*rank >= 0 && *rank < 1e9) || budget == nullptr) return;
    TrainSummary::Rank& sums = summary.ranks[static_cast<int>(*rank)];
    ++sums.steps;
    for (std::size_t i = 0; i < budget->keys.size() && i < budget->items.size(); ++i)
      if (const double ns = budget->items[i].number; ns >= 0 && ns <= most_ns)
        sums.budget_ns[budget->keys[i]] += ns;
  };
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    if (item.value == nullptr) return Done{};
    if (item.inner) {
      if (item.key == "rank_steps") take_rank(*item.value);
      return Done{};
    }
    const auto share = [&](std::string_view key, std::optional<double>& into) {
      const auto value = json_number(item.value);
      if (item.key == key && value && *value >= 0 && *value <= most_share) into = value;
    };
    share("mfu", summary.mfu);
    share("hfu", summary.hfu);
    if (item.key == "schema") ours = item.value->text.starts_with("stepscope.train/");
    if (item.key == "answer") take_verdict(*item.value, summary);
    return Done{};
  };
  constexpr std::array<std::string_view, 5> keys = {"schema", "mfu", "hfu", "answer", "rank_steps"};
  const auto read = for_json_items(source, path, take, {.keys = keys});
  if (!read) return read.error();
  if (ours) return summary;
  return Error{.what = "is not of stepscope train",
               .file = std::string(path),
               .hint = "give what stepscope train --json writes"};
}

Result<TrainSummary> read_train_summary(const std::string& path) {
  const auto source = open_source(path);
  return source ? parse_train_summary(**source, path) : source.error();
}

}  // namespace stepscope
