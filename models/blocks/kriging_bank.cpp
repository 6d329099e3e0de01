#include "npzoo/models/blocks/kriging_bank.h"

#include <array>
#include <cmath>
#include <span>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

struct Lengths {
  std::vector<double> between_points, of_range;
};

/// Kernels of one kind share its weight.
class Bank {
 public:
  void add(const KrigingKernel& kernel) { kernels_.push_back(kernel); }
  void end_kind(double weight) {
    const double each = weight / static_cast<double>(kernels_.size() - begin_);
    for (; begin_ < kernels_.size(); ++begin_) kernels_[begin_].log_weight = std::log(each);
  }
  std::vector<KrigingKernel> kernels() && { return std::move(kernels_); }

 private:
  std::size_t begin_ = 0;
  std::vector<KrigingKernel> kernels_;
};

/// How much shorter than usual a length scale is along each input.
using Shorter = std::array<double, 3>;

/// The first input's is `ratio` times shorter, the second's as much longer.
Shorter stretched(double ratio) { return {ratio, 1 / ratio, 1}; }

/// Every length scale with every noise.
void add_matern(Bank& bank, double smoothness, const Lengths& lengths, const std::vector<double>& noises,
                const Shorter& shorter = {1, 1, 1}) {
  const auto each = [&](double length, double relative) {
    for (double noise : noises)
      bank.add({.smoothness = smoothness,
                .inverse_length = {shorter[0] / length, shorter[1] / length, shorter[2] / length},
                .relative = relative,
                .noise = noise});
  };
  for (double length : lengths.between_points) each(length, 1);
  for (double length : lengths.of_range) each(length, 0);
}

/// Beside the periodic part another one is added, which does not repeat itself.
struct Waves {
  double slot;
  std::vector<double> decays, shares;
};

void add_periodic(Bank& bank, const Waves& waves) {
  struct Rest {
    double smoothness, length;
  };
  for (double width : {0.5, 1.2})
    for (double decay : waves.decays)
      for (double share : waves.shares)
        for (const Rest rest : {Rest{0, 0.3}, Rest{1, 0.05}, Rest{1, 0.15}})
          for (double noise : {2e-3, 0.03})
            bank.add({.smoothness = rest.smoothness,
                      .inverse_length = {1 / rest.length, 1 / rest.length, 1 / rest.length},
                      .noise = noise,
                      .share = share,
                      .ratio = rest.length / decay,
                      .inverse_width = 1 / (width * width),
                      .period = waves.slot});
}

void add_curves(Bank& bank) {
  add_matern(bank, 0, {{3, 12}, {0.3, 1, 4, 16}}, {1e-5, 0.1});
  bank.end_kind(1);
  add_matern(bank, 1, {{3, 8}, {0.15, 0.4, 1, 3}}, {1e-4, 0.1});
  bank.end_kind(1);
  add_matern(bank, 2, {{4}, {0.3, 0.8, 2, 6}}, {1e-5, 0.02, 0.2});
  bank.end_kind(1);
  add_periodic(bank, {0, {1, 8}, {0.5, 0.9}});
  add_periodic(bank, {1, {4}, {0.5}});
  bank.end_kind(3);
}

/// Smooth at short distances and rough at long ones, as maps of temperatures and the like: the sum of a Matérn-½
/// process, which returns to the mean in wide holes, and a smooth one.
void add_two_scales(Bank& bank, double stretch) {
  constexpr double kLong = 6;  // and the others, in distances between points
  for (double length : {1.5, 3.0, 6.0})
    for (double share : {0.25, 0.5, 0.75})
      for (double noise : {1e-3, 0.02})
        bank.add({.inverse_length = {stretch / kLong, 1 / (stretch * kLong), 1 / kLong},
                  .relative = 1,
                  .noise = noise,
                  .share = share,
                  .ratio = kLong / length});
}

void add_surfaces(Bank& bank) {
  constexpr double kStretch = 1.3;
  for (double smoothness : {0.0, 1.0, 2.0}) {
    add_matern(bank, smoothness, {{1.5, 4}, {1, 4}}, {1e-4, 0.05, 0.3});
    bank.end_kind(1);
  }
  for (double stretch : {kStretch, 1 / kStretch})
    for (double smoothness : {0.0, 1.0}) add_matern(bank, smoothness, {{4}, {1.5}}, {1e-3, 0.1}, stretched(stretch));
  bank.end_kind(1);
  for (double stretch : {1.0, kStretch, 1 / kStretch}) add_two_scales(bank, stretch);
  bank.end_kind(2);
}

void add_volumes(Bank& bank) {
  for (double smoothness : {0.0, 1.0, 2.0}) {
    add_matern(bank, smoothness, {{1.5, 4}, {1, 4}}, {1e-4, 0.05, 0.3});
    bank.end_kind(1);
  }
}

/// One input whose length scale differs from that of the two others, by `ratio`, without changing volumes.
void add_one_of_three(Bank& bank, double smoothness, const Lengths& lengths, const std::vector<double>& noises,
                      double ratio) {
  for (std::size_t other = 0; other < 3; ++other) {
    Shorter shorter;
    shorter.fill(std::pow(ratio, -1.0 / 3));
    shorter[other] = std::pow(ratio, 2.0 / 3);
    add_matern(bank, smoothness, lengths, noises, shorter);
  }
}

/// Inputs of different kinds, such as a place and a time, or a place and its height: along each of them the values
/// change fast, slowly or not at all.
void add_unlike_inputs(Bank& bank) {
  for (double smoothness : {0.0, 1.0, 2.0}) {
    add_matern(bank, smoothness, {{1.5, 4}, {1, 4}}, {1e-4, 0.05, 0.4, 2});
    bank.end_kind(1);
  }
  for (double ratio : {4.0, 0.25}) {
    for (double smoothness : {0.0, 1.0}) add_one_of_three(bank, smoothness, {{2}, {2}}, {1e-3, 0.05, 0.4, 2}, ratio);
    bank.end_kind(1);
  }
  for (double ratio : {16.0, 0.0625}) {
    add_one_of_three(bank, 1, {{}, {1, 4}}, {0.02, 0.2, 2}, ratio);
    bank.end_kind(0.5);
  }
}

}  // namespace

std::vector<KrigingKernel> named_kriging_bank(const std::string& name, std::int64_t dim_x) {
  Bank bank;
  if (name == "axes-1") {
    check(dim_x == 3, "[kriging_bank] {} inputs found, axes-1 takes 3", dim_x);
    add_unlike_inputs(bank);
    return std::move(bank).kernels();
  }
  check(name == "broad-1", "[kriging_bank] '{}' found, expected broad-1 or axes-1", name);
  check(1 <= dim_x && dim_x <= 3, "[kriging_bank] {} inputs found, expected 1 to 3", dim_x);
  if (dim_x == 1) add_curves(bank);
  if (dim_x == 2) add_surfaces(bank);
  if (dim_x == 3) add_volumes(bank);
  return std::move(bank).kernels();
}

}  // namespace npzoo
