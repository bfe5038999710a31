# The torch that is installed for the Python in use: its include folders and libraries, found without
# find_package(Torch), which would ask for a CUDA toolkit on CUDA builds.
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c
          "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent)"
  OUTPUT_VARIABLE OPSCOPE_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "no torch in ${Python3_EXECUTABLE}: install it first (pip install torch==2.13.0)")
endif()
file(STRINGS ${OPSCOPE_TORCH_ROOT}/version.py version_line REGEX "^__version__")
string(REGEX REPLACE ".*'([^']+)'.*" "\\1" OPSCOPE_TORCH_VERSION "${version_line}")
set(OPSCOPE_TORCH_INCLUDE ${OPSCOPE_TORCH_ROOT}/include ${OPSCOPE_TORCH_ROOT}/include/torch/csrc/api/include)
message(STATUS "torch ${OPSCOPE_TORCH_VERSION} in ${OPSCOPE_TORCH_ROOT}")
