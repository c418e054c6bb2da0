# attn_header_library(<target> <package> <version> <script>): makes <target>, an interface library
# with the headers of find_package's <package>, <version> or newer: installed, or in the per-user
# cache that the npm scripts fill, or fetched into it by the npm scripts' own step,
# wasm/toolchain/<script>, if Node is here. Where all of that fails, <target> is not made.
set(_attn_cache "$ENV{XDG_CACHE_HOME}")
if(NOT _attn_cache)
  set(_attn_cache "$ENV{HOME}/.cache")
endif()

macro(_attn_find_headers package version)
  file(GLOB _attn_hints "${_attn_cache}/attn/*")
  # Beside the system's copy lie the headers of the system's C library, which is another one than
  # that of a cross build.
  if(CMAKE_CROSSCOMPILING)
    set(_attn_elsewhere NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
  endif()
  find_package(${package} ${version} QUIET CONFIG HINTS ${_attn_hints} NO_CMAKE_FIND_ROOT_PATH
               ${_attn_elsewhere})
endmacro()

macro(attn_header_library target package version script)
  _attn_find_headers(${package} ${version})
  if(NOT ${package}_FOUND)
    find_program(_attn_node node)
    if(_attn_node)
      message(STATUS "${package} ${version} or newer is not installed; fetching its headers into "
                     "${_attn_cache}/attn")
      execute_process(COMMAND ${_attn_node} ${PROJECT_SOURCE_DIR}/wasm/toolchain/${script}
                      RESULT_VARIABLE _attn_fetched)
      _attn_find_headers(${package} ${version})
    endif()
  endif()
  if(${package}_FOUND)
    add_library(${target} INTERFACE)
    if(DEFINED ${package}_INCLUDE_DIRS)
      target_include_directories(${target} SYSTEM INTERFACE ${${package}_INCLUDE_DIRS})
    else()
      target_link_libraries(${target} INTERFACE ${package}::${package})
    endif()
  endif()
endmacro()
