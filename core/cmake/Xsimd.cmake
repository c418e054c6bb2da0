# Defines attn_xsimd, the headers of xsimd 13.2 or newer.
include(${CMAKE_CURRENT_LIST_DIR}/HeaderLibrary.cmake)

attn_header_library(attn_xsimd xsimd 13.2 xsimd.js)
if(NOT TARGET attn_xsimd)
  include(FetchContent)
  # Without its CMakeLists.txt, whose install rules would become attn's: hence the subfolder.
  FetchContent_Declare(
    xsimd GIT_REPOSITORY https://github.com/xtensor-stack/xsimd.git GIT_TAG 13.2.0 GIT_SHALLOW ON
    SOURCE_SUBDIR include)
  FetchContent_MakeAvailable(xsimd)
  add_library(attn_xsimd INTERFACE)
  target_include_directories(attn_xsimd SYSTEM INTERFACE ${xsimd_SOURCE_DIR}/include)
endif()
