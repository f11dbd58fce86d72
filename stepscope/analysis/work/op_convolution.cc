// SPDX-License-Identifier: Apache-2.0
// Convolutions: 2 × outputs × (input channels per group) × kernel window. The number of groups is
// not needed: the weight's second dimension is already per group.
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/analysis/work/op_flops.h"

namespace stepscope {
namespace {

constexpr std::size_t no_argument = 99;

// Positions of a forward convolution's arguments in its schema. Input is argument 0, weight 1.
struct ConvolutionSchema {
  std::string_view name;
  std::size_t stride, padding, dilation;
  std::size_t transposed = no_argument;  // a flag
  bool always_transposed = false;
};
constexpr auto convolution_schemas = std::to_array<ConvolutionSchema>({
    {"conv1d", 3, 4, 5},
    {"conv2d", 3, 4, 5},
    {"conv3d", 3, 4, 5},
    {"conv_transpose1d", 3, 4, 7, no_argument, true},
    {"conv_transpose2d", 3, 4, 7, no_argument, true},
    {"conv_transpose3d", 3, 4, 7, no_argument, true},
    {"convolution", 3, 4, 5, 6},
    {"_convolution", 3, 4, 5, 6},
    {"convolution_overrideable", 3, 4, 5, 6},
    {"cudnn_convolution", 3, 2, 4},
    {"cudnn_convolution_relu", 3, 4, 5},
    {"cudnn_convolution_add_relu", 5, 6, 7},
    {"cudnn_convolution_transpose", 4, 2, 5, no_argument, true},
    {"miopen_convolution", 4, 3, 5},
    {"miopen_convolution_relu", 3, 4, 5},
    {"miopen_depthwise_convolution", 4, 3, 5},
    {"miopen_convolution_transpose", 5, 3, 6, no_argument, true},
    {"mkldnn_convolution", 4, 3, 5},
    {"thnn_conv2d", 4, 5, no_argument},
    {"_slow_conv2d_forward", 4, 5, no_argument},
    {"_conv_depthwise2d", 4, 5, 6},
    {"conv_depthwise3d", 4, 5, 6},
    {"slow_conv3d_forward", 4, 5, no_argument},
    {"slow_conv_dilated2d", 4, 5, 6},
});

// One entry per spatial dimension; a single number applies to all.
std::optional<std::int64_t> spatial(const std::optional<Dims>& list, std::size_t i) {
  if (!list || list->empty()) return std::nullopt;
  if (list->size() == 1) return list->front();
  return i < list->size() ? std::optional((*list)[i]) : std::nullopt;
}

std::optional<std::int64_t> output_extent(const ConvolutionSchema& schema, const OpInputs& inputs,
                                          std::size_t i, std::int64_t in, std::int64_t kernel) {
  const auto stride = spatial(inputs.integers(schema.stride), i);
  const auto dilation = schema.dilation == no_argument
                            ? std::optional<std::int64_t>(1)
                            : spatial(inputs.integers(schema.dilation), i);
  if (!stride || *stride <= 0 || !dilation || *dilation <= 0) return std::nullopt;
  const std::string_view mode = inputs.concrete(schema.padding);
  if (mode == "same" || mode == "'same'") return in;
  double padding = 0;
  if (mode != "valid" && mode != "'valid'") {
    const auto given = spatial(inputs.integers(schema.padding), i);
    if (!given) return std::nullopt;
    padding = static_cast<double>(*given);
  }
  const double reach = static_cast<double>(*dilation) * static_cast<double>(kernel - 1);
  const double steps =
      (static_cast<double>(in) + 2 * padding - reach - 1) / static_cast<double>(*stride);
  if (steps > 1e15) return std::nullopt;
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(std::max(steps, -1.0))) + 1,
                                0);
}

// The multiply-adds of one position are weight[1] × window, on the side over which the kernel
// slides.
std::optional<Flops> sliding(std::int64_t positions, const Dims& weight) {
  const auto window = element_count(Dims(weight.begin() + 1, weight.end()));
  if (!window) return std::nullopt;
  return Flops{2.0 * static_cast<double>(positions) * static_cast<double>(*window)};
}

std::optional<Flops> forward(const ConvolutionSchema& schema, const OpInputs& inputs) {
  const Dims* in = inputs.tensor(0, 3);
  const Dims* weight = inputs.tensor(1, 3);
  if (in == nullptr || weight == nullptr || in->size() != weight->size()) return std::nullopt;
  bool transposed = schema.always_transposed;
  if (schema.transposed != no_argument) {
    const auto flag = inputs.flag(schema.transposed);
    if (!flag) return std::nullopt;
    transposed = *flag;
  }
  if (transposed) {
    const auto positions = element_count(*in);
    return positions ? sliding(*positions, *weight) : std::nullopt;
  }
  Dims out = {in->front(), weight->front()};
  for (std::size_t i = 2; i < in->size(); ++i) {
    const auto extent = output_extent(schema, inputs, i - 2, (*in)[i], (*weight)[i]);
    if (!extent) return std::nullopt;
    out.push_back(*extent);
  }
  const auto positions = element_count(out);
  return positions ? sliding(*positions, *weight) : std::nullopt;
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask). The gradients of input and of weight each cost
// one forward.
std::optional<Flops> backward(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(0, 3);
  const Dims* in = inputs.tensor(1, 3);
  const Dims* weight = inputs.tensor(2, 3);
  const auto transposed = inputs.flag(7);
  const auto mask = inputs.flags(10);
  if (grad == nullptr || in == nullptr || weight == nullptr || !transposed || !mask ||
      mask->size() != 3) {
    return std::nullopt;
  }
  const auto positions = element_count(*transposed ? *in : *grad);
  const auto one = positions ? sliding(*positions, *weight) : std::nullopt;
  if (!one) return std::nullopt;
  return *one * (((*mask)[0] ? 1.0 : 0.0) + ((*mask)[1] ? 1.0 : 0.0));
}

// cudnn_convolution_backward_input(self_size, grad_output, weight, …)
std::optional<Flops> backward_input(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(1, 3);
  const Dims* weight = inputs.tensor(2, 3);
  if (grad == nullptr || weight == nullptr) return std::nullopt;
  const auto positions = element_count(*grad);
  return positions ? sliding(*positions, *weight) : std::nullopt;
}

// cudnn_convolution_backward_weight(weight_size, grad_output, self, …)
std::optional<Flops> backward_weight(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(1, 3);
  const auto weight = inputs.integers(0);
  if (grad == nullptr || !weight || weight->size() != grad->size()) return std::nullopt;
  const auto positions = element_count(*grad);
  return positions ? sliding(*positions, *weight) : std::nullopt;
}

}  // namespace

std::optional<Flops> convolution_flops(std::string_view name, const OpInputs& inputs) {
  if (name == "convolution_backward") return backward(inputs);
  if (name == "cudnn_convolution_backward_input") return backward_input(inputs);
  if (name == "cudnn_convolution_backward_weight") return backward_weight(inputs);
  const auto schema = std::ranges::find(convolution_schemas, name, &ConvolutionSchema::name);
  return schema == convolution_schemas.end() ? std::nullopt : forward(*schema, inputs);
}

}  // namespace stepscope
