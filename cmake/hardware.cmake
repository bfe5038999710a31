# The device files and what a calibration times as text in the library, so that an installed program needs no data
# folder.
function(embed_files folder extension function header)
  file(GLOB paths CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/${folder}/*.${extension})
  set(text "// Written by CMake from data/${folder}.\n#include <array>\n\n#include \"${header}\"\n\nnamespace opscope {\nnamespace {\n")
  list(LENGTH paths count)
  set(rows "")
  foreach(path ${paths})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME)
    file(READ ${path} content)
    string(MAKE_C_IDENTIFIER "k_${name}" constant)
    string(APPEND text "constexpr char ${constant}[] = R\"toml(${content})toml\";\n")
    string(APPEND rows "    {\"${name}\", {${constant}, sizeof ${constant} - 1}},\n")
  endforeach()
  string(APPEND text "constexpr std::array<EmbeddedFile, ${count}> kFiles{{\n${rows}}};\n}  // namespace\n\n")
  string(APPEND text "std::span<const EmbeddedFile> ${function}() { return kFiles; }\n\n}  // namespace opscope\n")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${folder}_files.cc CONTENT "${text}" @ONLY)
  target_sources(opscope_core PRIVATE ${CMAKE_BINARY_DIR}/${folder}_files.cc)
endfunction()

embed_files(hardware toml embedded_devices hardware/device.h)
embed_files(calls txt embedded_call_lists hardware/calibrate/call_list.h)

# The calibrations, packed by the reader that reads a user's: megabytes of text that no run has to read again. The packer
# is the library without them, so they are linked beside it; what links the library gets both.
file(GLOB calibrations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/calibrations/*.toml)
file(GLOB measured_lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/calibrations/*.calls)
set(packed_calibrations ${CMAKE_BINARY_DIR}/packed_calibrations.cc)
add_executable(opscope_packer src/hardware/packer/packer.cc)
add_dependencies(opscope_packer opscope_core)
target_include_directories(opscope_packer PRIVATE src)
target_link_libraries(opscope_packer PRIVATE $<TARGET_FILE:opscope_core> opscope_fmt opscope_warnings ${CMAKE_DL_LIBS})
add_custom_command(OUTPUT ${packed_calibrations} VERBATIM
                   COMMAND opscope_packer ${packed_calibrations} ${calibrations}
                   DEPENDS opscope_packer ${calibrations} ${measured_lists}
                   COMMENT "Packing the calibrations")
add_library(opscope_calibrations STATIC ${packed_calibrations})
set_target_properties(opscope_calibrations PROPERTIES UNITY_BUILD OFF)
target_include_directories(opscope_calibrations PRIVATE src)
target_link_libraries(opscope_core INTERFACE opscope_calibrations)
