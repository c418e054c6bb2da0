#pragma once

namespace reference {

double relu(double x);
/// x·Φ(x), by the system's erfc.
double gelu(double x);
/// Its approximation by tanh.
double gelu_tanh(double x);

}  // namespace reference
