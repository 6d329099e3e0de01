#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace npzoo {

/// The position of a random stream. Saving these three numbers saves the stream.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;  // blocks of four 32-bit words drawn so far
  bool operator==(const RandomState&) const = default;
};

/// Distance between the random numbers of one task of a batch and of the next: see npzoo/engine/draws.h.
inline constexpr std::uint64_t kBlocksOfATask = std::uint64_t{1} << 44;

/// Block `offset` of the Philox4x32-10 stream (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
/// The counter is laid out as cuRAND does, so that a GPU draws the same integers.
std::array<std::uint32_t, 4> philox(const RandomState& state);

/// Counter-based generator: explicit seed, explicit stream, no hidden state. Different streams of one seed are
/// independent, so work can be split over threads without changing the numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : state_{seed, stream, 0} {}
  explicit Random(const RandomState& state) : state_(state) {}

  const RandomState& state() const { return state_; }
  /// Skips `blocks` blocks, which the caller draws itself, and returns the position before them.
  RandomState reserve(std::uint64_t blocks);

  std::array<std::uint32_t, 4> next_block();
  /// Uniform on [0, 1), 53 bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform integer in [low, high).
  std::int64_t integer(std::int64_t low, std::int64_t high);
  /// Standard normal (Box-Muller).
  double normal();
  void fill_normal(std::span<double> out);
  /// Gamma with unit scale (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000); shape >= 1.
  double gamma(double shape);
  double beta(double a, double b);
  /// Random permutation of 0 … out.size() − 1 (Fisher-Yates).
  void fill_permutation(std::span<std::int64_t> out);

 private:
  RandomState state_;
};

/// Maps 53 random bits to [0, 1).
inline double unit_interval(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((static_cast<std::uint64_t>(high) << 21) ^ (low >> 11)) * 0x1p-53;
}

}  // namespace npzoo
