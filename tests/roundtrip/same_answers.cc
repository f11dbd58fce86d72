// SPDX-License-Identifier: Apache-2.0
#include "tests/roundtrip/same_answers.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace stepscope::roundtrip {
namespace {

using Json = nlohmann::json;

class Comparison {
 public:
  explicit Comparison(std::size_t limit) : limit_(limit) {}

  void compare(const std::string& path, const Json& left, const Json& right) {
    if (left.is_object() && right.is_object()) return compare_objects(path, left, right);
    if (left.is_array() && right.is_array()) return compare_arrays(path, left, right);
    if (left.is_number_float() && right.is_number_float() && close(left, right)) return;
    if (left != right) say(path, left.dump(), right.dump());
  }
  [[nodiscard]] std::vector<std::string> found() && { return std::move(found_); }

 private:
  static bool close(double left, double right) {
    return std::abs(left - right) <= 1e-9 * std::max(std::abs(left), std::abs(right));
  }

  void compare_objects(const std::string& path, const Json& left, const Json& right) {
    for (const auto& [key, value] : left.items()) {
      const std::string at = path + '.' + key;
      if (!right.contains(key))
        say(at, value.dump(), "absent");
      else
        compare(at, value, right[key]);
    }
    for (const auto& [key, value] : right.items())
      if (!left.contains(key)) say(path + '.' + key, "absent", value.dump());
  }

  void compare_arrays(const std::string& path, const Json& left, const Json& right) {
    if (left.size() != right.size())
      say(path + " length", std::to_string(left.size()), std::to_string(right.size()));
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i)
      compare(path + '[' + std::to_string(i) + ']', left[i], right[i]);
  }

  void say(const std::string& path, const std::string& left, const std::string& right) {
    if (found_.size() < limit_)
      found_.push_back(path + ": " + left.substr(0, 120) + " | " + right.substr(0, 120));
  }

  std::size_t limit_;
  std::vector<std::string> found_;
};

// Commands name the files: the answer's command, and the command in the sentence of a culprit that
// is replayed. The rest of that sentence is kept.
void erase_names_in_commands(Json& answer) {
  if (!answer.contains("answer") || !answer["answer"].is_object()) return;
  Json& said = answer["answer"];
  said.erase("command");
  if (!said.contains("culprit") || !said["culprit"].is_string()) return;
  std::string culprit = said["culprit"].get<std::string>();
  constexpr std::string_view command = "stepscope whatif ";
  const std::size_t at = culprit.find(command);
  const std::size_t end = culprit.rfind(" --change ");
  if (at == std::string::npos || end == std::string::npos || end < at + command.size()) return;
  culprit.replace(at + command.size(), end - at - command.size(), "TRACES");
  said["culprit"] = std::move(culprit);
}

// Formats differ, and with them the switches that record more.
Json without_inputs(Json answer) {
  answer.erase("inputs");
  erase_names_in_commands(answer);
  if (answer.contains("recording")) {
    for (Json& rank : answer["recording"]["ranks"]) rank.erase("format");
    for (Json& lacking : answer["recording"]["lacks"]) lacking.erase("record");
  }
  if (answer.contains("findings"))
    for (Json& finding : answer["findings"])
      if (finding["id"] == "too_few_steps") finding.erase("advice");
  if (answer.contains("warnings"))
    std::erase_if(answer["warnings"].get_ref<Json::array_t&>(), [](const Json& line) {
      return line.get<std::string>().starts_with("to see more, record");
    });
  if (answer.contains("ranks"))
    for (Json& rank : answer["ranks"]) rank.erase("rank_source");
  return answer;
}

}  // namespace

std::vector<std::string> differences(const Json& left, const Json& right, std::size_t limit) {
  Comparison comparison(limit);
  comparison.compare("", without_inputs(left), without_inputs(right));
  return std::move(comparison).found();
}

nlohmann::json without_file_sizes(nlohmann::json answer) {
  erase_names_in_commands(answer);
  if (answer.contains("inputs"))
    for (nlohmann::json& input : answer["inputs"])
      for (const char* key : {"path", "bytes", "text_bytes"}) input.erase(key);
  return answer;
}

}  // namespace stepscope::roundtrip
