// SPDX-License-Identifier: Apache-2.0
// The parameters of a network in units. A unit is fetched, reduced and released as a whole. Each
// unit is one flat vector; tensors that one product uses lie side by side in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/nn/network/network_config.h"

namespace stepscope::nn {

// One tensor inside its unit's flat vector, row-major; a matrix is [out, in].
struct Parameter {
  std::string name;  // of the Hugging Face checkpoint: "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // first element within the unit
  std::int64_t count = 0;   // product of the shape
  bool decay = false;       // weight decay: matrices, not norms and biases
  float init_std = 0;       // of normal initial values; 0: zeros, negative: ones
  // GPT-2's files hold the matrices of a block transposed, [in, out] (Conv1D).
  bool transposed_in_file = false;
  std::int64_t pad_rows = 0;  // last rows of shape[0] that pad the vocabulary: zero, not in files
};

struct Unit {
  std::string name;  // "embed", "block 3", "head"; "embed_head" where the token table is both
  std::vector<Parameter> parameters{};
  std::int64_t count = 0;  // elements
};

// Unit 0 is the embedding; unit 1 + l is block l; an untied head is the last unit.
[[nodiscard]] std::vector<Unit> network_units(const NetworkConfig& config);
[[nodiscard]] std::size_t head_unit(const NetworkConfig& config);

// The elements of all units without the rows that pad the vocabulary: a model's usual parameter
// count.
[[nodiscard]] std::int64_t parameter_count(const NetworkConfig& config);

}  // namespace stepscope::nn
