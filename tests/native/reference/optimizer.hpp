#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "reference/array.hpp"

namespace reference {

/// Parameters, or their gradients, by name.
using Parameters = std::map<std::string, Array>;

/// torch.nn.utils.clip_grad_norm_: returns the norm of all gradients before clipping.
inline double clip_grad_norm(Parameters& gradients, double max_norm) {
  double square = 0;
  for (const auto& [name, gradient] : gradients) {
    for (const double g : gradient.values) square += g * g;
  }
  const double norm = std::sqrt(square);
  const double factor = std::fmin(max_norm / (norm + 1e-6), 1);
  for (auto& [name, gradient] : gradients) {
    for (double& g : gradient.values) g *= factor;
  }
  return norm;
}

/// torch.optim.SGD.
struct Sgd {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  Parameters buffers = {};  ///< the momentum buffers; empty before the first step

  void step(Parameters& parameters, const Parameters& gradients) {
    for (auto& [name, parameter] : parameters) {
      const bool first = !buffers.contains(name);
      if (first) buffers[name] = Array(parameter.shape);
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        double& p = parameter.values[i];
        double& b = buffers[name].values[i];
        const double g = gradients.at(name).values[i] + weight_decay * p;
        b = first ? g : momentum * b + (1 - dampening) * g;
        p -= lr * (momentum == 0 ? g : nesterov ? g + momentum * b : b);
      }
    }
  }
};

/// torch.optim.Adam, or torch.optim.AdamW if `decoupled` is true.
struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;
  int steps = 0;
  Parameters m = {}, v = {};

  void step(Parameters& parameters, const Parameters& gradients) {
    ++steps;
    for (auto& [name, parameter] : parameters) {
      if (steps == 1) m[name] = v[name] = Array(parameter.shape);
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        double& p = parameter.values[i];
        double g = gradients.at(name).values[i];
        if (decoupled) {
          p -= lr * weight_decay * p;
        } else {
          g += weight_decay * p;
        }
        double& mean = m[name].values[i];
        double& square = v[name].values[i];
        mean = beta1 * mean + (1 - beta1) * g;
        square = beta2 * square + (1 - beta2) * g * g;
        p -= lr * (mean / (1 - std::pow(beta1, steps))) /
             (std::sqrt(square / (1 - std::pow(beta2, steps))) + eps);
      }
    }
  }
};

}  // namespace reference
