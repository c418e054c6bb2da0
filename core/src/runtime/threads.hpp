#pragma once

#if defined(__EMSCRIPTEN__)
#include <pthread.h>
#include <sched.h>

#include <memory>
#include <new>
#include <utility>
#else
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

/// Threads and locks: the standard library's, or as much of them as is used here on pthreads. For
/// their errors the standard ones bring std::system_error with its texts and the formatting of
/// numbers, which would be 3 % of a WebAssembly module.
namespace attn::runtime {

#if defined(__EMSCRIPTEN__)

class Mutex {
 public:
  Mutex() noexcept : Mutex(PTHREAD_MUTEX_NORMAL) {}
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 protected:
  explicit Mutex(int kind) noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }

 private:
  friend class ConditionVariable;
  pthread_mutex_t mutex_;
};

class RecursiveMutex : public Mutex {
 public:
  RecursiveMutex() noexcept : Mutex(PTHREAD_MUTEX_RECURSIVE) {}
};

template <class M>
class Lock {
 public:
  explicit Lock(M& mutex) noexcept : mutex_(mutex) { mutex.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  M& mutex() const noexcept { return mutex_; }

 private:
  M& mutex_;
};

class ConditionVariable {
 public:
  ConditionVariable() noexcept { pthread_cond_init(&condition_, nullptr); }
  ~ConditionVariable() { pthread_cond_destroy(&condition_); }
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  template <class F>
  void wait(Lock<Mutex>& lock, F&& ready) noexcept {
    while (!ready()) pthread_cond_wait(&condition_, &lock.mutex().mutex_);
  }
  void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

/// To be joined before it is destroyed.
class Thread {
 public:
  /// Throws std::bad_alloc if the system starts no further one.
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

inline void yield() noexcept { sched_yield(); }

#else

using Mutex = std::mutex;
using RecursiveMutex = std::recursive_mutex;
template <class M>
using Lock = std::unique_lock<M>;
using ConditionVariable = std::condition_variable;
using Thread = std::thread;

inline void yield() noexcept { std::this_thread::yield(); }

#endif

}  // namespace attn::runtime
