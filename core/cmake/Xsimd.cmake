# Defines the target attn_xsimd, which provides the headers of xsimd 13.2 or newer. Looks for these
# headers in the system, in xsimd_DIR and CMAKE_PREFIX_PATH, and in the user's cache folder, where
# the npm scripts put them. If the headers are in none of these places, CMake fetches them.
set(_attn_cache "$ENV{XDG_CACHE_HOME}")
if(NOT _attn_cache)
  set(_attn_cache "$ENV{HOME}/.cache")
endif()
file(GLOB _attn_hints "${_attn_cache}/attn/*")
# A cross build must not use the system's copy of xsimd, because the same folder contains the
# headers of the system's C library, and a cross build has a different C library.
if(CMAKE_CROSSCOMPILING)
  set(_attn_elsewhere NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
endif()
find_package(xsimd 13.2 QUIET CONFIG HINTS ${_attn_hints} NO_CMAKE_FIND_ROOT_PATH
             ${_attn_elsewhere})

add_library(attn_xsimd INTERFACE)
if(NOT xsimd_FOUND)
  message(
    NOTICE
    "attn needs the headers of xsimd 13.2 or newer. None were found, so CMake fetches them from GitHub. "
    "If that fails, install them (Debian 13: libxsimd-dev; Debian 12's version is too old) or pass the "
    "folder of xsimdConfig.cmake with -Dxsimd_DIR=<folder>.")
  include(FetchContent)
  # SOURCE_SUBDIR names a folder without a CMakeLists.txt, because xsimd's own CMakeLists.txt would
  # add its install rules to attn's.
  FetchContent_Declare(
    xsimd GIT_REPOSITORY https://github.com/xtensor-stack/xsimd.git GIT_TAG 13.2.0 GIT_SHALLOW ON
    SOURCE_SUBDIR include)
  FetchContent_MakeAvailable(xsimd)
  target_include_directories(attn_xsimd SYSTEM INTERFACE ${xsimd_SOURCE_DIR}/include)
elseif(DEFINED xsimd_INCLUDE_DIRS)
  target_include_directories(attn_xsimd SYSTEM INTERFACE ${xsimd_INCLUDE_DIRS})
else()
  target_link_libraries(attn_xsimd INTERFACE xsimd::xsimd)
endif()
