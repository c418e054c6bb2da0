# Writes the options of the glue's worker into the expression that starts it. Bundlers find workers
# by this expression, and Vite refuses options that it cannot read there. Newer Emscripten may
# already do so; then there is nothing to do.
file(READ "${GLUE}" glue)
string(
  REGEX
  REPLACE "import\\.meta\\.url\\), *workerOptions\\)"
          "import.meta.url),{type:\"module\",workerData:\"em-pthread\",name:\"em-pthread\"})"
          glue "${glue}")
if(NOT glue MATCHES "import\\.meta\\.url\\), *\\{")
  message(FATAL_ERROR "${GLUE}: found no worker whose options a bundler can read")
endif()
file(WRITE "${GLUE}" "${glue}")
