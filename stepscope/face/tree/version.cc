// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/tree/version.h"

namespace stepscope {

std::string_view version() { return STEPSCOPE_VERSION; }

}  // namespace stepscope
