# Changes what bundlers cannot read in the glue of a variant with threads, and who starts its workers.
file(READ "${GLUE}" glue)

# The loader starts them, before it has the glue.
string(REGEX REPLACE "new Worker\\(new URL\\(\"[^\"]*\", *import\\.meta\\.url\\), *[^)]*\\)"
                     "Module[\"newWorker\"]()" glue "${glue}")
if(NOT glue MATCHES "newWorker")
  message(FATAL_ERROR "${GLUE}: found no worker that is started")
endif()

# Webpack looks for Node's own modules and fails, though only Node ever reaches these imports.
string(REGEX REPLACE "await import\\([\"'](module|worker_threads)[\"']\\)"
                     "process.getBuiltinModule(\"\\1\")" glue "${glue}")
if(glue MATCHES "import\\([\"'][a-z_:]+[\"']\\)")
  message(FATAL_ERROR "${GLUE}: found an import that a bundler cannot follow")
endif()

file(WRITE "${GLUE}" "${glue}")
