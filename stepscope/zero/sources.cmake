# Files of the offload tier are read and written by io_uring where liburing is there.
if(Uring_FOUND)
  target_link_libraries(stepscope_zero PRIVATE Uring::Uring)
  target_compile_definitions(stepscope_zero PRIVATE STEPSCOPE_IO_URING=1)
endif()
