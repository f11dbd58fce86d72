# Only fma() in the kernels may join a product and a sum into one rounding: an element's result must not depend on
# whether a vector loop or its tail computed it.
target_compile_options(stepscope_nn PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O3>)
