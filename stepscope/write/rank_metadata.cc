// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/rank_metadata.h"

namespace stepscope {

nlohmann::json rank_metadata(int rank, const Metadata& m) {
  nlohmann::json info = {{"rank", rank}};
  if (m.world_size) info["world_size"] = *m.world_size;
  if (!m.backend.empty()) info["backend"] = m.backend;
  info["pg_config"] = nlohmann::json::array();
  for (const ProcessGroup& g : m.groups)
    info["pg_config"].push_back({{"pg_name", g.name},
                                 {"pg_desc", g.description},
                                 {"backend_config", g.backend},
                                 {"pg_size", g.size},
                                 {"ranks", g.ranks}});
  nlohmann::json out = {{"distributedInfo", info}, {"deviceProperties", nlohmann::json::array()}};
  for (const DeviceProperties& d : m.devices)
    out["deviceProperties"].push_back({{"id", d.id},
                                       {"name", d.name},
                                       {"totalGlobalMem", d.total_memory.value},
                                       {"computeMajor", d.compute_major},
                                       {"computeMinor", d.compute_minor},
                                       {"numSms", d.multiprocessors}});
  const auto flag = [&](const char* key, std::optional<bool> on) {
    if (on) out[key] = *on ? 1 : 0;
  };
  flag("record_shapes", m.with_shapes);
  flag("with_stack", m.with_stack);
  flag("profile_memory", m.with_memory);
  flag("with_flops", m.with_flops);
  flag("with_modules", m.with_modules);
  for (const auto& [key, text] : m.texts) out[key] = text;
  return out;
}

}  // namespace stepscope
