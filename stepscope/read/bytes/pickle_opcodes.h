// SPDX-License-Identifier: Apache-2.0
// The opcodes of pickles, named as in Python's pickletools.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

enum class PickleOp : std::uint8_t {
  mark = '(',
  stop = '.',
  float_text = 'F',
  int_text = 'I',
  binint = 'J',
  binint1 = 'K',
  long_text = 'L',
  binint2 = 'M',
  none = 'N',
  reduce = 'R',
  string_text = 'S',
  binstring = 'T',
  short_binstring = 'U',
  unicode_text = 'V',
  binunicode = 'X',
  append = 'a',
  global = 'c',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  get = 'g',
  binget = 'h',
  long_binget = 'j',
  list = 'l',
  empty_list = ']',
  put = 'p',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  binfloat = 'G',
  binbytes = 'B',
  short_binbytes = 'C',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  memoize = 0x94,
  frame = 0x95,
  bytearray8 = 0x96
};

// The name of an opcode that is not plain data; empty if the byte is not an opcode.
[[nodiscard]] std::string_view refused_opcode(std::uint8_t byte);

}  // namespace stepscope
