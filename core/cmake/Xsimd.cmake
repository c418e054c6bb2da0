# Defines attn_xsimd, the headers of xsimd 13.2 or newer: installed, or in the per-user cache that the
# npm scripts fill, or fetched by the npm scripts' own step if Node is here, or from its repository.
set(_attn_cache "$ENV{XDG_CACHE_HOME}")
if(NOT _attn_cache)
  set(_attn_cache "$ENV{HOME}/.cache")
endif()

macro(_attn_find_xsimd)
  file(GLOB _attn_xsimd_hints "${_attn_cache}/attn/xsimd-*")
  find_package(xsimd 13.2 QUIET CONFIG HINTS ${_attn_xsimd_hints} NO_CMAKE_FIND_ROOT_PATH)
endmacro()

_attn_find_xsimd()
if(NOT xsimd_FOUND)
  find_program(_attn_node node)
  if(_attn_node)
    message(STATUS "xsimd 13.2 or newer is not installed; fetching its headers into ${_attn_cache}/attn")
    execute_process(COMMAND ${_attn_node} ${PROJECT_SOURCE_DIR}/wasm/toolchain/xsimd.js
                    RESULT_VARIABLE _attn_fetched)
    _attn_find_xsimd()
  endif()
endif()

add_library(attn_xsimd INTERFACE)
if(xsimd_FOUND)
  target_include_directories(attn_xsimd SYSTEM INTERFACE ${xsimd_INCLUDE_DIRS})
else()
  include(FetchContent)
  FetchContent_Declare(
    xsimd GIT_REPOSITORY https://github.com/xtensor-stack/xsimd.git GIT_TAG 13.2.0 GIT_SHALLOW ON)
  FetchContent_GetProperties(xsimd)
  if(NOT xsimd_POPULATED)
    FetchContent_Populate(xsimd)
  endif()
  target_include_directories(attn_xsimd SYSTEM INTERFACE ${xsimd_SOURCE_DIR}/include)
endif()
