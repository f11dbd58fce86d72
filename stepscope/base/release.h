// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepscope {

// Empties a container and frees its memory. `c = {}` keeps a vector's memory: it assigns an empty
// list.
template <class Container>
void release(Container& c) {
  c = Container();
}

}  // namespace stepscope
