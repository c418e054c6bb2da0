# Takes Emscripten's views of the memory out of the glue: nothing in it reads them, and the package has
# its own, made when they are needed.
file(READ "${GLUE}" glue)
string(REGEX REPLACE "function updateMemoryViews\\(\\){[^}]*}" "" glue "${glue}")
string(REPLACE "updateMemoryViews();" "" glue "${glue}")
string(REGEX REPLACE "(HEAP[FU]?[0-9]+,)+wasmMemory;" "wasmMemory;" glue "${glue}")
if(glue MATCHES "HEAP|updateMemoryViews")
  message(FATAL_ERROR "${GLUE}: something needs a view of the memory")
endif()
file(WRITE "${GLUE}" "${glue}")
