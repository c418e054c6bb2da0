#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/context.hpp"
#include "attn/element_type.hpp"
#include "attn/export.hpp"
#include "attn/random.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// The initialisation of a parameter.
struct Initialization {
  enum class Kind : int {
    kZeros,
    kOnes,
    kXavierUniform,  ///< numbers from xavier_uniform(); for shape (out, in, k) the fans are in·k
                     ///< and out·k
    kNormal,         ///< numbers from fill_normal() with mean 0
  };

  static constexpr Initialization zeros() { return {}; }
  static constexpr Initialization ones() { return {.kind = Kind::kOnes}; }
  /// The initialisation of a matrix that consists of `parts` matrices of equal size, stacked
  /// vertically. Each part is drawn separately.
  static constexpr Initialization xavier_uniform(int parts = 1) {
    return {.kind = Kind::kXavierUniform, .parts = parts};
  }
  static constexpr Initialization normal(float deviation,
                                         std::optional<std::int64_t> zero_row = {}) {
    return {.kind = Kind::kNormal, .deviation = deviation, .zero_row = zero_row};
  }

  Kind kind = Kind::kZeros;
  int parts = 1;
  float deviation = 1;
  std::optional<std::int64_t> zero_row = {};  ///< a row that is set to zero after the draw
};

/// A parameter as passed to a visitor.
template <class T>
struct VisitedParameter {
  std::string_view name;  ///< name with the path to the layer; valid during the visit
  /// The values, row-major. Values stored as float32 are passed in place, at an address that is
  /// valid for as long as the layer exists. Values of another type are passed as a copy that is
  /// valid during the visit.
  TensorView<T> values;
  const Initialization& initialization;
};
using Parameter = VisitedParameter<float>;
using ConstParameter = VisitedParameter<const float>;

/// Lets a layer store a matrix in its own format. read() copies part of the matrix to `block`: the
/// part that begins at (row, col) and has the shape of `block`. `block` may have any strides and
/// type; if it has the matrix's own type, the copy is exact. write() stores `block` in that part.
struct ParameterKeeper {
  ElementType type;
  std::function<void(const AnyTensor& block, std::int64_t row, std::int64_t col)> read;
  std::function<void(const ConstTensor& block, std::int64_t row, std::int64_t col)> write;
};

/// A layer with named weights, like torch.nn.Module. Names, shapes and layouts are the same
/// as in PyTorch's `state_dict`: "weight" in a Linear, "layers.0.self_attn.in_proj_weight" in a
/// TransformerEncoder.
///
/// Several threads may call const functions at once, but not while another thread sets or
/// initialises parameters. Layers can be moved but not copied. A moved-from layer may only be
/// destroyed or assigned to.
///
/// To write your own layer, derive from this class and register its parameters and children in
/// PyTorch's order:
///
///   class Head : public attn::Module {
///    public:
///     Head() {
///       scale_ = add_parameter("scale", {64}, attn::Initialization::ones());
///       add_child("linear", linear_);
///     }
///    private:
///     attn::Tensor scale_;
///     attn::Linear linear_{64, 10};
///   };
class ATTN_API Module {
 public:
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The names of all parameters in PyTorch's order, which is also the order of state_dict().
  std::vector<std::string> parameter_names() const;

  /// The values of a parameter, row-major. The view is valid for as long as the layer exists, and
  /// reflects later changes to the values. Throws kNotFound for an unknown name, and kUnsupported
  /// if the parameter is not stored as float32.
  ConstTensor parameter(std::string_view name) const;

  /// The type in which a parameter is stored: float32, unless an option of its layer selects
  /// another type. Throws kNotFound.
  ElementType parameter_type(std::string_view name) const;

  /// The shape of a parameter, valid for as long as the layer exists. Throws kNotFound.
  std::span<const std::int64_t> parameter_shape(std::string_view name) const;

  /// Copies the values of a parameter to `values`, which has the same shape and any strides. Both
  /// may have any type. A copy to the same type or to float32 is exact; otherwise values are
  /// rounded (see Float16 and BFloat16). Throws kInvalidArgument for a null data pointer. May also
  /// throw kNotFound, kShapeMismatch or std::bad_alloc.
  void read_parameter(std::string_view name, const AnyTensor& values,
                      Context& context = Context::default_context()) const;

  /// Copies `values`, which have the same shape and any strides, into the parameter. If the
  /// parameter is not stored as float32, the values are rounded to its type. Values that this type
  /// represents exactly, e.g. from a BF16 file, do not change. Throws kInvalidArgument for a null
  /// data pointer. May also throw kNotFound, kShapeMismatch or std::bad_alloc. If it throws, the
  /// layer is unchanged.
  void set_parameter(std::string_view name, const ConstTensor& values,
                     Context& context = Context::default_context());

  /// Calls `visit` for each parameter in the order of parameter_names().
  void visit_parameters(const std::function<void(const ConstParameter&)>& visit) const;

  /// Like visit_parameters(), but `update` may write the values in place, as an optimiser does.
  /// After each visit, data derived from the parameter is rebuilt, such as the copy of weights in
  /// the order in which products read them. If `update` throws, the visits end, but the data is
  /// still rebuilt.
  void update_parameters(const std::function<void(const Parameter&)>& update,
                         Context& context = Context::default_context());

  /// Draws initial values. Matrices are drawn with xavier_uniform and embedding tables with
  /// fill_normal. Vectors become zeros, and norm weights become ones. Each matrix uses the next
  /// stream, starting at random.stream, in the order of parameter_names().
  ///
  /// Some layers reserve more streams than they have matrices, so that adding an optional matrix
  /// does not change the matrices after it. MultiHeadAttention reserves 6: one for each of its four
  /// projections (even if three of them share one parameter) and two for tables of relative
  /// positions. A TransformerEncoderLayer therefore takes 8 and a TransformerDecoderLayer 16, so
  /// layer l of a stack begins at stream 8·l or 16·l. A T5 table in addition to Shaw's two tables
  /// takes one more stream, and so does the third matrix of a GatedFeedForward in a
  /// TransformerEncoderLayer.
  void initialize_xavier(const RandomStream& random, Context& context = Context::default_context());
  /// Like initialize_xavier({seed, 0}).
  void initialize_xavier(std::uint64_t seed, Context& context = Context::default_context());

  /// All names that Intermediates may request from this layer: its own names first, then the
  /// names in its inner layers.
  std::vector<std::string> intermediate_names() const;

 protected:
  /// Throws std::bad_alloc.
  Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  /// Adds a parameter filled with zeros, or with ones if `initialization` is ones(). The view is
  /// valid for as long as the layer exists, even if the layer is moved. Throws kInvalidArgument for
  /// a negative size. May also throw kSizeOverflow or std::bad_alloc. If it throws, nothing is
  /// added.
  Tensor add_parameter(std::string name, std::span<const std::int64_t> shape,
                       const Initialization& initialization = {});
  Tensor add_parameter(std::string name, std::initializer_list<std::int64_t> shape,
                       const Initialization& initialization = {}) {
    return add_parameter(std::move(name),
                         std::span<const std::int64_t>(shape.begin(), shape.size()),
                         initialization);
  }

  /// Adds a matrix of zeros that the layer stores itself, possibly in a type other than float32. It
  /// has no gradient. Throws the same errors as add_parameter().
  void add_kept_parameter(std::string name, std::span<const std::int64_t> shape,
                          const Initialization& initialization, ParameterKeeper keeper);

  /// Registers `refresh` for the parameter that was added last. The layer calls `refresh` after
  /// each change to that parameter.
  void when_changed(std::function<void(Context&)> refresh);

  /// Gives this layer access to a parameter of another layer, such as the table that an output
  /// layer is tied to. The other layer still owns the parameter. This layer keeps the parameter
  /// alive but does not list its name. `refresh` is called after each change. Throws kNotFound or
  /// std::bad_alloc.
  ConstTensor share_parameter(const Module& owner, std::string_view name,
                              std::function<void(Context&)> refresh = {});

  /// Adds the parameters and intermediates of another layer, with `name` and a dot in front of
  /// their names; an empty `name` leaves the names unchanged. You may move the child. If you assign
  /// another layer to the child, call add_child() again: the new layer then replaces the previous
  /// child of that name.
  void add_child(std::string name, const Module& child);

  /// Reserves at least this many random streams; see initialize_xavier().
  void reserve_streams(std::uint64_t count);

  /// Adds names of intermediates that this layer itself provides.
  void add_intermediates(std::initializer_list<const char*> names);

 private:
  friend struct ModuleAccess;
  struct ATTN_LOCAL Node;
  std::shared_ptr<Node> node_;
};

}  // namespace attn
