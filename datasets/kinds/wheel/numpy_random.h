#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace npzoo {

/// The numbers of `numpy.random` after `numpy.random.seed(seed)`: the Mersenne Twister, and what NumPy's old generator
/// (RandomState, which is frozen) makes of it. For data that its authors published as a seed.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : words_(seed) {}

  /// Uniform on [0, 1), 53 bits: `random_sample`.
  double uniform();
  /// Standard normal by Marsaglia's polar method, two at a time, the second first: `standard_normal`.
  double normal();
  /// Uniform among 0 … most, by rejection below the next power of two.
  std::uint32_t integer(std::uint32_t most);
  /// `shuffle`.
  void shuffle(std::span<std::int64_t> values);

 private:
  std::mt19937 words_;
  std::optional<double> kept_;
};

/// The first `count` numbers of `torch.rand` in float32 on the CPU after `torch.manual_seed(seed)`.
std::vector<double> torch_uniforms(std::uint32_t seed, std::int64_t count);

}  // namespace npzoo
