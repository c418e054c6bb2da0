# Builds the library as WebAssembly. A module cannot choose an instruction set at run time, because
# an engine rejects the whole module if it does not support one of its instructions. There are
# therefore four variants: two instruction sets, each with and without threads. The variants share
# all objects except the kernels and their dispatch, so the shared objects are compiled only once.
# They must not contain thread_local variables: in variants without threads, the linker would place
# such variables over other data.
set(ATTN_WASM_VARIANTS simd128 relaxed-simd simd128-threads relaxed-simd-threads PARENT_SCOPE)

add_library(attn_common OBJECT ${ATTN_SOURCES})
attn_core_target(attn_common)
# Sources are compiled in batches, because compilers spend most of their time on the standard
# library's headers. A batch takes two to five seconds.
set_target_properties(attn_common PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
# Outside the kernels, size matters more than speed, because pages download the module. RTTI is off,
# because the core never queries the type of an object. RTTI is on only for the sources below, which
# define classes that programs derive from or catch.
target_compile_options(attn_common PRIVATE -Oz -fno-rtti -flto)
set_source_files_properties(
  src/error.cpp src/layers/module.cpp src/training/optimizers.cpp
  PROPERTIES COMPILE_OPTIONS -frtti SKIP_UNITY_BUILD_INCLUSION ON)

foreach(isa IN ITEMS simd128 relaxed_simd)
  attn_add_kernels(attn_kernels_${isa} wasm_${isa})
  target_sources(attn_kernels_${isa} PRIVATE src/runtime/dispatch.cpp src/runtime/training_dispatch.cpp)
  target_compile_options(attn_kernels_${isa} PRIVATE ${ATTN_FLAGS_wasm_${isa}})
  add_library(attn_${isa} STATIC $<TARGET_OBJECTS:attn_common> $<TARGET_OBJECTS:attn_kernels_${isa}>)
  attn_core_target(attn_${isa})
endforeach()

# attn::attn is the library for SIMD128, which every engine with SIMD supports.
add_library(attn::attn ALIAS attn_simd128)

# Links a program as one of the variants.
function(attn_link_variant target variant)
  if(variant MATCHES "^relaxed-simd")
    target_link_libraries(${target} PRIVATE attn_relaxed_simd attn_build)
    target_link_options(${target} PRIVATE -mrelaxed-simd)
  else()
    target_link_libraries(${target} PRIVATE attn_simd128 attn_build)
  endif()
  if(variant MATCHES "-threads$")
    # A shared memory reserves its maximum size immediately, and phones refuse to reserve much
    # memory. The disabled warning is about JavaScript views of memory that has grown since; the
    # package handles such views.
    target_link_options(${target} PRIVATE -pthread -sMAXIMUM_MEMORY=2GB -Wno-pthreads-mem-growth)
  endif()
endfunction()
