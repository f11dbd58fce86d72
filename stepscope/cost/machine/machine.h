// SPDX-License-Identifier: Apache-2.0
// What an accelerator can do on paper and what matrix products were measured to reach on it. The
// catalogue is data (data/machines/*.json, each figure with its sources and their conflicts) and is
// part of the program. An unknown figure is absent, never a guess. Rates are dense, per device, per
// direction; GB = 1e9 bytes.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/machine/links.h"  // IWYU pragma: export
#include "stepscope/cost/model/dtype.h"

namespace stepscope {

// A name as a trace writes it (deviceProperties[].name), matched as a whole: "Tesla V100-PCIE-32GB"
// is no SXM2.
struct MachineAlias {
  std::string name;
  // The name fits several products: only a device whose memory agrees is this one.
  bool memory_must_match = false;
};

// What lies behind a device: its share of the host and of the host's drives, which hold offloaded
// states. An absent figure is unknown, and a plan that needs it is an error. All figures are one
// device's share.
struct Host {
  std::optional<ByteRate> per_direction;  // device to host memory
  std::optional<ByteRate> memory_rate;  // of the host's memory: an optimizer on the CPU runs at it
  std::optional<Bytes> memory;
};

struct Nvme {
  std::optional<ByteRate> read;
  std::optional<ByteRate> write;
  std::optional<Bytes> capacity;
};

struct Machine {
  std::string name;
  std::string vendor;
  std::vector<MachineAlias> aliases;
  std::array<std::optional<FlopRate>, dtype_count> peak_rates;
  std::array<std::optional<FlopRate>, dtype_count> matmul_max;  // largest measured for a matmul
  std::optional<Bytes> memory;
  std::optional<ByteRate> memory_rate;
  std::optional<ComputeCurves> compute;
  std::optional<Host> host;
  std::optional<Nvme> nvme;
  std::optional<ScaleUp> scale_up;
  std::optional<ScaleOut> scale_out;
  std::vector<std::string> sources;
  std::map<std::string, std::string> notes;  // field, dotted, to where sources disagree on it
};

// One machine file. Errors name the file, line and column, and the field that is wrong
// (missing, unknown, of another type, not positive). `path` appears in messages only.
[[nodiscard]] Result<Machine> parse_machine(std::string_view json, std::string_view path);
// The same from disk (--machine FILE).
[[nodiscard]] Result<Machine> read_machine(const std::string& path);

// Every machine of data/machines, by file name. Lives as long as the program.
[[nodiscard]] std::span<const Machine> machine_catalogue();

// The machine called `gpu_name` (its own name or an alias, whole and case-sensitive), or null.
// Where the device's memory is known it must lie within 10 % of the machine's: vendors write GiB as
// GB, and a slice of a device is another device.
[[nodiscard]] const Machine* find_machine(std::string_view gpu_name,
                                          std::optional<Bytes> memory = std::nullopt);
// The same among `machines`, a catalogue of the caller's own.
[[nodiscard]] const Machine* find_machine(std::span<const Machine> machines,
                                          std::string_view gpu_name, std::optional<Bytes> memory);

// A machine of the catalogue by its file's stem ("h100_sxm_80gb"), its name or an alias that is
// this machine's alone (case does not matter), or the file where `name` ends with .json or has a
// slash. An unknown name is an error that suggests the nearest stems.
[[nodiscard]] Result<Machine> machine_named(const std::string& name);

// Dense peak of matrix products in `dtype`.
[[nodiscard]] std::optional<FlopRate> peak(const Machine& machine, Dtype dtype);

// What to say of a device that the catalogue lacks, or whose peak it lacks: asks for --peak-tflops
// or --machine.
[[nodiscard]] Error unknown_peak(std::string_view gpu_name);

// The most that busbw of a collective can show on this machine, per device and direction.
//
// By sizes: the scale-up rate when the whole job fits one domain (on a mesh a group of n has at
// most n - 1 links of a device), the rate across domains when the group exceeds one; absent between
// the two, where placement decides.
[[nodiscard]] std::optional<ByteRate> link_rate(const Machine& machine, int group_size,
                                                int world_size);
// By the group's ranks in the job, where consecutive ranks fill a domain: within one domain the
// scale-up rate, across domains k times a device's scale-out share, k being the fewest members in
// any domain (each drives its own network port), at most the scale-up rate. Collectives reduced
// inside a switch can show more.
[[nodiscard]] std::optional<ByteRate> link_rate(const Machine& machine,
                                                std::span<const int> global_ranks);

}  // namespace stepscope
