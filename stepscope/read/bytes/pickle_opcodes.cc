// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/pickle_opcodes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope {

std::string_view refused_opcode(std::uint8_t byte) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 23> refused = {
      {{'0', "POP"},           {'1', "POP_MARK"},     {'2', "DUP"},
       {'P', "PERSID"},        {'Q', "BINPERSID"},    {'R', "REDUCE"},
       {'b', "BUILD"},         {'c', "GLOBAL"},       {'i', "INST"},
       {'o', "OBJ"},           {0x81, "NEWOBJ"},      {0x82, "EXT1"},
       {0x83, "EXT2"},         {0x84, "EXT4"},        {0x8f, "EMPTY_SET"},
       {0x90, "ADDITEMS"},     {0x91, "FROZENSET"},   {0x92, "NEWOBJ_EX"},
       {0x93, "STACK_GLOBAL"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
       {0x95, "FRAME"},        {0x80, "PROTO"}}};
  const auto* const found =
      std::ranges::find(refused, byte, &std::pair<std::uint8_t, std::string_view>::first);
  return found == refused.end() ? std::string_view() : found->second;
}

}  // namespace stepscope
