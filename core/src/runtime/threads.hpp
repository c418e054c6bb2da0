#pragma once

#include <atomic>
#include <cstdint>

#if defined(__EMSCRIPTEN__)
#include <pthread.h>
#include <sched.h>

#include <memory>
#include <new>
#include <utility>
#else
#include <mutex>
#include <thread>
#endif

/// Threads and locks. They come from the standard library, except in WebAssembly, where this file
/// builds the necessary parts on pthreads. WebAssembly's variants with and without threads are
/// linked from the same objects. In the variant without threads, the standard library declares
/// neither threads nor locks. The functions of pthreads exist there, but do nothing.
namespace attn::runtime {

#if defined(__EMSCRIPTEN__)

class RecursiveMutex {
 public:
  RecursiveMutex() noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~RecursiveMutex() { pthread_mutex_destroy(&mutex_); }
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

template <class M>
class Lock {
 public:
  explicit Lock(M& mutex) noexcept : mutex_(mutex) { mutex.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  M& mutex_;
};

/// A thread that must be joined before it is destroyed.
class Thread {
 public:
  /// Throws std::bad_alloc if the system cannot start another thread.
  template <class F>
  explicit Thread(F body) {
    auto closure = std::make_unique<F>(std::move(body));
    const auto run = [](void* given) -> void* {
      const std::unique_ptr<F> owned(static_cast<F*>(given));
      (*owned)();
      return nullptr;
    };
    if (pthread_create(&handle_, nullptr, run, closure.get()) != 0) throw std::bad_alloc();
    closure.release();
  }

  void join() noexcept { pthread_join(handle_, nullptr); }

 private:
  pthread_t handle_;
};

/// In WebAssembly, sched_yield() does not give up the processor. However, if another thread has
/// trapped, sched_yield() throws on the thread that created the module. That thread then stops
/// waiting for the trapped thread.
inline void yield() { sched_yield(); }

/// If `word` equals `value`, sleeps until wake() is called. May return early. Must not be called
/// on a browser's main thread. In WebAssembly, the standard library's wait() would poll instead of
/// sleeping.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  auto* address = reinterpret_cast<std::int32_t*>(const_cast<std::atomic<std::uint32_t>*>(&word));
  constexpr std::int64_t kForever = -1;
  __builtin_wasm_memory_atomic_wait32(address, static_cast<std::int32_t>(value), kForever);
}

/// Wakes all threads that sleep in sleep_while() on this word. Waking a single sleeper would not
/// be enough: when a thread has ended, Emscripten leaves a wait for messages (Atomics.waitAsync) at
/// the address where the thread's data was. If the word is now at that address, the leftover wait
/// would consume the notification.
inline void wake(std::atomic<std::uint32_t>& word) noexcept {
  constexpr std::uint32_t kAll = 0xffffffff;
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<std::int32_t*>(&word), kAll);
}

#else

using RecursiveMutex = std::recursive_mutex;
template <class M>
using Lock = std::unique_lock<M>;
using Thread = std::thread;

inline void yield() noexcept { std::this_thread::yield(); }

#if defined(_WIN32)

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept;
void wake(std::atomic<std::uint32_t>& word) noexcept;

#else

/// If `word` equals `value`, sleeps until wake() is called. May return early.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  word.wait(value, std::memory_order_acquire);
}

/// Wakes all threads that sleep in sleep_while() on this word.
inline void wake(std::atomic<std::uint32_t>& word) noexcept { word.notify_all(); }

#endif
#endif

/// Lets a thread sleep until another thread wakes it. This is the only place where the thread pool
/// waits without computing, so a platform with other means of waiting needs changes only in this
/// class.
class Sleeper {
 public:
  /// Announces a sleep. The thread then looks for work once more before it calls sleep(), so it
  /// never misses another thread that first offers work and then calls wake(). An exchange costs
  /// the same as a sequentially consistent store. After such a store, QEMU 7.2 reads too early when
  /// it emulates Arm on x86.
  void announce() noexcept { is_asleep_.exchange(1, std::memory_order_seq_cst); }

  /// Blocks until wake() is called. Returns immediately if wake() has been called since announce().
  void sleep() noexcept {
    while (is_asleep_.load(std::memory_order_acquire) != 0) sleep_while(is_asleep_, 1);
  }

  /// Ends an announced sleep, whether or not the thread has called sleep() yet. Returns false if no
  /// sleep was announced, or if another thread has already ended the sleep.
  bool wake() noexcept {
    if (is_asleep_.load(std::memory_order_seq_cst) == 0) return false;
    if (is_asleep_.exchange(0, std::memory_order_seq_cst) == 0) return false;
    runtime::wake(is_asleep_);
    return true;
  }

 private:
  std::atomic<std::uint32_t> is_asleep_{0};
};

}  // namespace attn::runtime
