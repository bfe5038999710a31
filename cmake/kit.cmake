# The engine's kit: the engine's sources, and the torch-free rest as archives, so that python/opscope/engines/compiling.py
# makes an engine for any torch with nothing but a compiler. A wheel holds it, and its own engines are made from it.
set(kit ${CMAKE_BINARY_DIR}/kit)
file(REMOVE_RECURSE ${kit})

# One file to compile for each of the engine's.
foreach(source ${engine_sources} ${binding_sources})
  if(IS_ABSOLUTE ${source})
    file(COPY ${source} DESTINATION ${kit}/units)
  else()
    string(REPLACE "/" "_" name ${source})
    string(REGEX REPLACE "^src/" "" included ${source})
    file(WRITE ${kit}/units/${name} "#include \"${included}\"\n")
  endif()
endforeach()
file(WRITE ${kit}/units/precompiled.h
     "#include \"torch/engine/torch_headers.h\"\n#include <torch/csrc/utils/pybind.h>\n")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} src/*.h src/torch/*.cc src/python/*.cc)
foreach(header ${headers})
  configure_file(${header} ${kit}/${header} COPYONLY)
endforeach()

set(libraries opscope_app opscope_op_times opscope_readers opscope_core)
get_target_property(op_times_definitions opscope_op_times INTERFACE_COMPILE_DEFINITIONS)
list(FILTER op_times_definitions EXCLUDE REGEX "NOTFOUND")
set(flags -std=c++20 ${CMAKE_CXX_FLAGS_RELEASE} -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
foreach(definition ${engine_definitions} ${binding_definitions} ${op_times_definitions} "OPSCOPE_VERSION=\"${PROJECT_VERSION}\"")
  list(APPEND flags "-D${definition}")
endforeach()
list(JOIN flags "\n" flags)
string(REPLACE " " "\n" flags "${flags}")
file(WRITE ${kit}/flags "${flags}\n")

# Names the kit: another source is another engine.
file(GLOB_RECURSE all CONFIGURE_DEPENDS src/* data/*)
set(hashes)
foreach(source ${all})
  file(SHA256 ${source} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}${flags}")
file(WRITE ${kit}/key "${PROJECT_VERSION} ${hash}\n")

set(archives)
foreach(library ${libraries} fmt::fmt simdjson::simdjson ZLIB::ZLIB SQLite::SQLite3)
  list(APPEND archives $<TARGET_FILE:${library}>)
endforeach()
add_custom_target(opscope_kit ALL
  COMMAND ${CMAKE_COMMAND} -E make_directory ${kit}/lib
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${archives} ${kit}/lib
  DEPENDS ${libraries} COMMAND_EXPAND_LISTS)
install(DIRECTORY ${kit} DESTINATION opscope/engines)
install(DIRECTORY ${OPSCOPE_LICENCES}/ DESTINATION opscope/licences)
install(DIRECTORY ${OPSCOPE_ENGINES}/ DESTINATION opscope/engines FILES_MATCHING PATTERN "_native*.so")
