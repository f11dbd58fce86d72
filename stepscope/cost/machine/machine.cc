// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine.h"

#include <algorithm>
#include <cmath>

#include "stepscope/cost/machine/machine_data.h"

namespace stepscope {
namespace {

std::vector<Machine> parse_catalogue() {
  std::vector<Machine> machines;
  for (const MachineText& text : machine_texts()) {
    Result<Machine> machine = parse_machine(text.json, text.file);
    check(machine.has_value(),
          machine ? "a machine file" : "data/machines/" + machine.error().message());
    machines.push_back(*std::move(machine));
  }
  return machines;
}

bool memory_fits(const Machine& machine, std::optional<Bytes> memory, bool required) {
  if (!memory || !machine.memory) return !required;
  const auto expected = static_cast<double>(machine.memory->value);
  return std::abs(static_cast<double>(memory->value) - expected) <= 0.1 * expected;
}

// Of a group with `members` devices in one domain: a mesh gives each pair its own links.
std::optional<ByteRate> within_domain(const ScaleUp& link, int members) {
  if (!link.per_direction) return std::nullopt;
  if (!link.peer_to_peer) return link.per_direction;
  return std::min(*link.per_direction, *link.peer_to_peer * static_cast<double>(members - 1));
}

// `fewest` members of the group in the domain that holds fewest.
std::optional<ByteRate> across_domains(const Machine& machine, int fewest) {
  if (!machine.scale_out || !machine.scale_out->per_direction) return std::nullopt;
  const ByteRate out = *machine.scale_out->per_direction * static_cast<double>(fewest);
  if (fewest < 2) return out;
  const auto in = within_domain(*machine.scale_up, fewest);
  return in ? std::optional(std::min(*in, out)) : std::nullopt;
}

}  // namespace

std::span<const Machine> machine_catalogue() {
  static const std::vector<Machine> machines = parse_catalogue();
  return machines;
}

const Machine* find_machine(std::span<const Machine> machines, std::string_view gpu_name,
                            std::optional<Bytes> memory) {
  for (const Machine& machine : machines) {
    if (machine.name == gpu_name && memory_fits(machine, memory, false)) return &machine;
    for (const MachineAlias& alias : machine.aliases) {
      if (alias.name == gpu_name && memory_fits(machine, memory, alias.memory_must_match)) {
        return &machine;
      }
    }
  }
  return nullptr;
}

const Machine* find_machine(std::string_view gpu_name, std::optional<Bytes> memory) {
  return find_machine(machine_catalogue(), gpu_name, memory);
}

std::optional<FlopRate> peak(const Machine& machine, Dtype dtype) {
  return machine.peak_rates[index(dtype)];
}

Error unknown_peak(std::string_view gpu_name) {
  std::string what = "no peak is known for ";
  if (gpu_name == "cpu")
    what += "a CPU";
  else if (gpu_name.empty())
    what += "the device, which the trace does not name";
  else
    what.append("\"").append(gpu_name).append("\"");
  return Error{.what = std::move(what),
               .hint =
                   "give --peak-tflops N (dense, per device, of the dtype that the matrix "
                   "products use) or --machine FILE"};
}

std::optional<ByteRate> link_rate(const Machine& machine, int group_size, int world_size) {
  if (group_size < 2 || !machine.scale_up || !machine.scale_up->domain) return std::nullopt;
  const int domain = *machine.scale_up->domain;
  if (world_size <= domain) return within_domain(*machine.scale_up, group_size);
  // Domains filled one after the other; the last may hold fewer members than the others.
  if (group_size > domain && group_size == world_size) {
    const int rest = group_size % domain;
    return across_domains(machine, rest == 0 ? domain : rest);
  }
  return std::nullopt;
}

std::optional<ByteRate> link_rate(const Machine& machine, std::span<const int> global_ranks) {
  if (global_ranks.size() < 2 || !machine.scale_up || !machine.scale_up->domain) {
    return std::nullopt;
  }
  std::vector<int> domains(global_ranks.begin(), global_ranks.end());
  for (int& rank : domains) rank /= *machine.scale_up->domain;
  std::sort(domains.begin(), domains.end());
  if (domains.front() == domains.back()) {
    return within_domain(*machine.scale_up, static_cast<int>(domains.size()));
  }
  std::ptrdiff_t fewest = std::ssize(domains);
  for (auto run = domains.begin(); run != domains.end();) {
    const auto next = std::upper_bound(run, domains.end(), *run);
    fewest = std::min(fewest, next - run);
    run = next;
  }
  return across_domains(machine, static_cast<int>(fewest));
}

}  // namespace stepscope
