# With liburing, io_uring reads and writes the files of the offload tier.
if(Uring_FOUND)
  target_link_libraries(stepscope_zero PRIVATE Uring::Uring)
  target_compile_definitions(stepscope_zero PRIVATE STEPSCOPE_IO_URING=1)
endif()

# With STEPSCOPE_CUDA, device memory is a tier of offload. NVIDIA's driver is loaded at run time, so only its header is
# needed here, and the program also runs on machines without the driver.
if(STEPSCOPE_CUDA)
  target_include_directories(stepscope_zero SYSTEM PRIVATE ${CUDA_DRIVER_INCLUDE_DIR})
  target_compile_definitions(stepscope_zero PRIVATE STEPSCOPE_CUDA)
  target_link_libraries(stepscope_zero PRIVATE ${CMAKE_DL_LIBS})
endif()
