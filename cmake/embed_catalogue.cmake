# cmake -DKIND=machine -DDIR=data/machines -DOUT=machine_data.cc -P embed_catalogue.cmake: writes the JSON, text, Markdown and
# tab-separated files of a folder as C++ string literals, and the function KIND_texts() that returns them.
file(GLOB files ${DIR}/*.json ${DIR}/*.txt ${DIR}/*.tsv ${DIR}/*.md)
list(SORT files)
set(text "#include \"stepscope/base/embedded_text.h\"\n\nnamespace stepscope {\nnamespace {\n")
# With "sv" the compiler need not count the characters of a long text.
string(APPEND text "using namespace std::string_view_literals;\n\n")
string(APPEND text "constexpr EmbeddedText texts[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "    {\"${name}\", R\"file(${content})file\"sv},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\n")
string(APPEND text "std::span<const EmbeddedText> ${KIND}_texts();\n")
string(APPEND text "std::span<const EmbeddedText> ${KIND}_texts() { return texts; }\n\n}  // namespace stepscope\n")
file(WRITE ${OUT} "${text}")
