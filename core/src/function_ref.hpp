#pragma once

namespace attn {

/// A reference to a function, like std::function_ref of C++26. A function that takes a FunctionRef
/// is compiled once instead of once per caller.
template <class Signature>
class FunctionRef;

template <class... Args>
class FunctionRef<void(Args...)> {
 public:
  /// A reference to a function that does not throw.
  template <class F>
  FunctionRef(const F& function) noexcept
      : function_(&function), call_([](const void* given, Args... args) noexcept {
          (*static_cast<const F*>(given))(args...);
        }) {}

  void operator()(Args... args) const noexcept { call_(function_, args...); }

 private:
  const void* function_;
  void (*call_)(const void* given, Args... args) noexcept;
};

}  // namespace attn
