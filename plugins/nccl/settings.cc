// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "plugins/nccl/abi.h"
#include "plugins/nccl/event_pool.h"

namespace stepscope::nccl {
namespace {

constexpr std::uint32_t bit(abi::EventType type) { return static_cast<std::uint32_t>(type); }

struct Word {
  const char* text;
  std::uint32_t mask;
};
constexpr std::array<Word, 13> words = {{
    {"group", bit(abi::EventType::group)},
    {"coll", bit(abi::EventType::coll)},
    {"p2p", bit(abi::EventType::p2p)},
    {"proxy", bit(abi::EventType::proxy_op)},
    {"step", bit(abi::EventType::proxy_step)},
    {"ctrl", bit(abi::EventType::proxy_ctrl)},
    {"kernel", bit(abi::EventType::kernel_channel)},
    {"net", bit(abi::EventType::net_plugin)},
    {"api",
     bit(abi::EventType::group_api) | bit(abi::EventType::coll_api) | bit(abi::EventType::p2p_api)},
    {"launch", bit(abi::EventType::kernel_launch)},
    {"ce",
     bit(abi::EventType::ce_coll) | bit(abi::EventType::ce_sync) | bit(abi::EventType::ce_batch)},
    {"all", (1U << kind_count) - 1U},
    {"none", 0},
}};

void complain(Settings& settings, const char* variable, const char* value, const char* remedy) {
  if (settings.complaint[0] != '\0') return;
  std::snprintf(settings.complaint.data(), settings.complaint.size(),
                "%s=%.40s is not understood: %s", variable, value, remedy);
}

// Reads a whole number in [low, high]. If false, `number` is unchanged.
bool read_number(const char* text, long long low, long long high, long long& number) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 0);
  if (end == text || *end != '\0' || errno != 0 || value < low || value > high) return false;
  number = value;
  return true;
}

void read_events(Settings& settings) {
  const char* ours = std::getenv("STEPSCOPE_NCCL_EVENTS");
  if (ours != nullptr) {
    if (parse_events(ours, settings.mask))
      settings.rows = settings.mask;
    else
      complain(settings, "STEPSCOPE_NCCL_EVENTS", ours,
               "give words of coll,p2p,kernel,proxy,step,ctrl,net,group,api,launch,ce,all,none");
    return;
  }
  const char* theirs = std::getenv("NCCL_PROFILE_EVENT_MASK");
  if (theirs == nullptr) return;
  long long number = 0;
  if (read_number(theirs, 0, std::numeric_limits<int>::max(), number)) {
    settings.mask = static_cast<std::uint32_t>(number) & ((1U << kind_count) - 1U);
    settings.rows = settings.mask;
  } else {
    complain(settings, "NCCL_PROFILE_EVENT_MASK", theirs, "give a number");
  }
}

struct Launcher {
  const char* rank;
  const char* size;
};

// The first launcher that names both rank and size: a launcher that another one started sets its
// variables last.
void read_rank(Settings& settings) {
  constexpr std::array<Launcher, 5> launchers = {{{"RANK", "WORLD_SIZE"},
                                                  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                  {"PMI_RANK", "PMI_SIZE"},
                                                  {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                  {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const Launcher& launcher : launchers) {
    const char* rank = std::getenv(launcher.rank);
    const char* size = std::getenv(launcher.size);
    if (rank == nullptr || size == nullptr) continue;
    long long r = 0;
    long long n = 0;
    if (!read_number(size, 1, 1 << 30, n) || !read_number(rank, 0, n - 1, r)) continue;
    settings.rank = static_cast<std::int32_t>(r);
    settings.world_size = static_cast<std::int32_t>(n);
    return;
  }
}

}  // namespace

bool parse_events(const char* text, std::uint32_t& mask) {
  std::uint32_t found = 0;
  while (true) {
    const std::size_t length = std::strcspn(text, ",");
    bool known = false;
    for (const Word& word : words) {
      if (std::strlen(word.text) != length || std::strncmp(word.text, text, length) != 0) continue;
      found |= word.mask;
      known = true;
    }
    if (!known) return false;
    if (text[length] == '\0') break;
    text += length + 1;
  }
  mask = found;
  return true;
}

std::uint32_t with_parents(std::uint32_t mask) {
  using abi::EventType;
  const auto raise = [&](std::uint32_t children, std::uint32_t parents) {
    if ((mask & children) != 0) mask |= parents;
  };
  raise(bit(EventType::net_plugin), bit(EventType::proxy_step));
  raise(bit(EventType::proxy_step), bit(EventType::proxy_op));
  raise(bit(EventType::proxy_op) | bit(EventType::kernel_channel),
        bit(EventType::coll) | bit(EventType::p2p));
  raise(bit(EventType::ce_sync) | bit(EventType::ce_batch), bit(EventType::ce_coll));
  raise(bit(EventType::coll) | bit(EventType::ce_coll),
        bit(EventType::group) | bit(EventType::coll_api));
  raise(bit(EventType::p2p), bit(EventType::group) | bit(EventType::p2p_api));
  raise(bit(EventType::coll_api) | bit(EventType::p2p_api) | bit(EventType::kernel_launch),
        bit(EventType::group_api));
  return mask;
}

Settings settings_of_environment() {
  Settings settings;
  settings.mask = default_mask;
  settings.rank = -1;
  settings.world_size = -1;
  settings.slots = EventPool::most_slots;
  settings.most_bytes = 2048ULL << 20U;
  read_events(settings);
  read_rank(settings);
  const char* folder = std::getenv("STEPSCOPE_NCCL_DIR");
  if (folder == nullptr || *folder == '\0') folder = ".";
  if (std::strlen(folder) < settings.folder.size()) {
    std::strcpy(settings.folder.data(), folder);
  } else {
    std::strcpy(settings.folder.data(), ".");
    complain(settings, "STEPSCOPE_NCCL_DIR", folder, "the path is too long");
  }
  long long number = 0;
  if (const char* text = std::getenv("STEPSCOPE_NCCL_SLOTS"); text != nullptr) {
    if (read_number(text, EventPool::shard_count, EventPool::most_slots, number))
      settings.slots = static_cast<std::uint32_t>(number);
    else
      complain(settings, "STEPSCOPE_NCCL_SLOTS", text, "give a number from 16 to 65536");
  }
  if (const char* text = std::getenv("STEPSCOPE_NCCL_MAX_MB"); text != nullptr) {
    if (read_number(text, 0, 1 << 24, number))
      settings.most_bytes = static_cast<std::uint64_t>(number) << 20U;
    else
      complain(settings, "STEPSCOPE_NCCL_MAX_MB", text, "give megabytes; 0 for no bound");
  }
  return settings;
}

}  // namespace stepscope::nccl
