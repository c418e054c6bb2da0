// What JavaScript calls. Embind tells the names of the operations; a call itself passes two
// numbers, the operation and where its arguments lie, because values that go through Embind one by
// one cost more than a small attention does. Nothing is thrown across: a call returns whether it
// succeeded, and errorCode() and errorMessage() tell about the one that did not.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <malloc.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "arguments.hpp"
#include "attn/error.hpp"
#include "attn/version.hpp"

namespace attn::wasm {
namespace {

Address address_of(const char* text) { return reinterpret_cast<Address>(text); }

/// The last failed call's error, copied: keeping hold of an exception itself leaks memory with
/// Emscripten 3.1.69.
struct Failure {
  const char* code = "";
  std::runtime_error error{""};
} last_failure;

void fail(const char* code, const std::runtime_error& error) noexcept {
  last_failure.code = code;
  last_failure.error = error;
}

// Made while there is memory.
const std::runtime_error no_memory("memory: WebAssembly's is exhausted");
const std::runtime_error unknown("the core failed without saying why");

/// Runs a call of the core; what it throws is kept for errorCode() and errorMessage().
template <class F>
bool succeeds(F&& call) noexcept {
  try {
    call();
    return true;
  } catch (const Error& error) {
    fail(to_string(error.code()), error);
  } catch (const std::bad_alloc&) {
    fail(to_string(ErrorCode::kOutOfMemory), no_memory);
  } catch (...) {
    fail("internal", unknown);
  }
  return false;
}

Address error_code() noexcept { return address_of(last_failure.code); }

Address error_message() noexcept { return address_of(last_failure.error.what()); }

std::unique_ptr<Context> the_context;

bool start(int num_threads) {
  return succeeds([&] {
    ContextOptions options;
    options.num_threads = num_threads;
    the_context = std::make_unique<Context>(options);
  });
}

int num_threads() { return the_context->num_threads(); }

Address instruction_set() { return address_of(to_string(the_context->instruction_set())); }

Address version() { return address_of(ATTN_VERSION); }

/// What malloc has handed out and not got back, as its blocks lie. Emscripten's emmalloc counts the
/// headers of free blocks as used, too.
double bytes_in_use() {
  constexpr double kHeader = 8;
  const struct mallinfo info = mallinfo();
  return static_cast<double>(static_cast<std::size_t>(info.uordblks)) -
         kHeader * (static_cast<double>(info.ordblks) + static_cast<double>(info.smblks));
}

}  // namespace

Context& context() { return *the_context; }

EMSCRIPTEN_BINDINGS(module) {
  using emscripten::function;
  function("start", &start);
  function("numThreads", &num_threads);
  function("instructionSet", &instruction_set);
  function("version", &version);
  function("bytesInUse", &bytes_in_use);
  function("errorCode", &error_code);
  function("errorMessage", &error_message);
}

}  // namespace attn::wasm

extern "C" EMSCRIPTEN_KEEPALIVE bool attn_run(attn::wasm::Address operation,
                                              attn::wasm::Address arguments) {
  return attn::wasm::succeeds([&] {
    attn::wasm::Arguments reader(arguments);
    reinterpret_cast<attn::wasm::Operation>(operation)(reader);
  });
}
