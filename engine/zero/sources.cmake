# With liburing, io_uring reads and writes the files of the offload tier.
if(Uring_FOUND)
  target_link_libraries(stepscope_zero PRIVATE Uring::Uring)
  target_compile_definitions(stepscope_zero PRIVATE STEPSCOPE_IO_URING=1)
endif()
