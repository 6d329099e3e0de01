#include "npzoo/engine/gradcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

namespace {

bool is_checked(const Tensor& input) { return input.dtype() == DType::float64; }

/// The size of a step at x. An infinity or a NaN stays what it is: a gradient there must be 0.
double magnitude(double x) { return std::isfinite(x) ? std::max(1.0, std::abs(x)) : 1.0; }

double largest_gradient(const Tensor& gradient) {
  double result = 0;
  for (const double g : gradient.values<double>()) result = std::max(result, std::abs(g));
  return result;
}

class Checker {
 public:
  Checker(const TensorFunction& f, std::vector<Tensor> inputs, const GradcheckOptions& options)
      : f_(f), inputs_(std::move(inputs)), options_(options), random_(options.seed) {
    for (Tensor& input : inputs_)
      if (is_checked(input)) {
        device_ = input.device();
        input = input.to(Device::cpu).clone();  // differences are taken in place
      }
  }

  GradcheckResult run() {
    differentiate();
    if (!all_finite()) return result_;
    double overall = 0;
    for (const Tensor& gradient : gradients_) overall = std::max(overall, largest_gradient(gradient));
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (is_checked(inputs_[k])) check_entries(k, std::max({largest_gradient(gradients_[k]), 1e-3 * overall, 1e-4}));
    check_direction();
    return result_;
  }

 private:
  void differentiate();
  /// f(inputs), computed where the inputs were, copied to the CPU. Not a view of an input, which f may return.
  Tensor evaluate() const;
  bool all_finite();
  void check_entries(std::size_t k, double scale);
  void check_direction();

  /// Compares `analytic` with the slope at 0 of t -> cotangent . f(inputs after `move(t)`).
  template <class Move>
  void compare(double analytic, double scale, double step, const Move& move, const std::string& name);
  template <class Move>
  double slope(double step, const Move& move) const;

  const TensorFunction& f_;
  std::vector<Tensor> inputs_;  // those that are checked: on the CPU
  Device device_ = Device::cpu;
  GradcheckOptions options_;
  Random random_;
  Tensor cotangent_;
  std::vector<Tensor> gradients_;  // one for each input; empty for those that are not checked
  GradcheckResult result_;
};

void Checker::differentiate() {
  Tape tape;
  std::vector<Tensor> leaves = inputs_;
  for (Tensor& leaf : leaves)
    if (is_checked(leaf)) {
      leaf = leaf.to(device_);
      tape.watch(leaf);
    }
  Tensor out;
  {
    Recording on(tape);
    out = f_(leaves);
  }
  check(out.dtype() == DType::float64, "[gradcheck] the output is {}, expected float64", to_string(out.dtype()));
  cotangent_ = Tensor::empty(out.shape(), DType::float64, Device::cpu);
  random_.fill_normal(cotangent_.values<double>());
  const Grads& grads = tape.backward(out, cotangent_.clone().to(device_));
  for (const Tensor& leaf : leaves)
    gradients_.push_back(is_checked(leaf) ? grads.of(leaf).to(Device::cpu)
                                          : Tensor::empty({0}, DType::float64, Device::cpu));
}

Tensor Checker::evaluate() const {
  std::vector<Tensor> inputs = inputs_;
  for (Tensor& input : inputs)
    if (is_checked(input)) input = input.to(device_);
  const Tensor out = f_(inputs);
  return device_ == Device::cpu ? out.clone() : out.to(Device::cpu);
}

bool Checker::all_finite() {
  for (std::size_t k = 0; k < gradients_.size(); ++k) {
    const auto values = gradients_[k].values<double>();
    const auto bad = std::ranges::find_if_not(values, [](double g) { return std::isfinite(g); });
    if (bad == values.end()) continue;
    result_.max_error = std::numeric_limits<double>::infinity();
    result_.worst = fmt::format("input {} [{}]: analytic {}", k, bad - values.begin(), *bad);
    return false;
  }
  return true;
}

template <class Move>
double Checker::slope(double step, const Move& move) const {
  move(step);
  const Tensor above = evaluate();
  move(-step);
  const Tensor below = evaluate();
  move(0);
  const auto cotangent = cotangent_.values<double>(), high = above.values<double>(), low = below.values<double>();
  double sum = 0;
  for (std::size_t i = 0; i < cotangent.size(); ++i) sum += cotangent[i] * (high[i] - low[i]);
  return sum / (2 * step);
}

template <class Move>
void Checker::compare(double analytic, double scale, double step, const Move& move, const std::string& name) {
  constexpr double kAgreed = 1e-8;
  double numeric = slope(step, move);
  // For steep functions, Richardson's formula of fourth order may be the better reference.
  if (!(std::abs(analytic - numeric) <= kAgreed * scale)) {
    const double extrapolated = (4 * numeric - slope(2 * step, move)) / 3;
    if (std::abs(analytic - extrapolated) < std::abs(analytic - numeric)) numeric = extrapolated;
  }
  double error = std::abs(analytic - numeric) / scale;
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  ++result_.checked;
  if (error <= result_.max_error) return;
  result_.max_error = error;
  result_.worst = fmt::format("{}: analytic {}, numeric {}", name, analytic, numeric);
}

void Checker::check_entries(std::size_t k, double scale) {
  const auto x = inputs_[k].values<double>(), gradient = gradients_[k].values<double>();
  const bool all = inputs_[k].numel() <= options_.max_entries;
  const std::int64_t count = all ? inputs_[k].numel() : options_.max_entries;
  for (std::int64_t n = 0; n < count; ++n) {
    const auto i = static_cast<std::size_t>(all ? n : random_.integer(0, inputs_[k].numel()));
    const double value = x[i], step = options_.step * magnitude(value);
    compare(
        gradient[i], scale, step, [&](double t) { x[i] = value + t; }, fmt::format("input {} [{}]", k, i));
  }
}

void Checker::check_direction() {
  struct Line {
    std::span<double> x;
    Tensor origin, direction;
  };
  std::vector<Line> lines;
  double analytic = 0, norm = 0;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (!is_checked(inputs_[k])) continue;
    Line line{inputs_[k].values<double>(), inputs_[k].clone(), Tensor::empty_like(inputs_[k])};
    const auto v = line.direction.values<double>(), gradient = gradients_[k].values<double>();
    random_.fill_normal(v);
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] *= magnitude(line.x[i]);
      analytic += v[i] * gradient[i];
      norm = std::hypot(norm, v[i] * gradient[i]);
    }
    lines.push_back(std::move(line));
  }
  const auto move = [&lines](double t) {
    for (Line& line : lines)
      std::ranges::transform(line.origin.values<double>(), line.direction.values<double>(), line.x.begin(),
                             [t](double x, double v) { return x + t * v; });
  };
  compare(analytic, std::max(norm, 1e-4), options_.step, move, "random direction");
}

}  // namespace

GradcheckResult gradcheck(const TensorFunction& f, std::vector<Tensor> inputs, const GradcheckOptions& options) {
  NoGrad off;
  return Checker(f, std::move(inputs), options).run();
}

}  // namespace npzoo
