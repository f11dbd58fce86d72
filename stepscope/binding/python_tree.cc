// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/python_tree.h"

#include <cmath>

namespace nb = nanobind;

namespace stepscope::binding {

nb::object python_text(const std::string& text) {
  const std::string valid = valid_text(text);
  return nb::str(valid.data(), valid.size());
}

nb::object python_of(const Json& tree) {
  switch (tree.type()) {
    case Json::value_t::object: {
      nb::dict out;
      for (const auto& [key, v] : tree.items()) out[python_text(key)] = python_of(v);
      return out;
    }
    case Json::value_t::array: {
      nb::list out;
      for (const Json& v : tree) out.append(python_of(v));
      return out;
    }
    case Json::value_t::string:
      return python_text(tree.get_ref<const std::string&>());
    case Json::value_t::boolean:
      return nb::bool_(tree.get<bool>());
    case Json::value_t::number_integer:
      return nb::steal(PyLong_FromLongLong(tree.get<std::int64_t>()));
    case Json::value_t::number_unsigned:
      return nb::steal(PyLong_FromUnsignedLongLong(tree.get<std::uint64_t>()));
    case Json::value_t::number_float: {
      const double number = tree.get<double>();
      return std::isfinite(number) ? nb::object(nb::float_(number)) : nb::none();
    }
    default:
      return nb::none();
  }
}

}  // namespace stepscope::binding
