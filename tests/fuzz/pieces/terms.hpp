#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "attn/layers/module.hpp"
#include "attn/owned_tensor.hpp"
#include "attn/training/tape.hpp"
#include "choices.hpp"
#include "pieces/pieces.hpp"
#include "reference/scalar.hpp"

namespace attn_fuzz {

/// Tensors that are used as terms of attention. A tensor may be passed to several layers, and
/// several times to one layer.
class Terms {
 public:
  enum class Kind {
    kVariable,   ///< a variable with a gradient
    kConstant,   ///< a variable without a gradient
    kTensor,     ///< a plain tensor in the options
    kParameter,  ///< a parameter of another layer
  };

  struct Term {
    std::vector<std::int64_t> shape;
    Kind kind = Kind::kVariable;
    bool excludes = false;                 ///< some elements are −∞
    const attn::Module* module = nullptr;  ///< the module that owns the parameter
    std::string parameter = {};
    // The most recently drawn numbers.
    attn::OwnedTensor values = {};
    attn::Variable variable = {};
    Scalars exact = {};
  };

  /// One use of a term.
  struct Use {
    std::size_t index = 0;
    bool halved = false;  ///< if true, the term is multiplied by 0.5
  };

  /// Chooses an existing term or a new one.
  Use choose(Choices& choices, const std::vector<std::int64_t>& shape, bool may_exclude = false);

  /// Adds the parameters of `module` to the existing terms, so that later calls can choose them.
  void offer(const attn::Module& module);

  /// Draws new numbers for all terms that are not parameters.
  void draw(attn::Tape& tape, reference::Tape& exact, std::mt19937_64& engine);
  /// Sets the terms that are parameters of `module` to the numbers drawn for the module.
  void set_parameters(const attn::Module& module, const Parameters& parameters);

  const std::vector<Term>& all() const { return all_; }
  bool is_tensor(const Use& use) const { return all_[use.index].kind == Kind::kTensor; }
  attn::Variable variable(attn::Tape& tape, const Use& use) const;
  const attn::OwnedTensor& values(const Use& use) const { return all_[use.index].values; }
  Scalars exact(const Use& use) const;

 private:
  std::vector<Term> all_;
};

}  // namespace attn_fuzz
