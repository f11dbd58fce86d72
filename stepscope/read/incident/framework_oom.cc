// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/framework_oom.h"

#include <array>
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

// "failed to allocate 7.81G (8387559424 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY" of the stream
// executor, and "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.60GiB" of the BFC
// allocator, which TensorFlow and XLA share.
std::optional<OomMessage> of_bfc(std::string_view line) {
  if (contains(line, "from device: ") && contains(line, "ERROR_OUT_OF_MEMORY"))
    if (const auto size = size_behind(line, "failed to allocate "))
      return of_xla_or_tensorflow(line, {.request = size, .retried = true});
  if (!contains(line, "Allocator (") || contains(line, "this is not a failure"))
    return std::nullopt;
  const auto size = size_behind(line, ") ran out of memory trying to allocate ");
  return size ? std::optional(of_xla_or_tensorflow(line, {.request = size})) : std::nullopt;
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
  return out;
}

// What XLA's runtime says.
std::optional<OomMessage> of_xla(std::string_view line) {
  if (!contains(line, "RESOURCE_EXHAUSTED: ")) return std::nullopt;
  OomMessage out{.framework = OomFramework::xla, .backend = "XLA"};
  out.request = size_behind(line, "Attempting to allocate ");
  if (out.request) out.free = size_behind(line, "There are ");
  for (const std::string_view key :
       {"ut of memory while trying to allocate ", "ut of memory allocating ",
        "ut of memory trying to allocate "})
    if (!out.request) out.request = size_behind(line, key);
  return out.request ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<OomMessage> framework_oom(std::string_view line) {
  for (const auto& of :
       {of_mapping, of_bfc, of_paddle, of_gaudi, of_library, of_driver, of_program, of_xla})
    if (auto message = of(line)) return message;
  return std::nullopt;
}

}  // namespace stepscope
