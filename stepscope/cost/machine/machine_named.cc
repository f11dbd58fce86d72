// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_named.h"

#include <algorithm>
#include <vector>

#include "stepscope/cost/machine/machine_data.h"
#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

bool same(std::string_view a, std::string_view b) {
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return low(x) == low(y); });
}

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

bool is_called(const Machine& machine, std::string_view name) {
  return same(machine.name, name) ||
         std::ranges::any_of(machine.aliases, [&](const MachineAlias& alias) {
           return !alias.memory_must_match && same(alias.name, name);
         });
}

}  // namespace

Result<Machine> machine_named(const std::string& name) {
  const auto texts = machine_texts();
  const auto machines = machine_catalogue();  // one for each text, in their order
  std::vector<std::string_view> stems;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (same(stem(texts[i].file), name) || is_called(machines[i], name)) return machines[i];
    stems.push_back(stem(texts[i].file));
  }
  if (name.ends_with(".json") || name.find('/') != std::string::npos) return read_machine(name);
  constexpr std::size_t longest = 200;  // of what is still printed
  return Error{.what = "no machine \"" + name.substr(0, longest) + "\" in the catalogue",
               .hint = "did you mean " + nearest_names(name, stems) +
                       "? A machine file (as data/machines/*.json) ends with .json"};
}

}  // namespace stepscope
