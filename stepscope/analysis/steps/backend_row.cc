// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/backend_row.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace stepscope {

bool is_backend_row(std::string_view name) {
  constexpr std::array<std::string_view, 7> backends = {
      "nccl:", "rccl:", "gloo:", "mpi:", "ucc:", "hccl:", "xccl:"};
  return std::ranges::any_of(backends, [&](std::string_view b) {
    return name.starts_with(b) && name.size() > b.size() && name[b.size()] != ':';
  });
}

std::vector<bool> backend_row_names(const StringPool& strings) {
  std::vector<bool> names(strings.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) names[i] = is_backend_row(strings[StringId{i}]);
  return names;
}

}  // namespace stepscope
