// SPDX-License-Identifier: Apache-2.0
// Texts with types in all kinds of places. Types that other files can see are found, and a name
// that two files define is a fault.
#include "tests/tree/type_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope::tree {
namespace {

using Lines = std::vector<std::string>;

Lines names_of(const std::string& text) {
  Lines names;
  for (const TypeName& type : defined_types(parse_source("stepscope/a/a.h", text))) {
    names.push_back(type.name);
  }
  return names;
}

TEST(TypeNames, DefinitionsOfEachKindAreFoundByTheirNamespaces) {
  EXPECT_EQ(names_of("namespace a::b {\n"
                     "struct One { int x = 0; };\n"
                     "class [[nodiscard]] Two final : public One, private Other<int> {};\n"
                     "enum class Three : std::uint8_t { x, y };\n"
                     "union Four { int a; float b; };\n"
                     "namespace c {\nstruct alignas(64) Five {};\n}\n"
                     "using Six = std::vector<int>;\n"
                     "template <class T, typename U>\nstruct Seven { T t; };\n"
                     "}\nstruct Eight {};\n"),
            (Lines{"a::b::One", "a::b::Two", "a::b::Three", "a::b::Four", "a::b::c::Five",
                   "a::b::Six", "a::b::Seven", "Eight"}));
}

TEST(TypeNames, WhatIsNoDefinitionOrNobodyElsesIsNot) {
  EXPECT_EQ(names_of("namespace a {\n"
                     "struct One;\nenum class Two : int;\nclass Three;\n"
                     "struct stat now();\n"
                     "inline int f(struct stat s) { struct Local { int x; }; return s.x; }\n"
                     "using std::vector;\nusing namespace other;\nnamespace z = other::z;\n"
                     "// struct Four {};\n/* struct Five {};\nstruct Six {}; */\n"
                     "#define TYPE \\\n  struct Seven {}\n"
                     "inline const char* text = \"struct Eight {\";\n"
                     "inline char brace = '{';\ninline int many = 1'000'000;\n"
                     "inline auto raw = R\"x(struct Nine {\n)x\";\n"
                     "namespace {\nstruct Ten {};\n}\n"
                     "struct Outer { struct Inner {}; enum class E { a }; };\n}\n"),
            Lines{"a::Outer"});
}

TEST(TypeNames, SpecializationsAndNestedTypesHaveNamesOfTheirOwn) {
  EXPECT_EQ(names_of("namespace a {\nstruct Engine::Progress {};\n"
                     "template <>\nstruct Hash<Ns> {};\ntemplate <>\nstruct Hash<Bytes> {};\n}\n"),
            (Lines{"a::Engine::Progress", "a::Hash<Ns>", "a::Hash<Bytes>"}));
}

TEST(TypeNames, ANameThatTwoFilesDefineIsAFault) {
  std::vector<SourceFile> files{
      parse_source("stepscope/a/a.h", "namespace s {\nstruct Link { int a; };\n}\n"),
      parse_source("stepscope/b/b.h", "namespace s {\nstruct Link;\nstruct Other {};\n}\n"),
      parse_source("stepscope/c/c.h", "namespace s::c {\nstruct Link { int b; };\n}\n"),
      parse_source("stepscope/d/d.cc", "namespace s {\nnamespace {\nstruct Link {};\n}\n}\n")};
  EXPECT_EQ(types_defined_twice(files), Lines{});
  files.push_back(parse_source("stepscope/e/e.h", "namespace s {\n\nstruct Link { int c; };\n}\n"));
  EXPECT_EQ(types_defined_twice(files),
            Lines{"stepscope/e/e.h:3: s::Link is another type in stepscope/a/a.h:2"});
}

}  // namespace
}  // namespace stepscope::tree
