# The page's bytes, generated into the build directory and compiled into the library.
include(${CMAKE_CURRENT_LIST_DIR}/page/files.cmake)
set(page_dir ${CMAKE_CURRENT_LIST_DIR}/page)
set(page_files ${PAGE_STYLES} ${PAGE_SCRIPTS})
list(TRANSFORM page_files PREPEND ${page_dir}/)
set(page_shell ${PROJECT_BINARY_DIR}/generated/page_shell.cc)
add_custom_command(OUTPUT ${page_shell}
  COMMAND ${CMAKE_COMMAND} -DPAGE_DIR=${page_dir} -DOUTPUT=${page_shell} -P ${page_dir}/embed.cmake
  DEPENDS ${page_dir}/page.html ${page_files} ${page_dir}/embed.cmake ${page_dir}/files.cmake
  COMMENT "Embedding the report page" VERBATIM)
target_sources(stepscope_report PRIVATE ${page_shell})
# Text is written once.
target_compile_options(stepscope_report PRIVATE ${STEPSCOPE_COLD})
