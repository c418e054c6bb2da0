// What JavaScript calls. Embind tells the names of the operations; a call itself passes two
// numbers, the operation and where its arguments lie, because values that go through Embind one by
// one cost more than a small attention does. Nothing is thrown across: a call returns whether it
// succeeded, and one that did not gives the code and the message of its error.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <malloc.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

#include "arguments.hpp"
#include "attn/error.hpp"
#include "attn/version.hpp"

namespace attn::wasm {
namespace {

/// The last failed call's error, copied: keeping hold of an exception itself leaks memory with
/// Emscripten 3.1.69.
std::runtime_error last_error("");

// Made while there is memory.
const std::runtime_error no_memory("memory: WebAssembly's is exhausted");
const std::runtime_error unknown("the core failed without saying why");

/// Gives the code and the message of an error.
bool fail(Arguments results, const char* code, const std::runtime_error& error) noexcept {
  last_error = error;
  results.give(std::string_view(code));
  results.give(std::string_view(last_error.what()));
  return false;
}

std::unique_ptr<Context> the_context;

void start(Arguments& a) {
  ContextOptions options;
  options.num_threads = a.choice<int>();
  the_context = std::make_unique<Context>(options);
}

/// What malloc has handed out and not got back, as its blocks lie. Emscripten's emmalloc counts the
/// headers of free blocks as used, too.
double bytes_in_use() {
  constexpr double kHeader = 8;
  const struct mallinfo info = mallinfo();
  return static_cast<double>(static_cast<std::size_t>(info.uordblks)) -
         kHeader * (static_cast<double>(info.ordblks) + static_cast<double>(info.smblks));
}

/// Gives the number of threads, the bytes in use, the instruction set, and the version.
void describe(Arguments& a) {
  a.give(the_context->num_threads());
  a.give(bytes_in_use());
  a.give(std::string_view(to_string(the_context->instruction_set())));
  a.give(std::string_view(ATTN_VERSION));
}

}  // namespace

Context& context() { return *the_context; }

EMSCRIPTEN_BINDINGS(module) {
  operation("start", &start);
  operation("describe", &describe);
}

}  // namespace attn::wasm

extern "C" EMSCRIPTEN_KEEPALIVE bool attn_run(attn::wasm::Address operation,
                                              attn::wasm::Address address) {
  using namespace attn;
  wasm::Arguments arguments(address);
  const wasm::Arguments results = arguments;
  try {
    reinterpret_cast<wasm::Operation>(operation)(arguments);
    return true;
  } catch (const Error& error) {
    return wasm::fail(results, to_string(error.code()), error);
  } catch (const std::bad_alloc&) {
    return wasm::fail(results, to_string(ErrorCode::kOutOfMemory), wasm::no_memory);
  } catch (...) {
    return wasm::fail(results, "internal", wasm::unknown);
  }
}
