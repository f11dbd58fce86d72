// SPDX-License-Identifier: Apache-2.0
// The rated performance of an accelerator and the measured maximum of its matrix products. The
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
// is not the SXM2 product.
struct MachineAlias {
  std::string name;
  // The name fits several products. Only a device with matching memory is this one.
  bool memory_must_match = false;
};

// A device's share of the host and of the host's drives, which hold offloaded states. An absent
// figure is unknown, and a plan that needs it is an error. All figures are one device's share.
struct Host {
  std::optional<ByteRate> per_direction;  // device to host memory
  std::optional<ByteRate> memory_rate;    // of the host's memory; limits an optimizer on the CPU
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
  // The rates of elementwise operations, where they are not the peak in fp32.
  std::array<std::optional<FlopRate>, dtype_count> vector_rates;
  std::optional<Bytes> memory;
  std::optional<ByteRate> memory_rate;
  std::optional<ComputeCurves> compute;
  std::optional<Host> host;
  std::optional<Nvme> nvme;
  std::optional<ScaleUp> scale_up;
  std::optional<ScaleOut> scale_out;
  std::vector<std::string> sources;
  std::map<std::string, std::string> notes;  // dotted field → disagreement of the sources on it
};

// Parses one machine file. Errors name the file, line and column, and the wrong field (missing,
// unknown, wrong type, not positive). `path` appears only in messages.
[[nodiscard]] Result<Machine> parse_machine(std::string_view json, std::string_view path);
// Reads a file (--machine FILE).
[[nodiscard]] Result<Machine> read_machine(const std::string& path);

// Every machine of data/machines, by file name. Lives as long as the program.
[[nodiscard]] std::span<const Machine> machine_catalogue();

// The machine called `gpu_name` (its own name or an alias, whole and case-sensitive), or null. If
// the device's memory is known, it must be within 10 % of the machine's: vendors write GiB as GB,
// and a slice of a device is another device.
[[nodiscard]] const Machine* find_machine(std::string_view gpu_name,
                                          std::optional<Bytes> memory = std::nullopt);
// The same among `machines`, a catalogue of the caller's own.
[[nodiscard]] const Machine* find_machine(std::span<const Machine> machines,
                                          std::string_view gpu_name, std::optional<Bytes> memory);

// A machine of the catalogue by its file's stem ("h100_sxm_80gb"), its name, or an alias of this
// machine alone (case does not matter); or a file if `name` ends with .json or contains a slash. An
// unknown name is an error that suggests the nearest stems.
[[nodiscard]] Result<Machine> machine_named(const std::string& name);

// Whether a rate of its matrix products is known, which predictions need.
[[nodiscard]] bool has_peak(const Machine& machine);

// Dense peak of matrix products in `dtype`.
[[nodiscard]] std::optional<FlopRate> peak(const Machine& machine, Dtype dtype);

// The error for a device that the catalogue lacks, or whose peak it lacks. It asks for
// --peak-tflops or --machine.
[[nodiscard]] Error unknown_peak(std::string_view gpu_name);

// The upper bound of a collective's busbw on this machine, per device and direction.
//
// `places` are those of the group's devices: place / domain is the number of the domain. Within one
// domain it is the scale-up rate (on a mesh a group of n has at most n - 1 links of a device).
// Across domains it is k times a device's scale-out share, at most the scale-up rate, where k is
// the fewest members in any domain (each drives its own network port). Collectives reduced inside a
// switch can exceed it.
[[nodiscard]] std::optional<ByteRate> link_rate(const Machine& machine,
                                                std::span<const int> places);

}  // namespace stepscope
