// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/communicator/memory_room.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace stepscope::comm {
namespace {

std::optional<std::uint64_t> system_room() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && in >> kibibytes) return kibibytes * 1024;
    in.ignore(256, '\n');
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return std::nullopt;  // "max" is not a number
  return number;
}

std::optional<std::uint64_t> group_room(const std::filesystem::path& group) {
  const auto limit = number_in(group / "memory.max");
  const auto used = number_in(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

void lower(std::optional<std::uint64_t>& room, std::optional<std::uint64_t> other) {
  if (other) room = std::min(room.value_or(*other), *other);
}

}  // namespace

std::optional<std::uint64_t> memory_room() {
  std::optional<std::uint64_t> room = system_room();
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path path = line.substr(4); !path.empty(); path = path.parent_path()) {
      lower(room, group_room(root / path));
    }
    lower(room, group_room(root));
  }
  return room;
}

}  // namespace stepscope::comm
