# A product and a sum become one rounding where the kernels say fma(), nowhere else: an element's result must not
# depend on whether a vector loop or its tail computed it.
target_compile_options(stepscope_nn PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O3>)
