# The engine's kit: the engine's sources, and the torch-free rest as a library, so that python/opscope/engines/compiling.py
# makes an engine for any torch with nothing but a compiler. A wheel holds both, and its own engines are made from them.
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

# The torch-free part, once for all engines. What it links in is its own affair: another SQLite or zlib of the process is not touched.
set(objects)
foreach(library opscope_app opscope_op_times opscope_readers opscope_core opscope_calibrations)
  list(APPEND objects $<TARGET_OBJECTS:${library}>)
endforeach()
add_library(opscope_shared SHARED ${objects})
set_target_properties(opscope_shared PROPERTIES OUTPUT_NAME opscope UNITY_BUILD OFF LINKER_LANGUAGE CXX)
target_link_libraries(opscope_shared PRIVATE fmt::fmt simdjson::simdjson ZLIB::ZLIB SQLite::SQLite3 ${CMAKE_DL_LIBS})
target_link_options(opscope_shared PRIVATE -Wl,-Bsymbolic -Wl,--gc-sections
                    -Wl,--exclude-libs,libfmt.a:libsimdjson.a:libz.a:libsqlite3.a)
install(TARGETS opscope_shared LIBRARY DESTINATION opscope/engines)
install(DIRECTORY ${kit} DESTINATION opscope/engines)
install(DIRECTORY ${OPSCOPE_LICENCES}/ DESTINATION opscope/licences)
install(DIRECTORY ${OPSCOPE_ENGINES}/ DESTINATION opscope/engines FILES_MATCHING PATTERN "_native*.so")
