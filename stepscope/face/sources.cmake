# The page of a report, generated into the build directory and compiled into the library: esbuild joins
# the modules that page/main.js imports into one script, embed.cmake writes the whole as bytes.
find_program(STEPSCOPE_ESBUILD NAMES esbuild DOC "esbuild, which joins the page's modules")
if(NOT STEPSCOPE_ESBUILD)
  message(FATAL_ERROR "esbuild is needed for the report page: apt install esbuild, or -DSTEPSCOPE_ESBUILD=PATH")
endif()
set(page_dir ${CMAKE_CURRENT_LIST_DIR}/page)
file(GLOB_RECURSE page_modules CONFIGURE_DEPENDS ${page_dir}/*.js)
list(FILTER page_modules EXCLUDE REGEX "_test\\.js$")
set(page_script ${PROJECT_BINARY_DIR}/generated/page_script.js)
set(page_shell ${PROJECT_BINARY_DIR}/generated/page_shell.cc)
add_custom_command(OUTPUT ${page_script}
  COMMAND ${STEPSCOPE_ESBUILD} ${page_dir}/main.js --bundle --format=iife "--banner:js='use strict'$<SEMICOLON>"
          --charset=utf8 --log-level=warning --outfile=${page_script}
  WORKING_DIRECTORY ${page_dir} DEPENDS ${page_modules} ${page_dir}/package.json
  COMMENT "Bundling the report page" VERBATIM)
add_custom_command(OUTPUT ${page_shell}
  COMMAND ${CMAKE_COMMAND} -DPAGE_DIR=${page_dir} -DSCRIPT=${page_script} -DOUTPUT=${page_shell} -P ${page_dir}/embed.cmake
  DEPENDS ${page_script} ${page_dir}/page.html ${page_dir}/page.css ${page_dir}/charts.css ${page_dir}/embed.cmake
  COMMENT "Embedding the report page" VERBATIM)
target_sources(stepscope_face PRIVATE ${page_shell})
target_link_libraries(stepscope_face PRIVATE $<BUILD_INTERFACE:CLI11::CLI11>)
target_compile_definitions(stepscope_face PRIVATE STEPSCOPE_VERSION="${PROJECT_VERSION}")
