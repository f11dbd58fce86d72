# cmake -DPROGRAM=stepscope -DSHARE=DIR -P shell_files.cmake: what the program prints for man and for shells, as share/ has it.
function(printed file)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SHARE})
file(MAKE_DIRECTORY ${SHARE}/man/man1)
execute_process(COMMAND ${PROGRAM} man --all ${SHARE}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
printed(${SHARE}/bash-completion/completions/stepscope completion bash)
printed(${SHARE}/zsh/site-functions/_stepscope completion zsh)
printed(${SHARE}/fish/vendor_completions.d/stepscope.fish completion fish)
