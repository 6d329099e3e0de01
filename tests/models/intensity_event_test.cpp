#include "npzoo/models/predictions/intensity_event.h"

#include <cmath>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/engine/gradcheck.h"
#include "tests/models/events.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr double kSharpness = 1.3;

/// Levels of marks, slopes of six events, sharpness, expected gaps and logits of marks.
std::vector<Tensor> of_intensities(DType dtype = DType::float64) {
  std::vector<Tensor> all{normal<double>({2, 3, kMarks}, 1), normal<double>({2, 3, 1}, 2, 0.4),
                          Tensor::full({1}, kSharpness, DType::float64), normal<double>({2, 3}, 3),
                          normal<double>({2, 3, kMarks}, 4)};
  for (Tensor& x : all) x = x.to(dtype).to(default_device());
  return all;
}

IntensityEvent intensity_event(const std::vector<Tensor>& p) {
  return IntensityEvent({p[0], p[1], p[2]}, p[3], log_softmax(p[4]));
}

/// After event i, by the paper's formula.
class ByHand {
 public:
  explicit ByHand(const std::vector<Tensor>& p) : levels_(doubles(p[0])), slopes_(doubles(p[1])) {}

  double of_mark(std::size_t i, std::size_t k, double elapsed) const {
    const double x = kSharpness * (levels_[i * kMarks + k] + slopes_[i] * elapsed);
    return (x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))) / kSharpness + 1e-9;
  }
  double total(std::size_t i, double elapsed) const {
    double sum = 0;
    for (std::size_t k = 0; k < kMarks; ++k) sum += of_mark(i, k, elapsed);
    return sum;
  }
  /// By Simpson's rule.
  double integral(std::size_t i, double gap) const {
    constexpr int kSteps = 400;
    double sum = 0;
    for (int s = 0; s <= kSteps; ++s)
      sum += (s == 0 || s == kSteps ? 1 : s % 2 == 1 ? 4 : 2) * total(i, gap * s / kSteps);
    return sum * gap / (3 * kSteps);
  }

 private:
  std::vector<double> levels_, slopes_;
};

}  // namespace

TEST_CASE_TEMPLATE("intensity event: density is intensity times survival, of an end survival alone", T, float, double) {
  const std::vector<Tensor> p = of_intensities(dtype_of<T>());
  const ByHand by_hand(p);
  const IntensityEvent event = intensity_event(p);
  Tensor y = some_events().to(Device::cpu).clone();
  y.data<double>()[2 * 2 + 1] = kNoEvent;
  y = y.to(default_device());
  std::vector<double> expected;
  const std::vector<double> events = doubles(y);
  for (std::size_t i = 0; i < 6; ++i) {
    const double gap = events[2 * i], mark = events[2 * i + 1];
    expected.push_back(-by_hand.integral(i, gap));
    if (mark != kNoEvent) expected.back() += std::log(by_hand.of_mark(i, static_cast<std::size_t>(mark), gap));
  }
  const Tensor each = event.log_likelihood(y.to(dtype_of<T>()));
  CHECK(each.dtype() == dtype_of<T>());
  CHECK(largest_difference(each, expected) <= (std::is_same_v<T, float> ? 1e-4 : 1e-9));
  const EventScores scores = event.score(y);
  const Tensor sum = add(scores.time, scores.mark);
  CHECK(largest_difference(sum, expected) <= (std::is_same_v<T, float> ? 1e-4 : 1e-9));
  const std::vector<double> sums = doubles(sum);
  CHECK(largest_difference(event.joint_log_likelihood(y), {sums[0] + sums[1] + sums[2], sums[3] + sums[4] + sums[5]}) <=
        1e-12);
}

TEST_CASE("intensity event: gradients of the density") {
  const Tensor y = some_events();
  const auto log_likelihood = [&](const std::vector<Tensor>& in) {
    return IntensityEvent({in[0], in[1], in[2]}, Tensor::zeros({2, 3}, DType::float64),
                          Tensor::zeros({2, 3, kMarks}, DType::float64))
        .log_likelihood(y);
  };
  std::vector<Tensor> parameters = of_intensities();
  parameters.resize(3);
  CHECK(gradcheck(log_likelihood, parameters).max_error <= 1e-6);
}

TEST_CASE("intensity event: samples and quantiles are where the integral says, whatever the slope") {
  std::vector<Tensor> p = of_intensities();
  p[1] = Tensor::from<double>({2, 3, 1}, {-3, -0.2, 0, 1e-6, 0.5, 4}).to(default_device());
  p[0] = Tensor::from<double>({2, 3, kMarks},
                              {6, 5, 3, 4, 1, -1, 0, 2, 0, 0, 0, 1, -9, -9, -9, -9, -2, -1, -3, -4, -5, -6, -7, -8})
             .to(default_device());
  const ByHand by_hand(p);
  const IntensityEvent event = intensity_event(p);
  const Marginals marginals = event.marginals();
  CHECK(marginals.labels == 1);
  const std::vector<double> log_gaps = doubles(marginals.mean);
  REQUIRE(log_gaps.size() == 32 * 6);
  for (std::size_t j = 0; j < 32; j += 5)
    for (std::size_t i = 0; i < 6; ++i)
      CHECK(by_hand.integral(i, std::exp(log_gaps[j * 6 + i])) ==
            doctest::Approx(-std::log(1 - (static_cast<double>(j) + 0.5) / 32)).epsilon(1e-6));
  constexpr std::size_t kDraws = 2000;
  Draws draws = some_draws();
  const std::vector<double> drawn = doubles(event.sample(kDraws, draws));
  for (std::size_t i = 0; i < 6; ++i) {
    // 1 − exp(−integral) of what is drawn is uniform, and marks come as their intensities at that gap are.
    double mean = 0, first = 0, expected = 0, variance = 0;
    for (std::size_t n = 0; n < kDraws; ++n) {
      const double gap = drawn[2 * (n * 6 + i)], mark = drawn[2 * (n * 6 + i) + 1];
      mean += (1 - std::exp(-by_hand.integral(i, gap))) / kDraws;
      const double share = by_hand.of_mark(i, 0, gap) / by_hand.total(i, gap);
      first += mark == 0;
      expected += share;
      variance += share * (1 - share);
    }
    CHECK(std::abs(mean - 0.5) <= 5 * std::sqrt(1.0 / 12 / kDraws));
    CHECK(std::abs(first - expected) <= 5 * std::sqrt(variance) + 1e-9);
  }
}

TEST_CASE("intensity event: with fading intensities, events that may never come are late") {
  std::vector<Tensor> p = of_intensities();
  p[0] = Tensor::full({2, 3, kMarks}, -1, DType::float64, default_device());
  p[1] = Tensor::full({2, 3, 1}, -2, DType::float64, default_device());
  const std::vector<double> log_gaps = doubles(intensity_event(p).marginals().mean);
  CHECK(std::isfinite(log_gaps.back()));
  CHECK(log_gaps.back() > std::log(1e7));  // by kLeastIntensity alone
}

TEST_CASE("intensity event: shapes that do not fit are one-line errors") {
  const OnCpu cpu;
  const std::vector<Tensor> p = of_intensities();
  const Tensor flat = Tensor::zeros({2, 3}, DType::float64);
  CHECK(error_of([&] {
          IntensityEvent({flat, p[1], p[2]}, p[3], p[4]);
        }) == "[prediction] levels of intensities (2, 3) found, expected (B, Nt, M)");
  CHECK(error_of([&] {
          IntensityEvent({p[0], flat, p[2]}, p[3], p[4]);
        }) == "[prediction] slopes (2, 3) and sharpness (1) of intensities found, expected (2, 3, 1) and one number");
  CHECK(error_of([&] {
          IntensityEvent({p[0], p[1], p[2]}, p[4], p[4]);
        }) == "[prediction] expected gaps (2, 3, 4) and marks (2, 3, 4) found, expected (2, 3) and (2, 3, 4)");
  const IntensityEvent event = intensity_event(p);
  const auto refused = [&](const Tensor& y, const std::string& text) {
    CHECK(error_of([&] { event.log_likelihood(y); }) == text);
    CHECK(error_of([&] { event.joint_log_likelihood(y); }) == text);
    CHECK(error_of([&] { event.score(y); }) == text);
  };
  refused(events(-0.5, 1), "[prediction] gap -0.5 found, expected 0 or more");
  refused(events(1, 4), "[prediction] mark 4 found, expected one of 0 … 3, or -1 for an end");
  refused(slice(some_events(), 2, 0, 1), "[prediction] y (2, 3, 1) found, expected (2, 3, 2)");
}
