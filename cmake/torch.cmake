# The torch that is installed for the Python in use: its include folders and libraries, found without
# find_package(Torch), which would ask for a CUDA toolkit on CUDA builds.
set(OPSCOPE_OLDEST_TORCH 2.8)
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c
          "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent)"
  OUTPUT_VARIABLE OPSCOPE_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "no torch in ${Python3_EXECUTABLE}: install it first (pip install torch)")
endif()
file(STRINGS ${OPSCOPE_TORCH_ROOT}/version.py version_line REGEX "^__version__")
string(REGEX REPLACE ".*'([^']+)'.*" "\\1" OPSCOPE_TORCH_VERSION "${version_line}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" release "${OPSCOPE_TORCH_VERSION}")
if(release VERSION_LESS OPSCOPE_OLDEST_TORCH)
  message(FATAL_ERROR "torch ${OPSCOPE_TORCH_VERSION} in ${Python3_EXECUTABLE} is too old: opscope needs torch "
                      "${OPSCOPE_OLDEST_TORCH} or newer (pip install 'torch>=${OPSCOPE_OLDEST_TORCH}')")
endif()
set(OPSCOPE_TORCH_INCLUDE ${OPSCOPE_TORCH_ROOT}/include ${OPSCOPE_TORCH_ROOT}/include/torch/csrc/api/include)
message(STATUS "torch ${OPSCOPE_TORCH_VERSION} in ${OPSCOPE_TORCH_ROOT}")
