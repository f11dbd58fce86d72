// SPDX-License-Identifier: Apache-2.0
// Answers about names that come again: the ranks of a job run the same kernels. An object is of one
// thread. Its memory is bounded: it forgets all names when there are too many.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stepscope {

template <class Answer>
class NameMemo {
 public:
  // `find(name)` answers for a name that is not known yet. It must be a pure function.
  template <class Find>
  [[nodiscard]] Answer of(std::string_view name, Find&& find) {
    if (const auto at = known_.find(name); at != known_.end()) return at->second;
    const Answer answer = std::forward<Find>(find)(name);
    if (name.size() > longest) return answer;
    if (known_.size() >= most) known_.clear();
    known_.emplace(name, answer);
    return answer;
  }

 private:
  static constexpr std::size_t most = 4096;     // names
  static constexpr std::size_t longest = 1024;  // bytes of a name
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  std::unordered_map<std::string, Answer, Hash, std::equal_to<>> known_;
};

}  // namespace stepscope
