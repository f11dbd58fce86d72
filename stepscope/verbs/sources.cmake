target_link_libraries(stepscope_verbs PRIVATE $<BUILD_INTERFACE:CLI11::CLI11>)
