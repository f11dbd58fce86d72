target_compile_definitions(stepscope_pipeline PRIVATE STEPSCOPE_VERSION="${PROJECT_VERSION}")
# A verb runs once.
target_compile_options(stepscope_pipeline PRIVATE ${STEPSCOPE_COLD})
