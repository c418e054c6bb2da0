# The library as WebAssembly, where nothing can be chosen at run time: a module that holds an
# instruction that its engine does not know is refused whole. There are four variants, by instruction
# set and by whether there are threads. They share all objects but the kernels and the choice among
# them, so that these are compiled once. Nothing in them may be thread_local: without threads the
# linker lays such variables over other data.
set(ATTN_WASM_VARIANTS simd128 relaxed-simd simd128-threads relaxed-simd-threads PARENT_SCOPE)

add_library(attn_common OBJECT ${ATTN_SOURCES})
attn_core_target(attn_common)
# Most of the time that a source takes to compile goes into the standard library's headers. A batch takes
# two to five seconds.
set_target_properties(attn_common PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
# Outside of the kernels size counts more than speed: it is what a page loads. Nothing asks for an
# object's type, so that types need no names, but where programs derive from a class or catch it.
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

# What every engine with SIMD can run.
add_library(attn::attn ALIAS attn_simd128)

# Makes a program one of the variants.
function(attn_link_variant target variant)
  if(variant MATCHES "^relaxed-simd")
    target_link_libraries(${target} PRIVATE attn_relaxed_simd attn_build)
    target_link_options(${target} PRIVATE -mrelaxed-simd)
  else()
    target_link_libraries(${target} PRIVATE attn_simd128 attn_build)
  endif()
  if(variant MATCHES "-threads$")
    # Shared memory reserves its maximum at once, and phones refuse to reserve much. JavaScript looks
    # at views of it that may have grown, which the package knows.
    target_link_options(${target} PRIVATE -pthread -sMAXIMUM_MEMORY=2GB -Wno-pthreads-mem-growth)
  endif()
endfunction()
