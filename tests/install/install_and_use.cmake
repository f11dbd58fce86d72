# Installs the build into a fresh prefix, moves the prefix (a package must not depend on its first place), builds the
# consumer against it, and runs the consumer and the installed command.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work}/born ${work}/prefix ${work}/consumer)
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/born)
file(RENAME ${work}/born ${work}/prefix)
run(${CMAKE_COMMAND} -S ${consumer} -B ${work}/consumer -G Ninja -D CMAKE_MAKE_PROGRAM=${ninja}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/consumer)
execute_process(COMMAND ${work}/consumer/consumer WORKING_DIRECTORY ${work} COMMAND_ERROR_IS_FATAL ANY)

execute_process(COMMAND ${work}/prefix/bin/stepscope --version
  OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "${version}")
  message(FATAL_ERROR "the installed command says '${printed}', not ${version}")
endif()

if(CMAKE_HOST_SYSTEM_NAME STREQUAL Linux)
  file(GLOB_RECURSE libraries ${work}/prefix/*.so)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../hardening/check_binaries.sh ${hardened}
    ${work}/prefix/bin/stepscope ${libraries} COMMAND_ERROR_IS_FATAL ANY)
endif()

foreach(file man/man1/stepscope.1 man/man1/stepscope-analyze.1 bash-completion/completions/stepscope
             zsh/site-functions/_stepscope fish/vendor_completions.d/stepscope.fish)
  if(NOT EXISTS ${work}/prefix/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()
