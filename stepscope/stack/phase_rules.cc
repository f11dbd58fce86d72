// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/phase_rules.h"

#include <algorithm>

#include "stepscope/base/json_reader.h"
#include "stepscope/stack/phase_data.h"

namespace stepscope {
namespace {

constexpr std::string_view rule_schema = "stepscope.phases/1";

class RuleReader {
 public:
  explicit RuleReader(PhaseRules& rules) : rules_(rules) {}

  Result<Done> read(const RuleFile& file) {
    const auto root = parse_json(file.json, file.path);
    if (!root) return root.error();
    JsonProblems problems(file.json, file.path);
    if (root->kind != JsonValue::Kind::object) {
      problems.fail(*root, "a file of rules is an object", "write {\"phases\": [...]}");
      return *problems.error();
    }
    JsonFields fields(*root, "", problems);
    if (fields.text("schema", std::string(rule_schema)) != rule_schema)
      fields.fail("schema", "is none that is known", std::string("write ").append(rule_schema));
    each(fields, "passes", problems,
         [&](JsonFields& f, const JsonValue& at) { pass(f, at, problems); });
    each(fields, "phases", problems,
         [&](JsonFields& f, const JsonValue& at) { phase(f, at, problems); });
    fields.finish("is no part of a file of rules", "it has passes and phases");
    if (problems.error()) return *problems.error();
    return Done{};
  }

 private:
  template <class Each>
  static void each(JsonFields& fields, std::string_view key, JsonProblems& problems, Each&& read) {
    const JsonValue* list = fields.find(key);
    if (list == nullptr) return;
    if (list->kind != JsonValue::Kind::list) return problems.fail(*list, "should be a list");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const JsonValue& item = list->items[i];
      if (item.kind != JsonValue::Kind::object) {
        problems.fail(item, "should be an object");
        continue;
      }
      JsonFields f(item, std::string(key) + "[" + std::to_string(i) + "].", problems);
      read(f, item);
      f.finish("is not known");
    }
  }

  void pass(JsonFields& f, const JsonValue& at, JsonProblems& problems) {
    const std::string name = f.text("name");
    const std::string label = f.text("label", name);
    const std::vector<std::string> frames = f.texts("frames");
    const std::vector<std::string> inside = f.texts("inside");
    const std::uint32_t number = pass_named(name, label);
    PassRule rule{.pass = number};
    for (const std::string& i : inside) rule.inside.push_back(pass_named(i, i));
    for (const std::string& text : frames)
      if (add_pattern(text, at, problems, rule.pattern)) rules_.pass_rules.push_back(rule);
  }

  void phase(JsonFields& f, const JsonValue& at, JsonProblems& problems) {
    HostPhase p;
    p.name = f.text("name");
    const auto known = std::ranges::find(rules_.phases, p.name, &HostPhase::name);
    const bool old = known != rules_.phases.end();
    p.label = f.text("label", "");
    const bool has_kind = f.find("kind") != nullptr;
    const std::size_t kind = f.choice("kind", phase_kind_names, std::size_t{0});
    p.kind = static_cast<PhaseKind>(kind);
    p.explanation = f.text("explanation", "");
    p.fallback = f.flag("fallback", false);
    const auto number = static_cast<std::uint32_t>(known - rules_.phases.begin());
    if (old) {  // what an earlier file said holds
      if (known->label.empty()) known->label = p.label;
      if (known->explanation.empty()) known->explanation = p.explanation;
      if (!kind_known_[number] && has_kind) known->kind = p.kind;
      kind_known_[number] = kind_known_[number] || has_kind;
      known->fallback = known->fallback || p.fallback;
    } else {
      rules_.phases.push_back(std::move(p));
      kind_known_.push_back(has_kind);
    }
    for (const std::string& text : f.texts("stacks")) {
      PhaseRule rule{.path = {}, .phase = number};
      bool good = true;
      for (std::size_t begin = 0; good && begin <= text.size();) {
        const std::size_t end = std::min(text.find(" > ", begin), text.size());
        std::uint32_t pattern = 0;
        good =
            add_pattern(std::string_view(text).substr(begin, end - begin), at, problems, pattern);
        rule.path.push_back(pattern);
        begin = end + 3;
      }
      if (good) rules_.rules.push_back(std::move(rule));
    }
  }

  bool add_pattern(std::string_view text, const JsonValue& at, JsonProblems& problems,
                   std::uint32_t& number) {
    const auto pattern = parse_frame_pattern(text);
    if (!pattern) {
      problems.fail(at, pattern.error().what, "docs/reference/phase-rules.md describes patterns");
      return false;
    }
    number = rules_.patterns.add(*pattern);
    return true;
  }

  std::uint32_t pass_named(const std::string& name, const std::string& label) {
    const auto found = std::ranges::find(rules_.passes, name, &StepPass::name);
    const auto number = static_cast<std::uint32_t>(found - rules_.passes.begin());
    if (found == rules_.passes.end())
      rules_.passes.push_back({name, label});
    else if (label != name)
      found->label = label;
    return number;
  }

  PhaseRules& rules_;
  std::vector<bool> kind_known_{};
};

std::uint32_t add_phase(PhaseRules& rules, HostPhase phase) {
  rules.phases.push_back(std::move(phase));
  return static_cast<std::uint32_t>(rules.phases.size() - 1);
}

void add_rest(PhaseRules& rules) {
  rules.python = add_phase(
      rules,
      {.name = "python",
       .label = "other Python",
       .kind = PhaseKind::work,
       .explanation = "The thread runs Python code that no rule knows; --rules FILE can name it."});
  rules.native = add_phase(
      rules,
      {.name = "native",
       .label = "other native code",
       .kind = PhaseKind::work,
       .explanation = "The thread runs native code that no rule knows; --rules FILE can name it."});
  rules.unknown = add_phase(
      rules, {.name = "unknown",
              .label = "without symbols",
              .kind = PhaseKind::work,
              .explanation =
                  "The profile names no function here: symbols were missing when it was taken."});
  rules.hidden = add_phase(
      rules, {.name = "not_shown",
              .label = "not in the excerpt",
              .kind = PhaseKind::hidden,
              .explanation = "The excerpt counts these samples and does not show their stacks."});
  rules.passes.push_back({"other", "outside a step"});
  rules.other_pass = static_cast<std::uint32_t>(rules.passes.size() - 1);
}

}  // namespace

Result<PhaseRules> make_phase_rules(std::span<const RuleFile> files) {
  PhaseRules rules;
  RuleReader reader(rules);
  for (const RuleFile& file : files)
    if (const auto read = reader.read(file); !read) return read.error();
  for (const PhaseText& text : phase_texts())
    if (const auto read = reader.read({text.file, text.json}); !read) return read.error();
  for (HostPhase& p : rules.phases)
    if (p.label.empty()) p.label = p.name;
  add_rest(rules);
  return rules;
}

}  // namespace stepscope
