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

/// How a parameter gets its first values.
struct Initialization {
  enum class Kind : int {
    kZeros,
    kOnes,
    kXavierUniform,  ///< see xavier_uniform(); of (out, in, k) the fans are in·k and out·k
    kNormal,         ///< see fill_normal(), with mean 0
  };

  static constexpr Initialization zeros() { return {}; }
  static constexpr Initialization ones() { return {.kind = Kind::kOnes}; }
  /// A matrix that is `parts` equal ones, one below the other, has each of them drawn by itself.
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
  std::optional<std::int64_t> zero_row = {};  ///< a row that becomes zero after the draw
};

/// A parameter as a visitor sees it.
template <class T>
struct VisitedParameter {
  std::string_view name;  ///< the path to the layer included; valid during the visit
  /// Row-major; of float32 at an address that stays as long as the layer, of another type a copy,
  /// for the time of the visit.
  TensorView<T> values;
  const Initialization& initialization;
};
using Parameter = VisitedParameter<float>;
using ConstParameter = VisitedParameter<const float>;

/// How a layer keeps a matrix by itself: read() copies the block that begins at (row, col), of the
/// view's shape, to a view of any strides and type, of its own type bit by bit, and write() takes
/// such a block over.
struct ParameterKeeper {
  ElementType type;
  std::function<void(const AnyTensor& block, std::int64_t row, std::int64_t col)> read;
  std::function<void(const ConstTensor& block, std::int64_t row, std::int64_t col)> write;
};

/// A layer with named weights, as torch.nn.Module. Names, shapes and layouts are those of PyTorch's
/// `state_dict`: "weight" of a Linear, "layers.0.self_attn.in_proj_weight" of a TransformerEncoder.
///
/// What is const may be called from several threads at once; setting or drawing parameters may not
/// go on at the same time. Layers are moved, not copied, and once moved from may only be destroyed
/// or assigned to.
///
/// A layer of one's own derives from this class and tells it of what it has, in PyTorch's order:
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

  /// In PyTorch's order, which is also that of `state_dict`.
  std::vector<std::string> parameter_names() const;

  /// The values, row-major; the view is valid as long as the layer, and shows what is set later.
  /// Throws kNotFound, and kUnsupported for a parameter that is not kept as float32.
  ConstTensor parameter(std::string_view name) const;

  /// How a parameter is kept: as float32, or as an option of its layer says. Throws kNotFound.
  ElementType parameter_type(std::string_view name) const;

  /// Valid as long as the layer. Throws kNotFound.
  std::span<const std::int64_t> parameter_shape(std::string_view name) const;

  /// Copies the values of a parameter to `values`, of its shape and any strides. Both may be of any
  /// type: of one type they are the same bits, and float32 has the exact values of the others;
  /// elsewhere they are rounded, see Float16 and BFloat16. Throws kNotFound, kShapeMismatch,
  /// kInvalidArgument for null data, std::bad_alloc.
  void read_parameter(std::string_view name, const AnyTensor& values,
                      Context& context = Context::default_context()) const;

  /// Copies values of the same shape in, with any strides; as another type than float32 they are
  /// rounded to it, which leaves those that came from it, as from a file of BF16, as they are.
  /// Throws kNotFound, kShapeMismatch, kInvalidArgument for null data, or std::bad_alloc; the layer
  /// is then as it was.
  void set_parameter(std::string_view name, const ConstTensor& values,
                     Context& context = Context::default_context());

  /// Shows all parameters, one after the other, in the order of parameter_names().
  void visit_parameters(const std::function<void(const ConstParameter&)>& visit) const;

  /// The same, to be written in place, as an optimiser does. What a layer keeps beside a parameter
  /// (weights in the order in which products read them) is made anew after each visit, also after
  /// one that throws, which ends the visits.
  void update_parameters(const std::function<void(const Parameter&)>& update,
                         Context& context = Context::default_context());

  /// Draws the first values: of matrices by xavier_uniform, of tables of embeddings by fill_normal;
  /// vectors become zeros, and weights of norms ones. Each matrix takes the next stream, from
  /// random.stream on, in the order of parameter_names().
  ///
  /// Some layers take more streams than they have matrices, so that a matrix which an option adds
  /// does not change those after it: MultiHeadAttention takes 6, for its four projections (one
  /// each, also where three of them are one parameter) and two tables of relative positions; a
  /// TransformerDecoderLayer takes 16. So a TransformerEncoderLayer takes 8, and layer l of a stack
  /// begins at stream 8·l, or 16·l. A T5 table beside Shaw's two is a third, and takes one more, as
  /// does the third matrix of a GatedFeedForward in a TransformerEncoderLayer.
  void initialize_xavier(const RandomStream& random, Context& context = Context::default_context());
  /// The same from stream 0.
  void initialize_xavier(std::uint64_t seed, Context& context = Context::default_context());

  /// All names that Intermediates may ask this layer for: its own first, then those of the layers
  /// inside.
  std::vector<std::string> intermediate_names() const;

 protected:
  /// Throws std::bad_alloc.
  Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  /// Adds a parameter of zeros, or of ones where it is initialised to them; the view is valid as
  /// long as the layer, wherever that is moved. Throws kInvalidArgument for a negative size,
  /// kSizeOverflow, std::bad_alloc; nothing is then added.
  Tensor add_parameter(std::string name, std::span<const std::int64_t> shape,
                       const Initialization& initialization = {});
  Tensor add_parameter(std::string name, std::initializer_list<std::int64_t> shape,
                       const Initialization& initialization = {}) {
    return add_parameter(std::move(name),
                         std::span<const std::int64_t>(shape.begin(), shape.size()),
                         initialization);
  }

  /// Adds a matrix of zeros that the layer keeps by itself, and so in another type than float32. It
  /// has no gradient. Throws as add_parameter does.
  void add_kept_parameter(std::string name, std::span<const std::int64_t> shape,
                          const Initialization& initialization, ParameterKeeper keeper);

  /// `refresh` is called after each change of the parameter added last.
  void when_changed(std::function<void(Context&)> refresh);

  /// A parameter of another layer to compute with, such as the table that an output layer is tied
  /// to. It stays the other's: this layer does not have its name, but keeps it alive. `refresh` is
  /// called after each change. Throws kNotFound, std::bad_alloc.
  ConstTensor share_parameter(const Module& owner, std::string_view name,
                              std::function<void(Context&)> refresh = {});

  /// Adds the parameters and intermediates of another layer, `name` and a dot in front of theirs;
  /// an empty name leaves theirs as they are. The child may be moved, but a layer that is assigned
  /// to it has to be added anew: it then takes the place of the one of that name.
  void add_child(std::string name, const Module& child);

  /// Takes at least so many random streams, see initialize_xavier().
  void reserve_streams(std::uint64_t count);

  /// Adds intermediates that this layer itself shows.
  void add_intermediates(std::initializer_list<const char*> names);

 private:
  friend struct ModuleAccess;
  struct ATTN_LOCAL Node;
  std::shared_ptr<Node> node_;
};

}  // namespace attn
