#include "attn/layers/module.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "elementwise.hpp"
#include "layers/module_access.hpp"
#include "validation.hpp"

namespace attn {
namespace {

/// The part of `name` after the child's name, or std::nullopt if `name` belongs to another child.
std::optional<std::string_view> within(std::string_view name, std::string_view child) {
  if (child.empty()) return name;
  if (!name.starts_with(child) || !name.substr(child.size()).starts_with('.')) return std::nullopt;
  return name.substr(child.size() + 1);
}

[[noreturn]] void fail_unknown(std::string_view name, const std::vector<std::string>& known) {
  validation::fail(ErrorCode::kNotFound, "name", {"\"", name, "\""},
                   {"one of: ", validation::list_names(known)});
}

void draw(const Tensor& values, const Initialization& rule, const RandomStream& first,
          Context& context) {
  using Kind = Initialization::Kind;
  if (rule.kind == Kind::kNormal) {
    fill_normal(values, first, 0, rule.deviation, context);
    if (rule.zero_row) {
      const Tensor row = values.select(0, *rule.zero_row);
      std::fill_n(row.data(), row.size(0), 0.0F);
    }
    return;
  }
  RandomStream random = first;
  const std::int64_t rows = values.size(0) / rule.parts;
  for (int part = 0; part < rule.parts; ++part, ++random.stream) {
    double fans = static_cast<double>(rows) + static_cast<double>(values.size(1));
    for (int i = 2; i < values.rank(); ++i) fans *= static_cast<double>(values.size(i));
    const auto bound = static_cast<float>(std::sqrt(6 / fans));
    fill_uniform(values.slice(0, part * rows, (part + 1) * rows), random, -bound, bound, context);
  }
}

}  // namespace

/// The parameters of a layer and the nodes of its inner layers. A node does not move when its layer
/// is moved.
struct Module::Node {
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;  ///< values, or none if the layer stores them itself
    Initialization initialization;
    std::optional<ParameterKeeper> keeper = {};
    std::vector<std::function<void(Context&)>> refreshes = {};
    std::uint64_t changes = 0;

    ElementType type() const { return keeper ? keeper->type : ElementType::kFloat32; }
    Tensor view() { return Tensor(values.data(), shape); }
    ConstTensor view() const { return ConstTensor(values.data(), shape); }

    /// Calls use(view) with the values, or with a copy of them if the layer stores them itself.
    template <class F>
    void with_values(F&& use) const {
      if (!keeper) return use(view());
      std::vector<float> copy(size());
      const Tensor copied(copy.data(), shape);
      keeper->read(copied, 0, 0);
      use(ConstTensor(copied));
    }
    /// Calls change(view), which may write the values. If the layer stores the values itself, in
    /// another form, that form is then updated from the changed copy.
    template <class F>
    void change_values(F&& change) {
      if (!keeper) return change(view());
      std::vector<float> copy(size());
      const Tensor copied(copy.data(), shape);
      keeper->read(copied, 0, 0);
      change(copied);
      keeper->write(copied, 0, 0);
    }
    std::size_t size() const {
      std::size_t result = 1;
      for (const std::int64_t count : shape) result *= static_cast<std::size_t>(count);
      return result;
    }

    /// Increments the counter of changes and updates the data derived from the values. Only this
    /// function does so.
    void mark_changed(Context& context) {
      ++changes;
      for (const auto& refresh : refreshes) refresh(context);
    }
  };
  struct Child {
    std::string name;  ///< the child's name; an empty name leaves the child's names unchanged
    std::shared_ptr<Node> node;
  };

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    for (const Child& child : children) {
      if (child.node->parent == this) child.node->parent = nullptr;
    }
  }

  std::vector<Entry> entries;
  std::vector<Child> children;
  std::vector<std::shared_ptr<Node>> shared;  ///< other layers whose parameters this layer also
                                              ///< uses
  std::vector<std::string> intermediates;
  std::uint64_t least_streams = 0;
  const Node* parent = nullptr;  ///< the layer that this layer was added to most recently

  std::string path() const {
    if (!parent) return {};
    std::string result = parent->path();
    for (const Child& child : parent->children) {
      if (child.node.get() != this || child.name.empty()) continue;
      return result.empty() ? child.name : result + "." + child.name;
    }
    return result;
  }

  /// Calls visit(name, entry) for each parameter of a node. The node may be const.
  template <class Self, class F>
  static void visit(Self& self, const std::string& path, F&& call) {
    for (auto& entry : self.entries) call(path + entry.name, entry);
    for (const Child& child : self.children) {
      Self& inner = *child.node;
      visit(inner, child.name.empty() ? path : path + child.name + ".", call);
    }
  }

  /// Returns null for an unknown name.
  template <class Self>
  static auto find(Self& self, std::string_view name) -> decltype(self.entries.data()) {
    for (auto& entry : self.entries) {
      if (entry.name == name) return &entry;
    }
    for (const Child& child : self.children) {
      const auto rest = within(name, child.name);
      if (!rest) continue;
      Self& inner = *child.node;
      if (auto* entry = find(inner, *rest)) return entry;
    }
    return nullptr;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    visit(*this, "", [&](const std::string& name, const Entry&) { names.push_back(name); });
    return names;
  }

  /// Throws kNotFound for an unknown name.
  static Entry& known(Node& self, std::string_view name) {
    Entry* entry = find(self, name);
    if (!entry) fail_unknown(name, self.names());
    return *entry;
  }

  /// Returns the node that provides an intermediate, and the intermediate's name in that node. The
  /// node is null for an unknown name.
  static std::pair<const Node*, std::string_view> find_intermediate(const Node& self,
                                                                    std::string_view name) {
    if (std::ranges::find(self.intermediates, name) != self.intermediates.end()) {
      return {&self, name};
    }
    for (const Child& child : self.children) {
      const auto rest = within(name, child.name);
      if (!rest) continue;
      const auto found = find_intermediate(*child.node, *rest);
      if (found.first) return found;
    }
    return {nullptr, {}};
  }

  /// Finds a parameter by the address of its values. Returns null if the parameter belongs to
  /// another layer.
  static const Entry* find(const Node& self, const float* values) noexcept {
    for (const Entry& entry : self.entries) {
      if (entry.values.data() == values) return &entry;
    }
    for (const Child& child : self.children) {
      if (const Entry* entry = find(*child.node, values)) return entry;
    }
    for (const std::shared_ptr<Node>& owner : self.shared) {
      if (const Entry* entry = find(*owner, values)) return entry;
    }
    return nullptr;
  }

  static void collect(const std::shared_ptr<Node>& self, const std::string& path,
                      std::vector<ModuleAccess::FoundParameter>& found) {
    for (Entry& entry : self->entries) {
      const Tensor values = entry.keeper ? Tensor() : entry.view();
      found.push_back({path + entry.name, entry.shape, entry.type(), values, self, &entry});
    }
    for (const Child& child : self->children) {
      collect(child.node, child.name.empty() ? path : path + child.name + ".", found);
    }
  }

  /// Returns the number of random streams used.
  std::uint64_t initialize(const RandomStream& first, Context& context) {
    RandomStream random = first;
    for (Entry& entry : entries) {
      switch (entry.initialization.kind) {
        case Initialization::Kind::kZeros:
        case Initialization::Kind::kOnes:
          entry.change_values([&](const Tensor& values) {
            const bool ones = entry.initialization.kind == Initialization::Kind::kOnes;
            std::fill_n(values.data(), entry.size(), ones ? 1.0F : 0.0F);
          });
          break;
        default:
          entry.change_values(
              [&](const Tensor& values) { draw(values, entry.initialization, random, context); });
          random.stream += static_cast<std::uint64_t>(entry.initialization.parts);
      }
      entry.mark_changed(context);
    }
    for (const Child& child : children) random.stream += child.node->initialize(random, context);
    return std::max(random.stream - first.stream, least_streams);
  }

  void list_intermediates(const std::string& path, std::vector<std::string>& names) const {
    for (const std::string& name : intermediates) names.push_back(path + name);
    for (const Child& child : children) {
      child.node->list_intermediates(child.name.empty() ? path : path + child.name + ".", names);
    }
  }
};

Module::Module() : node_(std::make_shared<Node>()) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

std::vector<std::string> Module::parameter_names() const { return node_->names(); }

ConstTensor Module::parameter(std::string_view name) const {
  const Node::Entry& entry = Node::known(*node_, name);
  if (entry.keeper) ModuleAccess::fail_kept(name, entry.keeper->type, "read_parameter()");
  return entry.view();
}

ElementType Module::parameter_type(std::string_view name) const {
  const Node::Entry& entry = Node::known(*node_, name);
  return entry.type();
}

std::span<const std::int64_t> Module::parameter_shape(std::string_view name) const {
  const Node::Entry& entry = Node::known(*node_, name);
  return entry.shape;
}

void Module::read_parameter(std::string_view name, const AnyTensor& values,
                            Context& context) const {
  const Node::Entry& entry = Node::known(*node_, name);
  validation::require_same_shape(name, values.shape(), entry.shape);
  validation::require_data(name, values);
  if (entry.keeper) return entry.keeper->read(values, 0, 0);
  runtime::Execution run(context);
  if (values.type() != ElementType::kFloat32) return narrow(entry.view(), values, run);
  copy(entry.view(), values.as<float>(), run);
}

void Module::set_parameter(std::string_view name, const ConstTensor& values, Context& context) {
  Node::Entry& entry = Node::known(*node_, name);
  validation::require_same_shape(name, values, entry.view());
  validation::require_data(name, values);
  if (entry.keeper) {
    entry.keeper->write(values, 0, 0);
  } else {
    runtime::Execution run(context);
    copy(values, entry.view(), run);
  }
  entry.mark_changed(context);
}

void Module::visit_parameters(const std::function<void(const ConstParameter&)>& visit) const {
  const Node& node = *node_;
  Node::visit(node, "", [&](const std::string& name, const Node::Entry& entry) {
    entry.with_values(
        [&](const ConstTensor& values) { visit({name, values, entry.initialization}); });
  });
}

void Module::update_parameters(const std::function<void(const Parameter&)>& update,
                               Context& context) {
  Node::visit(*node_, "", [&](const std::string& name, Node::Entry& entry) {
    try {
      entry.change_values(
          [&](const Tensor& values) { update({name, values, entry.initialization}); });
    } catch (...) {
      entry.mark_changed(context);
      throw;
    }
    entry.mark_changed(context);
  });
}

void Module::initialize_xavier(const RandomStream& random, Context& context) {
  node_->initialize(random, context);
}

void Module::initialize_xavier(std::uint64_t seed, Context& context) {
  initialize_xavier(RandomStream{seed, 0}, context);
}

std::vector<std::string> Module::intermediate_names() const {
  std::vector<std::string> names;
  node_->list_intermediates("", names);
  return names;
}

Tensor Module::add_parameter(std::string name, std::span<const std::int64_t> shape,
                             const Initialization& initialization) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    validation::require_at_least(name, size, 0);
    count = validation::product(name, std::array{count, size});
  }
  const std::size_t size = validation::allocation(name, count, sizeof(float));
  const float first = initialization.kind == Initialization::Kind::kOnes ? 1.0F : 0.0F;
  node_->entries.push_back({.name = std::move(name),
                            .shape = {shape.begin(), shape.end()},
                            .values = std::vector<float>(size, first),
                            .initialization = initialization});
  return node_->entries.back().view();
}

void Module::add_kept_parameter(std::string name, std::span<const std::int64_t> shape,
                                const Initialization& initialization, ParameterKeeper keeper) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    validation::require_at_least(name, size, 0);
    count = validation::product(name, std::array{count, size});
  }
  node_->entries.push_back({.name = std::move(name),
                            .shape = {shape.begin(), shape.end()},
                            .values = {},
                            .initialization = initialization,
                            .keeper = std::move(keeper)});
}

void Module::when_changed(std::function<void(Context&)> refresh) {
  node_->entries.back().refreshes.push_back(std::move(refresh));
}

ConstTensor Module::share_parameter(const Module& owner, std::string_view name,
                                    std::function<void(Context&)> refresh) {
  Node::Entry& entry = Node::known(*owner.node_, name);
  node_->shared.push_back(owner.node_);
  if (refresh) entry.refreshes.push_back(std::move(refresh));
  return std::as_const(entry).view();
}

void Module::add_child(std::string name, const Module& child) {
  for (Node::Child& known : node_->children) {
    if (!name.empty() && known.name == name) {
      known.node = child.node_;
      known.node->parent = node_.get();
      return;
    }
  }
  node_->children.push_back({std::move(name), child.node_});
  child.node_->parent = node_.get();
}

std::shared_ptr<const void> ModuleAccess::keep(const Module& layer) noexcept { return layer.node_; }

std::string ModuleAccess::path(const void* identity) {
  return static_cast<const Module::Node*>(identity)->path();
}

std::pair<const void*, std::string_view> ModuleAccess::intermediate(const Module& layer,
                                                                    std::string_view name) {
  const auto [node, own_name] = Module::Node::find_intermediate(*layer.node_, name);
  if (!node) fail_unknown(name, layer.intermediate_names());
  return {node, own_name};
}

const std::uint64_t* ModuleAccess::changes(const Module& layer, const float* values) {
  const Module::Node::Entry* entry = Module::Node::find(*layer.node_, values);
  if (!entry)
    validation::fail(ErrorCode::kNotFound, "parameter", {"a parameter of another layer"},
                     {"one of this layer"});
  return &entry->changes;
}

std::string ModuleAccess::path(const void* identity, const float* values) {
  const auto& node = *static_cast<const Module::Node*>(identity);
  std::string layer = node.path();
  if (!layer.empty()) layer += '.';
  std::string result;
  Module::Node::visit(node, layer, [&](const std::string& name, const Module::Node::Entry& entry) {
    if (entry.values.data() == values) result = name;
  });
  for (const auto& owner : node.shared) {
    if (result.empty()) result = path(owner.get(), values);
  }
  return result;
}

std::vector<ModuleAccess::FoundParameter> ModuleAccess::parameters(const Module& layer) {
  std::vector<FoundParameter> found;
  Module::Node::collect(layer.node_, "", found);
  return found;
}

void ModuleAccess::read(const Module& layer, std::string_view name, const Tensor& block,
                        std::int64_t row) {
  const Module::Node::Entry& entry = Module::Node::known(*layer.node_, name);
  if (entry.keeper) return entry.keeper->read(block, row, 0);
  std::copy_n(&entry.view()(row, 0), block.size(0) * block.size(1), block.data());
}

void ModuleAccess::write(const FoundParameter& parameter, const ConstTensor& block,
                         std::int64_t row, std::int64_t col) {
  static_cast<Module::Node::Entry*>(parameter.entry)->keeper->write(block, row, col);
}

void ModuleAccess::fail_kept(std::string_view name, ElementType type, const char* needs) {
  validation::fail(ErrorCode::kUnsupported, name, {"a parameter stored as ", to_string(type)},
                   {needs});
}

void ModuleAccess::mark_changed(const FoundParameter& parameter, Context& context) {
  static_cast<Module::Node::Entry*>(parameter.entry)->mark_changed(context);
}

void Module::reserve_streams(std::uint64_t count) { node_->least_streams = count; }

void Module::add_intermediates(std::initializer_list<const char*> names) {
  node_->intermediates.insert(node_->intermediates.end(), names.begin(), names.end());
}

}  // namespace attn
