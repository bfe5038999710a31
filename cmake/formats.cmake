# The list of formats: a file in src/report/formats is one, and its row is called like it.
file(GLOB format_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/report/formats/*.cc)
set(declared)
set(rows)
foreach(path ${format_files})
  get_filename_component(name ${path} NAME_WE)
  string(APPEND declared "extern const FormatRow ${name}_format;\n")
  string(APPEND rows "&${name}_format, ")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/format_rows.cc @ONLY CONTENT
"// Written by CMake from src/report/formats.
#include \"report/core/document.h\"

namespace opscope {

${declared}
static constexpr const FormatRow* kRows[] = {${rows}};

std::span<const FormatRow* const> format_rows() { return kRows; }

}  // namespace opscope
")
target_sources(opscope_core PRIVATE ${CMAKE_BINARY_DIR}/format_rows.cc)
