#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/export.hpp"
#include "attn/tensor_view.hpp"

namespace attn {

/// A layer with named weights, as torch.nn.Module. Names, shapes and layouts are those of PyTorch's
/// `state_dict`: "weight" of a Linear, "layers.0.self_attn.in_proj_weight" of a TransformerEncoder.
///
/// What is const may be called from several threads at once; setting or drawing parameters may not
/// go on at the same time. Layers that can be moved but not copied may, once moved from, only be
/// destroyed or assigned to.
class ATTN_API Module {
 public:
  virtual ~Module();

  /// In PyTorch's order, which is also that of `state_dict`.
  virtual std::vector<std::string> parameter_names() const = 0;

  /// The values, row-major; the view is valid as long as the layer, and shows what is set later.
  /// Throws kNotFound.
  virtual ConstTensor parameter(std::string_view name) const = 0;

  /// Copies values of the same shape in, with any strides. Throws kNotFound, kShapeMismatch, or
  /// kInvalidArgument for null data; the layer is then as it was.
  virtual void set_parameter(std::string_view name, const ConstTensor& values) = 0;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
};

/// A layer made of layers. Its parameters are theirs, each name with that of the child in front:
/// "linear1" gives "linear1.weight" and "linear1.bias".
class ATTN_API CompositeModule : public Module {
 public:
  std::vector<std::string> parameter_names() const override;
  ConstTensor parameter(std::string_view name) const override;
  void set_parameter(std::string_view name, const ConstTensor& values) override;

 protected:
  struct Child {
    std::string name;  ///< empty: the child's names stand as they are
    Module* module;
  };
  /// As PyTorch's `named_children`, in its order.
  virtual std::vector<Child> children() const = 0;
};

}  // namespace attn
