// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/step_class.h"

namespace stepscope {

StepClass class_of(NameClass kind) {
  switch (kind) {
    case NameClass::matmul:
      return StepClass::matmul;
    case NameClass::attention:
      return StepClass::attention;
    case NameClass::norm:
      return StepClass::norm;
    case NameClass::optimizer:
      return StepClass::optimizer;
    case NameClass::embedding:
      return StepClass::embedding;
    case NameClass::loss:
      return StepClass::loss;
    case NameClass::softmax:
    case NameClass::elementwise:
    case NameClass::reduction:
    case NameClass::quantize:
    case NameClass::routing:
    case NameClass::communication:
    case NameClass::copy:
    case NameClass::wait:
    case NameClass::other:
      break;
  }
  return StepClass::elementwise;
}

StepClass class_of(Dimension dimension, const Plan& plan) {
  switch (dimension) {
    case Dimension::tp:
    case Dimension::sp:
      return StepClass::tensor_comm;
    case Dimension::cp:
      return StepClass::context_comm;
    case Dimension::ep:
      return StepClass::expert_comm;
    case Dimension::pp:
      return StepClass::pipeline_comm;
    case Dimension::dp:
      return StepClass::data_comm;
    case Dimension::world:
    case Dimension::unknown:
      break;
  }
  if (plan.cp > 1 || plan.ep > 1) return StepClass::other_comm;
  if (plan.devices == plan.dp) return StepClass::data_comm;
  if (plan.devices == plan.tp) return StepClass::tensor_comm;
  return plan.devices == plan.pp ? StepClass::pipeline_comm : StepClass::other_comm;
}

}  // namespace stepscope
