// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/step_class.h"

namespace stepscope {

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
