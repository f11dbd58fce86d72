// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/words.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace stepscope::nccl {
namespace {

constexpr std::array<const char*, 12> functions = {
    "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv",
    "Send",      "Recv",   "AlltoAll",  "Scatter",       "Gather",    "AllGatherV"};
constexpr std::array<const char*, 12> collectives = {
    "broadcast", "reduce", "allgather",  "reduce_scatter", "allreduce", "sendrecv",
    "send",      "recv",   "all_to_all", "scatter",        "gather",    "allgather"};
constexpr std::array<const char*, 12> datatypes = {
    "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
constexpr std::array<const char*, 12> dtypes = {
    "Char", "Byte",  "Int",    "UInt32",   "Long",          "UInt64",
    "Half", "Float", "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};
constexpr std::array<std::uint8_t, 12> sizes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
constexpr std::array<const char*, 7> algorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<const char*, 3> protocols = {"LL", "LL128", "SIMPLE"};

constexpr std::uint8_t uint8_code = 1;

// Jobs repeat few words: try the last one found first.
template <std::size_t N>
std::uint8_t code_of(const std::array<const char*, N>& words, std::atomic<std::uint8_t>& last,
                     const char* text) {
  if (text == nullptr) return unknown_word;
  const std::uint8_t hint = last.load(std::memory_order_relaxed);
  if (std::strcmp(words[hint], text) == 0) return hint;
  for (std::size_t i = 0; i < N; ++i) {
    if (std::strcmp(words[i], text) != 0) continue;
    last.store(static_cast<std::uint8_t>(i), std::memory_order_relaxed);
    return static_cast<std::uint8_t>(i);
  }
  return unknown_word;
}

template <std::size_t N>
const char* text_of(const std::array<const char*, N>& words, std::uint8_t code) {
  return code < N ? words[code] : nullptr;
}

std::atomic<std::uint8_t> last_function{0};
std::atomic<std::uint8_t> last_datatype{0};
std::atomic<std::uint8_t> last_algorithm{0};
std::atomic<std::uint8_t> last_protocol{0};

}  // namespace

std::uint8_t function_code(const char* text) {
  const std::uint8_t code = code_of(functions, last_function, text);
  if (code == unknown_word && text != nullptr && std::strcmp(text, "Invalid") == 0)
    return static_cast<std::uint8_t>(Function::all_gather_v);
  return code;
}

std::uint8_t datatype_code(const char* text) {
  const std::uint8_t code = code_of(datatypes, last_datatype, text);
  if (code == unknown_word && text != nullptr && std::strcmp(text, "Unknown") == 0)
    return uint8_code;
  return code;
}

std::uint8_t algorithm_code(const char* text) { return code_of(algorithms, last_algorithm, text); }
std::uint8_t protocol_code(const char* text) { return code_of(protocols, last_protocol, text); }

const char* function_text(std::uint8_t code) { return text_of(functions, code); }
const char* collective_name(std::uint8_t code) { return text_of(collectives, code); }
const char* dtype_name(std::uint8_t code) { return text_of(dtypes, code); }
std::uint32_t dtype_bytes(std::uint8_t code) { return code < sizes.size() ? sizes[code] : 0; }
const char* algorithm_text(std::uint8_t code) { return text_of(algorithms, code); }
const char* protocol_text(std::uint8_t code) { return text_of(protocols, code); }

}  // namespace stepscope::nccl
