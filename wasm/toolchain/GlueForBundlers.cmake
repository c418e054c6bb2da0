# Changes what bundlers cannot read in the glue of a variant with threads. Newer Emscripten may already
# write it so; then there is nothing to do.
file(READ "${GLUE}" glue)

# Bundlers find workers by the expression that starts them, and Vite refuses options that it cannot
# read there.
string(
  REGEX
  REPLACE "import\\.meta\\.url\\), *workerOptions\\)"
          "import.meta.url),{type:\"module\",workerData:\"em-pthread\",name:\"em-pthread\"})"
          glue "${glue}")
if(NOT glue MATCHES "import\\.meta\\.url\\), *\\{")
  message(FATAL_ERROR "${GLUE}: found no worker whose options a bundler can read")
endif()

# Webpack looks for Node's own modules and fails, though only Node ever reaches these imports.
string(REGEX REPLACE "await import\\([\"'](module|worker_threads)[\"']\\)"
                     "process.getBuiltinModule(\"\\1\")" glue "${glue}")
if(glue MATCHES "import\\([\"'][a-z_:]+[\"']\\)")
  message(FATAL_ERROR "${GLUE}: found an import that a bundler cannot follow")
endif()

file(WRITE "${GLUE}" "${glue}")
