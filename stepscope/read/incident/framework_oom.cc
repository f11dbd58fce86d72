// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/framework_oom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/memory_size.h"

namespace stepscope {
namespace {

// "Ran out of memory in memory space hbm. Used 30.21G of 15.48G hbm. Exceeded hbm capacity by
// 14.73G." of XLA's compiler, for a TPU.
std::optional<OomMessage> of_program(std::string_view line) {
  const auto rest = behind(line, "Ran out of memory in memory space ");
  if (!rest) return std::nullopt;
  OomMessage out{
      .framework = OomFramework::xla, .backend = "XLA", .needed = size_behind(*rest, "Used ")};
  out.total = size_behind(*rest, " of ");
  // Only hbm is the memory of a TPU; kernels work in the others.
  const std::string_view space = rest->substr(0, rest->find_first_of(". "));
  constexpr std::array<std::string_view, 4> on_chip = {"vmem", "smem", "cmem", "sflag"};
  if (std::ranges::find(on_chip, space) != on_chip.end()) {
    out.space = OomSpace::chip;
    out.allocator = space;
  }
  return out.needed && out.total ? std::optional(out) : std::nullopt;
}

// "expandable_segments: memory mapping failed with OOM on device 0 while trying to map 20971520
// bytes (free: 15663104, total: 33671348224).": a warning, after which PyTorch gives back what it
// does not use, and tries again.
std::optional<OomMessage> of_mapping(std::string_view line) {
  const auto rest = behind(line, "expandable_segments: memory mapping failed with OOM on device ");
  if (!rest) return std::nullopt;
  OomMessage out{.framework = OomFramework::pytorch, .retried = true};
  if (contains(line, "CUDACaching")) out.backend = "CUDA";
  if (contains(line, "HIPCaching")) out.backend = "HIP";
  out.device = leading_number<int>(*rest);
  const auto bytes_behind = [&](std::string_view key) {
    const auto bytes = number_behind(*rest, key);
    return bytes && *bytes >= 0 ? std::optional(Bytes{*bytes}) : std::nullopt;
  };
  out.request = bytes_behind("trying to map ");
  out.free = bytes_behind("(free: ");
  out.total = bytes_behind("total: ");
  return out.request ? std::optional(out) : std::nullopt;
}

// The owner of a file of sources that TensorFlow and XLA share: TensorFlow writes its own paths in
// front of a line ("tensorflow/core/…", "external/local_xla/…"), XLA those of JAX
// ("external/xla/…", "external/org_tensorflow/…").
OomMessage of_xla_or_tensorflow(std::string_view line, OomMessage message) {
  const bool jax = contains_any(line, {"external/xla/", "external/org_tensorflow/"});
  message.framework = jax ? OomFramework::xla : OomFramework::tensorflow;
  message.backend = jax ? "XLA" : "TensorFlow";
  return message;
}

// "GPU_2_bfc" is of device 2; "cuda_host_bfc" and "gpu_host_bfc" hold pinned memory of the host,
// "cpu" other memory of the host.
void take_allocator(std::string_view name, OomMessage& out) {
  out.allocator = name;
  if (name.ends_with("host_bfc") || name.ends_with("cpu")) out.space = OomSpace::host;
  if (name.starts_with("GPU_")) out.device = leading_number<int>(name.substr(4));
}

// "failed to allocate 7.81G (8387559424 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY" of the stream
// executor, and "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.60GiB" of the BFC
// allocator, which TensorFlow and XLA share.
std::optional<OomMessage> of_bfc(std::string_view line) {
  if (contains(line, "from device: ") && contains(line, "ERROR_OUT_OF_MEMORY"))
    if (const auto size = size_behind(line, "failed to allocate "))
      return of_xla_or_tensorflow(line, {.request = size, .retried = true});
  const auto name = behind(line, "Allocator (");
  if (!name || contains(line, "this is not a failure")) return std::nullopt;
  const auto size = size_behind(*name, ") ran out of memory trying to allocate ");
  if (!size) return std::nullopt;
  OomMessage out = of_xla_or_tensorflow(line, {.request = size});
  take_allocator(name->substr(0, name->find(')')), out);
  return out;
}

// Bytes of an element by the names of tensorflow::DataTypeString().
struct TensorType {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<TensorType, 15> tensor_types = {{{"float", 4},
                                                      {"half", 2},
                                                      {"bfloat16", 2},
                                                      {"double", 8},
                                                      {"int8", 1},
                                                      {"int16", 2},
                                                      {"int32", 4},
                                                      {"int64", 8},
                                                      {"uint8", 1},
                                                      {"uint16", 2},
                                                      {"uint32", 4},
                                                      {"uint64", 8},
                                                      {"bool", 1},
                                                      {"complex64", 8},
                                                      {"complex128", 16}}};

// Bytes of "[16,12,512,512] and type float on …"; nothing without a type.
std::optional<Bytes> tensor_size(std::string_view shape) {
  const auto type = behind(shape, "] and type ");
  if (!type || !shape.starts_with('[')) return std::nullopt;
  const std::string_view name = type->substr(0, type->find(' '));
  const auto* const of = std::ranges::find(tensor_types, name, &TensorType::name);
  if (of == tensor_types.end()) return std::nullopt;
  std::int64_t bytes = of->bytes;
  for (shape.remove_prefix(1); !shape.starts_with(']'); shape.remove_prefix(shape[0] == ',')) {
    const auto extent = take_number<std::int64_t>(shape);
    constexpr std::int64_t most = 1'000'000'000'000'000;
    if (!extent || *extent < 0 || (*extent > 0 && bytes > most / *extent)) return std::nullopt;
    bytes *= *extent;
    if (!shape.starts_with(',') && !shape.starts_with(']')) return std::nullopt;
  }
  return Bytes{bytes};
}

// "ResourceExhaustedError: OOM when allocating tensor with shape[16,12,512,512] and type float on
// /job:localhost/replica:0/task:0/device:GPU:2 by allocator GPU_2_bfc".
std::optional<OomMessage> of_tensor(std::string_view line) {
  const auto shape = behind(line, "OOM when allocating tensor with shape");
  if (!shape) return std::nullopt;
  OomMessage out{.framework = OomFramework::tensorflow,
                 .backend = "TensorFlow",
                 .request = tensor_size(*shape)};
  if (const auto name = behind(*shape, " by allocator "))
    take_allocator(
        name->substr(0, name->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "abcdefghijklmnopqrstuvwxyz_0123456789")),
        out);
  if (out.allocator.empty() && !contains(*shape, "/device:")) out.space = OomSpace::unknown;
  if (const auto device = number_behind(*shape, "/device:GPU:");
      device && out.space == OomSpace::device && *device >= 0 && *device < 1'000'000)
    out.device = static_cast<int>(*device);
  return out;
}

// "Free memory on device cuda:0 (3.22/4.0 GiB) on startup is less than desired GPU memory
// utilization (0.9, 3.6 GiB)." of vLLM. Older versions name no device.
std::optional<OomMessage> of_vllm(std::string_view line) {
  const auto place = behind(line, "Free memory on device ");
  const auto set = behind(line, " on startup is less than desired GPU memory utilization (");
  if (!place || !set) return std::nullopt;
  auto sizes = behind(*place, "(");
  const auto free = sizes ? take_number<double>(*sizes) : std::nullopt;
  if (!free || !sizes->starts_with('/')) return std::nullopt;
  OomMessage out{.framework = OomFramework::vllm, .backend = "vLLM"};
  out.total = size_at_front(sizes->substr(1));
  out.request = size_behind(*set, ", ");
  out.share = leading_number<double>(*set);
  const double gib = static_cast<double>(std::int64_t{1} << 30);
  if (!out.total || !out.request || !out.share || !(*free >= 0 && *free < 1e6)) return std::nullopt;
  out.free = Bytes{std::llround(*free * gib)};
  if (const std::size_t colon = place->find(':'); colon < place->find('('))
    out.device = leading_number<int>(place->substr(colon + 1));
  return out;
}

// "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::268435456
// (256)MB".
std::optional<OomMessage> of_gaudi(std::string_view line) {
  const auto size = number_behind(line, "MODULE:PT_DEVMEM Allocation failed for size::");
  if (!size || *size < 0) return std::nullopt;
  return OomMessage{.backend = "HPU", .request = Bytes{*size}};
}

// "Out of memory error on GPU 0. Cannot allocate 3.621826GB memory on GPU 0, 21.184814GB memory has
// been allocated and available memory is only 2.814575GB." of Paddle, whose GB are 2^30 bytes.
std::optional<OomMessage> of_paddle(std::string_view line) {
  constexpr SizeUnits units = SizeUnits::binary;
  const auto request = size_behind(line, "Cannot allocate ", units);
  const auto place = behind(line, "ut of memory error on ");
  if (!request || !place) return std::nullopt;
  OomMessage out{.framework = OomFramework::paddle, .backend = "Paddle", .request = request};
  if (const std::size_t blank = place->find(' '); blank != std::string_view::npos)
    out.device = leading_number<int>(place->substr(blank + 1));
  if (const auto sizes = behind(*place, ", ")) out.allocated = size_at_front(*sizes, units);
  out.free = size_behind(*place, "available memory is only ", units);
  return out;
}

// Errors of the driver and its libraries, which name no sizes.
struct UnsizedOom {
  std::string_view text;
  std::string_view backend;
  OomFramework framework = OomFramework::unknown;
};
constexpr std::array<UnsizedOom, 10> unsized = {
    {{"CUDA error: out of memory", "CUDA", OomFramework::pytorch},
     {"CUDA driver error: out of memory", "CUDA", OomFramework::pytorch},
     {"HIP error: out of memory", "HIP", OomFramework::pytorch},
     {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED", "CUDA", OomFramework::pytorch},
     {"CUBLAS_STATUS_ALLOC_FAILED", "CUDA"},
     {"hipErrorOutOfMemory", "HIP"},
     {"cudaErrorMemoryAllocation", "CUDA"},
     {"Cuda failure 2 'out of memory'", "CUDA"},
     {"Cuda failure 'out of memory'", "CUDA"},
     {"RESULT_ERROR_OUT_OF_DEVICE_MEMORY", "XPU"}}};

std::optional<OomMessage> of_library(std::string_view line) {
  for (const UnsizedOom& words : unsized)
    if (contains(line, words.text))
      return OomMessage{.framework = words.framework, .backend = std::string(words.backend)};
  return std::nullopt;
}

// "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory
// reported: 11996954624" of the stream executor; other programs write the error alone.
std::optional<OomMessage> of_driver(std::string_view line) {
  if (!contains(line, "CUDA_ERROR_OUT_OF_MEMORY")) return std::nullopt;
  OomMessage out{.backend = "CUDA"};
  if (contains_any(line, {"tensorflow/", "external/local_xla/", "external/xla/"}))
    out = of_xla_or_tensorflow(line, std::move(out));
  out.for_context = contains(line, "cuDevicePrimaryCtxRetain");
  if (const auto total = number_behind(line, "total memory reported: "); total && *total > 0)
    out.total = Bytes{*total};
  if (const auto device = number_behind(line, "device ordinal ");
      device && *device >= 0 && *device < 1'000'000)
    out.device = static_cast<int>(*device);
  return out;
}

// What XLA's runtime says.
std::optional<OomMessage> of_xla(std::string_view line) {
  OomMessage out{.framework = OomFramework::xla, .backend = "XLA"};
  // A TPU has the name of the error on a line before: "Attempting to reserve 3.95G at
  // the bottom of memory. That was not possible. There are 1.92G free, …".
  const bool reserves = contains(line, "Attempting to reserve ") &&
                        contains(line, "That was not possible. There are ");
  if (!reserves && !contains(line, "RESOURCE_EXHAUSTED: ")) return std::nullopt;
  out.request = size_behind(line, reserves ? "Attempting to reserve " : "Attempting to allocate ");
  if (out.request) out.free = size_behind(line, "There are ");
  for (const std::string_view key :
       {"ut of memory while trying to allocate ", "ut of memory allocating ",
        "ut of memory trying to allocate "})
    if (!out.request) out.request = size_behind(line, key);
  return out.request ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> number_behind_blanks(std::string_view line, std::string_view key) {
  const auto rest = behind(line, key);
  return rest ? number_of<std::int64_t>(trimmed(*rest)) : std::nullopt;
}

}  // namespace

std::optional<OomMessage> framework_oom(std::string_view line) {
  for (const auto& of : {of_mapping, of_bfc, of_tensor, of_paddle, of_vllm, of_gaudi, of_library,
                         of_driver, of_program, of_xla})
    if (auto message = of(line)) return message;
  return std::nullopt;
}

std::optional<BfcStats> bfc_stats(std::string_view line, std::string_view behind_it) {
  const auto limit = line.starts_with("Limit: ") ? number_behind_blanks(line, ":") : std::nullopt;
  const std::string_view next = behind_it.substr(0, behind_it.find('\n'));
  const auto in_use =
      limit && next.starts_with("InUse: ") ? number_behind_blanks(next, ":") : std::nullopt;
  if (!in_use || *limit <= 0 || *in_use < 0) return std::nullopt;
  return BfcStats{.limit = Bytes{*limit}, .in_use = Bytes{*in_use}};
}

bool lacks(const BfcStats& stats, const std::optional<Bytes>& request) {
  return request && request->value > stats.limit.value - stats.in_use.value;
}

bool give_stats(OomMessage& message, const BfcStats& stats) {
  if (message.allocator.empty() || message.allowed) return false;
  message.allowed = stats.limit;
  message.allocated = stats.in_use;
  return true;
}

}  // namespace stepscope
