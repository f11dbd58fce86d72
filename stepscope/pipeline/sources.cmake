target_compile_definitions(stepscope_pipeline PRIVATE STEPSCOPE_VERSION="${PROJECT_VERSION}")
