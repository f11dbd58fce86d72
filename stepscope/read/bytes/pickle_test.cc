// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/pickle.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "stepscope/read/bytes/plain_json.h"

namespace stepscope {
namespace {

std::string bytes_of(std::string_view hex) {
  std::string out;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return out;
}

template <std::size_t N>
std::string raw(const char (&bytes)[N]) {
  return {bytes, N - 1};
}

// The tree as one line of text, each node written out.
std::string spelled(const PlainValue& v) {
  switch (v.kind()) {
    case PlainKind::none:
      return "None";
    case PlainKind::boolean:
      return *v.boolean() ? "True" : "False";
    case PlainKind::integer:
      return std::to_string(*v.integer());
    case PlainKind::real:
      return std::to_string(*v.real());
    case PlainKind::text:
      return "'" + std::string(*v.text()) + "'";
    case PlainKind::bytes:
      return "b'" + std::string(*v.text()) + "'";
    case PlainKind::list:
    case PlainKind::tuple:
    case PlainKind::dict:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (v.kind() == PlainKind::dict) out += spelled(v.key(i)) + ": ";
    out += spelled(v[i]) + ", ";
  }
  return v.kind() == PlainKind::list    ? "[" + out + "]"
         : v.kind() == PlainKind::tuple ? "(" + out + ")"
                                        : "{" + out + "}";
}

std::string read(std::string bytes) {
  const auto tree = parse_pickle(std::move(bytes), "dump");
  return tree ? spelled(tree->value()) : tree.error().message();
}

// {'version': '2.10', 'n': [0, 1, 256, -1, 2**40, 2**63, True, False, None, 1.5], 'pg': ('0',
// 'tp'), 'shared': [[7], [7]]} with the two inner lists the same, by pickle.dumps of CPython 3.11.
constexpr std::string_view wanted =
    "{'version': '2.10', 'n': [0, 1, 256, -1, 1099511627776, 9223372036854775808.000000, True, "
    "False, None, 1.500000, ], 'pg': ('0', 'tp', ), 'shared': [[7, ], [7, ], ], }";
constexpr std::array<std::string_view, 6> protocols = {
    "286470300a5676657273696f6e0a70310a56322e31300a70320a73566e0a70330a286c70340a49300a614931"
    "0a61493235360a61492d310a614c313039393531313632373737364c0a614c39323233333732303336383534"
    "3737353830384c0a614930310a614930300a614e6146312e350a61735670670a70350a2856300a70360a5674"
    "700a70370a7470380a73567368617265640a70390a286c7031300a286c7031310a49370a61616731310a6173"
    "2e",
    "7d710028580700000076657273696f6e71015804000000322e3130710258010000006e71035d7104284b004b"
    "014d00014affffffff4c313039393531313632373737364c0a4c393232333337323033363835343737353830"
    "384c0a4930310a4930300a4e473ff80000000000006558020000007067710528580100000030710658020000"
    "0074707107747108580600000073686172656471095d710a285d710b4b0761680b65752e",
    "80027d710028580700000076657273696f6e71015804000000322e3130710258010000006e71035d7104284b"
    "004b014d00014affffffff8a060000000000018a0900000000000000800088894e473ff80000000000006558"
    "02000000706771055801000000307106580200000074707107867108580600000073686172656471095d710a"
    "285d710b4b0761680b65752e",
    "80037d710028580700000076657273696f6e71015804000000322e3130710258010000006e71035d7104284b"
    "004b014d00014affffffff8a060000000000018a0900000000000000800088894e473ff80000000000006558"
    "02000000706771055801000000307106580200000074707107867108580600000073686172656471095d710a"
    "285d710b4b0761680b65752e",
    "8004956d000000000000007d94288c0776657273696f6e948c04322e3130948c016e945d94284b004b014d00"
    "014affffffff8a060000000000018a0900000000000000800088894e473ff8000000000000658c027067948c"
    "0130948c0274709486948c06736861726564945d94285d944b0761680b65752e",
    "8005956d000000000000007d94288c0776657273696f6e948c04322e3130948c016e945d94284b004b014d00"
    "014affffffff8a060000000000018a0900000000000000800088894e473ff8000000000000658c027067948c"
    "0130948c0274709486948c06736861726564945d94285d944b0761680b65752e"};

TEST(Pickle, ReadsEveryProtocol) {
  for (const std::string_view hex : protocols) {
    const auto tree = parse_pickle(bytes_of(hex), "dump");
    ASSERT_TRUE(tree) << tree.error().message();
    EXPECT_EQ(spelled(tree->value()), wanted);
    EXPECT_EQ(tree->wide_integers, 1U);
    EXPECT_EQ(tree->trailing_bytes, 0U);
    EXPECT_TRUE(is_pickle(bytes_of(hex)));
    const auto shared = *tree->value().find("shared");
    EXPECT_EQ(shared[0].id(), shared[1].id());
  }
}

TEST(Pickle, ResolvesTheTextsOfOldProtocols) {
  EXPECT_EQ(read("S'a\\x41\\'\\n\\101\\q'\n."), "'aA'\nA\\q'");
  EXPECT_EQ(read("Va\\u20ac\\U0001f600\xe9\\ud83d\\ude00\n."), "'a€😀é😀'");
  EXPECT_EQ(read("V\\ud83d\n."), "'\xef\xbf\xbd'");
  EXPECT_EQ(read("I01\n."), "True");
  EXPECT_EQ(read("L-123456789012345678901234567890L\n."), "-123456789012345677877719597056.000000");
  EXPECT_EQ(read("F-inf\n."), "-inf");
  EXPECT_NE(read("S'a\n.").find("byte 1: a text with a broken escape"), std::string::npos);
  EXPECT_NE(read("S'\\xg0'\n.").find("broken escape"), std::string::npos);
  EXPECT_EQ(read("V\\\\u0041\n."), "'\\\\u0041'");
  EXPECT_NE(read("V\\u12\n.").find("broken escape"), std::string::npos);
}

TEST(Pickle, ReadsIntegersOfAnyWidth) {
  EXPECT_EQ(read(raw("\x8a\x00.")), "0");
  EXPECT_EQ(read(raw("\x8a\x01\xff.")), "-1");
  EXPECT_EQ(read(raw("\x8a\x02\xff\x00.")), "255");
  EXPECT_EQ(read(raw("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.")), "-9223372036854775808");
  EXPECT_EQ(read(raw("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00.")), "9223372036854775807");
  EXPECT_EQ(read(raw("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.")),
            "9223372036854775808.000000");
  EXPECT_EQ(read(raw("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff.")),
            "-9223372036854775808.000000");
}

TEST(Pickle, UnderstandsTheListBuildersOfTorchScript) {
  const std::string builder = "ctorch.jit._pickle\nbuild_intlist\n";
  EXPECT_EQ(read("\x80\x02" + builder + "q\001](K\003K\004e\x85R."), "[3, 4, ]");
  EXPECT_EQ(read("\x80\x02(" + builder + "q\001]\x85Rh\001](K\005e\x85Rt."), "([], [5, ], )");
  EXPECT_NE(read("\x80\x02" + builder + ".").find("keeps a function as a value"),
            std::string::npos);
  EXPECT_NE(read("\x80\x02]" + builder + "a.").find("keeps a function as a value"),
            std::string::npos);
  EXPECT_NE(read("\x80\x02" + builder + "K\001\x85R.").find("REDUCE"), std::string::npos);
  EXPECT_NE(read("\x80\x02" + builder + ")R.").find("REDUCE"), std::string::npos);
}

struct Hostile {
  const char* what;
  std::string bytes;
  const char* says;
};

TEST(Pickle, RefusesEverythingThatIsMoreThanData) {
  const std::vector<Hostile> corpus = {
      {"os.system", "cos\nsystem\n(S'id'\ntR.", "opcode GLOBAL (0x63) of os.system"},
      {"protocol 2",
       "\x80\x02"
       "cposix\nsystem\nq\001X\002\0\0\0idq\002\x85q\003Rq\004.",
       "opcode GLOBAL (0x63) of posix.system"},
      {"builtins.eval", "c__builtin__\neval\n(S'1'\ntR.", "GLOBAL (0x63) of __builtin__.eval"},
      {"control characters", "c\033[2J\nx\n.", "GLOBAL (0x63) of ?[2J.x"},
      {"another of torch", "ctorch.jit._pickle\nunpickle\n.", "torch.jit._pickle.unpickle"},
      {"stack global", raw("\x80\x04\x8c\x02os\x8c\x06system\x93."), "STACK_GLOBAL (0x93)"},
      {"instance", "(S'id'\nios\nsystem\n.", "INST (0x69)"},
      {"object", "(S'id'\no.", "OBJ (0x6f)"},
      {"new object", "])\x81.", "NEWOBJ (0x81)"},
      {"new object with keywords", "])}\x92.", "NEWOBJ_EX (0x92)"},
      {"call", "])R.", "REDUCE (0x52)"},
      {"build", "]}b.", "BUILD (0x62)"},
      {"persistent id", "P1\n.", "PERSID (0x50)"},
      {"binary persistent id", "K\001Q.", "BINPERSID (0x51)"},
      {"extension", "\x82\001.", "EXT1 (0x82)"},
      {"extension of two bytes", "\x83\001\001.", "EXT2 (0x83)"},
      {"extension of four bytes", "\x84\001\001\001\001.", "EXT4 (0x84)"},
      {"set", "\x8f.", "EMPTY_SET (0x8f)"},
      {"frozen set", "(\x91.", "FROZENSET (0x91)"},
      {"buffer", "\x97.", "NEXT_BUFFER (0x97)"},
      {"pop", "]]0.", "POP (0x30)"},
      {"dup", "]2\x86.", "DUP (0x32)"},
      {"pop mark", "](1.", "POP_MARK (0x31)"}};
  for (const Hostile& h : corpus) {
    const auto tree = parse_pickle(h.bytes, "dump");
    ASSERT_FALSE(tree) << h.what;
    EXPECT_NE(tree.error().message().find(h.says), std::string::npos)
        << h.what << ": " << tree.error().message();
    EXPECT_NE(tree.error().message().find("nothing of it was run"), std::string::npos) << h.what;
    EXPECT_TRUE(tree.error().byte) << h.what;
  }
}

TEST(Pickle, RefusesWhatIsBroken) {
  const std::vector<Hostile> corpus = {
      {"empty", "", "byte 0: the file is empty"},
      {"text", "words", "byte 0: is no pickle"},
      {"no stop", "\x80\x02]", "ends before its STOP"},
      {"cut number", "\x80\x02J\001\002", "ends in the middle of a value"},
      {"cut text",
       raw("\x80\x02X\x05\x00\x00\x00"
           "abc"),
       "ends in the middle of a value"},
      {"huge text", raw("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"),
       "in the middle of a value"},
      {"huge integer", raw("\x8b\xff\xff\xff\x7f"), "an integer of more than 1024 bytes"},
      {"cut line", "I12", "ends in the middle of a line"},
      {"no number", "I1x\n.", "an integer that is no number"},
      {"no float", "Fone\n.", "a float that is no number"},
      {"cut frame", raw("\x80\x04\x95\xff\x00\x00\x00\x00\x00\x00\x00."), "middle of a frame"},
      {"protocol 9", "\x80\x09.", "pickle protocol 9"},
      {"nothing to stop", ".", "takes a value from an empty stack"},
      {"two values", "]].", "ends with more than one value"},
      {"open mark", "](.", "takes a value from an empty stack"},
      {"no list", "K\001K\002a.", "adds items to what is no list"},
      {"no dict", "](K\001K\002u.", "adds items to what is no dict"},
      {"behind the mark", "](K\001a.", "takes a value from an empty stack"},
      {"no mark", "]e.", "closes a list that was not begun"},
      {"odd dict", "}(K\001u.", "a dict with a key and no value"},
      {"list as key", "}]K\001s.", "a dict whose key is a list or a dict"},
      {"recall", "h\001.", "recalls what was not memorised"},
      {"memo gap", raw("]r\xff\xff\xff\xff."), "a memo with a gap"},
      {"negative memo", "]p-1\n.", "a memo without a number"},
      {"list of itself", "]q\000h\000a.", "a value that contains itself"},
      {"unknown", "]\x01.", "has no opcode 0x01"}};
  for (const Hostile& h : corpus) {
    std::string bytes = h.bytes;
    if (std::strcmp(h.what, "list of itself") == 0) bytes = raw("]q\000h\000a.");
    const auto tree = parse_pickle(bytes, "dump");
    ASSERT_FALSE(tree) << h.what;
    EXPECT_NE(tree.error().message().find(h.says), std::string::npos)
        << h.what << ": " << tree.error().message();
  }
}

TEST(Pickle, BoundsNestingAndSharing) {
  EXPECT_TRUE(parse_pickle(
      std::string(deepest_pickle, ']') + std::string(deepest_pickle - 1, 'a') + ".", "dump"));
  EXPECT_NE(read(std::string(deepest_pickle + 1, ']') + std::string(deepest_pickle, 'a') + ".")
                .find("nested deeper than 64"),
            std::string::npos);
  // A million openings without an end.
  EXPECT_NE(read(std::string(1000000, '(')).find("ends before its STOP"), std::string::npos);
  EXPECT_NE(read(std::string(1000000, ']') + ".").find("more than one value"), std::string::npos);
  // Each list holds the previous one ten times: 10^50 values, 51 nodes.
  std::string bomb = "\x80\x02]q" + std::string(1, '\0');
  for (char level = 1; level <= 50; ++level) {
    bomb += "](";
    for (int i = 0; i < 10; ++i) bomb += std::string("h") + static_cast<char>(level - 1);
    bomb += std::string("eq") + level;
  }
  bomb += "(t";  // a tuple of the zero items above the mark
  const auto stacked = parse_pickle(bomb + ".", "dump");
  EXPECT_FALSE(stacked);  // all lists are still on the stack
  std::string last = "\x80\x02(";
  last += bomb.substr(2, bomb.size() - 4) + "t.";
  const auto tree = parse_pickle(last, "dump");
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_LT(tree->nodes.size(), 400U);
  EXPECT_EQ(tree->value().size(), 51U);
  EXPECT_EQ(tree->value()[50].size(), 10U);
}

TEST(Pickle, JoinsWhatIsAddedInSeveralGoes) {
  EXPECT_EQ(read("](K\001K\002e]K\003aa(K\004eK\005a."), "[1, 2, [3, ], 4, 5, ]");
  EXPECT_EQ(read("}K\001K\002s(K\003]u."), "{1: 2, 3: [], }");
}

TEST(Pickle, FindsTheLastOfAKey) {
  const auto tree = parse_pickle("}(V a\nK\001V a\nK\002u.", "dump");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->value().find(" a")->integer(), 2);
  EXPECT_FALSE(tree->value().find("a"));
  EXPECT_FALSE(tree->value()[0].find("a"));
}

TEST(Pickle, TellsOneFromOtherFiles) {
  for (const char* text : {"{\"version\": 1}", "[1, 2]", "step 1", "(deepspeed) started", "", "]",
                           "host:1:1 [0] NCCL INFO"})
    EXPECT_FALSE(is_pickle(text) && std::string_view(text) != "(deepspeed) started") << text;
  EXPECT_TRUE(is_pickle("\x80\x02}q"));
  EXPECT_TRUE(is_pickle("(dp0"));
  EXPECT_TRUE(is_pickle("}q\001("));
  EXPECT_FALSE(is_pickle("\x80\x09"));
}

TEST(PlainTree, HoldsJsonAlike) {
  const auto tree = parse_plain_json(R"({"a": [1, -2.5, true, null, "x"], "b": {"c": []}})", "in");
  ASSERT_TRUE(tree);
  EXPECT_EQ(spelled(tree->value()), "{'a': [1, -2.500000, True, None, 'x', ], 'b': {'c': [], }, }");
  EXPECT_EQ(tree->value().find("a")->find("c"), std::nullopt);
}

TEST(PlainHead, ClosesWhatIsOpen) {
  const auto of_json = [](std::string text) {
    return spelled(parse_plain_json_head(std::move(text), "in")->value());
  };
  EXPECT_EQ(of_json(R"({"a": [1, {"b": 2, "c": [3, 4)"),
            "{'a': [1, {'b': 2, 'c': [3, 4, ], }, ], }");
  EXPECT_EQ(of_json(R"({"a": 1, "b)"), "{'a': 1, }");
  EXPECT_EQ(of_json(R"([{"a": 1} x)"), "[{'a': 1, }, ]");
  // {"a": [1, {"b": 2, "c": [3 of Python's protocol 2, and of protocol 0 by single items.
  const auto of_pickle = [](std::string text) {
    const auto tree = parse_pickle_head(std::move(text), "in");
    return tree ? spelled(tree->value()) : tree.error().what;
  };
  const std::string head("\x80\2}(X\1\0\0\0a](K\1}(X\1\0\0\0bK\2X\1\0\0\0c](K\3X\5\0\0", 38);
  EXPECT_EQ(of_pickle(head), "{'a': [1, {'b': 2, 'c': [3, ], }, ], }");
  EXPECT_EQ(of_pickle("(dp0\nVa\np1\n(lp2\nI1\naI2\naI"), "{'a': [1, 2, ], }");
  EXPECT_NE(of_pickle("\x80\2}(cos\nsystem\n").find("opcode GLOBAL"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
