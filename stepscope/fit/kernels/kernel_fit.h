// SPDX-License-Identifier: Apache-2.0
// The machine that explains measured kernels: the numbers of cost/machine/compute_parameters.h,
// fitted by the formulas with which a step is predicted (cost/time/compute_time.h,
// cost/step/offload_time.h). A number that the kernels do not show stays the base machine's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/event/kernel_times.h"
#include "stepscope/fit/kernels/kernel_timings.h"

namespace stepscope {

// A measured time and the model's times, by the machine after and before the fit.
struct KernelFitRow {
  std::string kind;  // "products bf16", "grouped products", "attention backward", "optimizer"
  std::string shape;
  Seconds measured{};
  std::optional<Seconds> modelled{};  // absent: the machine has no peak of the format
  std::optional<Seconds> before{};
  std::optional<OperationTiming> operation{};  // absent: of an optimizer
};

// |modelled / measured - 1| over the rows of one kind that have it.
struct KernelKindError {
  std::string kind;
  std::size_t rows = 0;
  double median = 0, worst = 0;
  std::string worst_shape{};
  double median_before = 0, worst_before = 0;
};

struct FittedNumber {
  std::string name;                // as in the machine file: "matmul_efficiency.bf16"
  std::optional<double> before{};  // absent: the base machine had the usual value or none
  double value = 0;
};

struct KernelFit {
  Machine machine;
  std::vector<KernelFitRow> rows{};      // in the order of the kinds
  std::vector<KernelKindError> kinds{};  // never empty
  std::vector<FittedNumber> numbers{};
  std::vector<std::string> kept{};  // numbers that the kernels do not show
  // Which of "products", "attention", "passes over memory" and "optimizer" no kernel measured.
  std::vector<std::string> unmeasured{};
  double median_error = 0;  // over all rows
  double median_before = 0;
};

// `source` is stored in the machine file. Formats of 16 bits with the peak of a measured one take
// its shares. Multiprocessors are the files', else the count that explains products best. Errors:
// the base has no memory rate or no peak of bf16, or no kernel's time gives a number.
[[nodiscard]] Result<KernelFit> fit_kernels(const Machine& base, std::span<const KernelTimes> files,
                                            const std::string& source);

}  // namespace stepscope
