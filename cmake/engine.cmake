# The capture engine (src/torch) and the Python module (src/python), against the installed torch.
opscope_rooms(engine_sources torch)
opscope_rooms(binding_sources python)
set(engine_definitions FMT_HEADER_ONLY=1)  # torch's headers have an fmt of their own, which its libraries do not export
set(binding_definitions TORCH_EXTENSION_NAME=_native)
if(OPSCOPE_CLI)
  list(APPEND binding_definitions OPSCOPE_READERS)
endif()
if(NOT OPSCOPE_ENGINE)
  return()
endif()

add_library(opscope_torch INTERFACE)
target_include_directories(opscope_torch SYSTEM INTERFACE ${OPSCOPE_TORCH_INCLUDE} ${Python3_INCLUDE_DIRS})
target_compile_definitions(opscope_torch INTERFACE ${engine_definitions})
target_link_directories(opscope_torch INTERFACE ${OPSCOPE_TORCH_ROOT}/lib)
target_link_libraries(opscope_torch INTERFACE c10 torch_cpu torch)

# Objects, not an archive: the linker would leave out files that only register kernels.
add_library(opscope_engine OBJECT ${engine_sources})
set_target_properties(opscope_engine PROPERTIES UNITY_BUILD OFF)
target_link_libraries(opscope_engine PRIVATE opscope_warnings)
target_link_libraries(opscope_engine PUBLIC opscope_core opscope_torch)
target_precompile_headers(opscope_engine PRIVATE src/torch/engine/torch_headers.h)

Python3_add_library(_native MODULE ${binding_sources})
set_target_properties(_native PROPERTIES UNITY_BUILD OFF)
if(OPSCOPE_CLI)
  target_link_libraries(_native PRIVATE opscope_readers)
endif()
target_link_libraries(_native PRIVATE opscope_app opscope_engine opscope_op_times torch_python opscope_warnings)
target_compile_definitions(_native PRIVATE ${binding_definitions} OPSCOPE_TORCH_VERSION="${OPSCOPE_TORCH_VERSION}")
target_precompile_headers(_native PRIVATE src/torch/engine/torch_headers.h <torch/csrc/utils/pybind.h>)
set_target_properties(_native PROPERTIES BUILD_WITH_INSTALL_RPATH ON
                      INSTALL_RPATH "$ORIGIN/../torch/lib")
install(TARGETS _native LIBRARY DESTINATION opscope)
