# Without oneDNN, the build has no code of onednn.cc.
if(Dnnl_FOUND)
  target_compile_definitions(stepscope_nn PRIVATE STEPSCOPE_HAS_ONEDNN)
  target_link_libraries(stepscope_nn PRIVATE Dnnl::Dnnl ${CMAKE_DL_LIBS})
endif()
# Only fma() in the kernels may join a product and a sum into one rounding: an element's result must not depend on
# whether a vector loop or its tail computed it.
target_compile_options(stepscope_nn PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O3>)
