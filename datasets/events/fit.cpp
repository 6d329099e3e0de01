#include "npzoo/datasets/events/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Cholesky>
#include <limits>

#include "npzoo/datasets/events/clock_poisson.h"
#include "npzoo/datasets/events/hawkes.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::string name_of(MarkNames names, std::size_t mark) { return names.empty() ? fmt::format("{}", mark) : names[mark]; }

constexpr double kUnseen = 0.5, kNan = std::numeric_limits<double>::quiet_NaN();

double observed_time(std::span<const EventSequence> sequences) {
  double observed = 0;
  std::int64_t events = 0;
  for (const EventSequence& s : sequences) {
    observed += s.end;
    events += s.events();
  }
  check(observed > 0 && events > 0, "[events] {} events in a time of {} found, too few to fit a process to", events,
        observed);
  return observed;
}

double total(const PointProcess& process, std::span<const EventSequence> sequences) {
  double sum = 0;
  for (const EventSequence& s : sequences) sum += process.log_likelihood(s, 0);
  return sum;
}

/// `unseen`: the number of rates of half an event. The likeliest such rate is 0, under which half a nat more is found.
void complete(FittedProcess& fitted, std::span<const EventSequence> sequences, std::int64_t unseen) {
  fitted.log_likelihood = total(*fitted.process, sequences);
  const double most = fitted.log_likelihood + kUnseen * static_cast<double>(unseen);
  fitted.criterion = 2 * static_cast<double>(fitted.parameters.size()) - 2 * most;
}

/// Rows of a square matrix, as TOML.
std::string matrix(std::span<const double> values, std::size_t columns) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < values.size(); i += columns)
    rows.push_back(fmt::format("[{}]", fmt::join(values.subspan(i, columns), ", ")));
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

/// Parameters of a Hawkes process by their logarithms: baselines, excitations row by row, and one decay.
class HawkesFit {
 public:
  HawkesFit(std::span<const EventSequence> sequences, std::int64_t marks)
      : sequences_(sequences), m_(static_cast<std::size_t>(marks)) {
    const double observed = observed_time(sequences);
    double gaps = 0, events = 0;
    std::vector<double> counts(m_, kUnseen);
    for (const EventSequence& s : sequences)
      for (std::size_t i = 0; i < s.times.size(); ++i) {
        ++counts[static_cast<std::size_t>(s.marks[i])];
        gaps += s.times[i] - (i == 0 ? 0 : s.times[i - 1]);
        ++events;
      }
    const double decay = events / std::max(gaps, 1e-300);
    for (const double count : counts) values_.push_back(0.5 * count / observed);
    values_.insert(values_.end(), m_ * m_, 0.4 * decay / static_cast<double>(m_));
    values_.push_back(decay);
  }

  std::shared_ptr<const Hawkes> process(std::span<const double> values) const {
    const auto part = [&](std::size_t begin, std::size_t size) {
      return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                 values.begin() + static_cast<std::ptrdiff_t>(begin + size));
    };
    return std::make_shared<const Hawkes>(part(0, m_), part(m_, m_ * m_), std::vector<double>(m_ * m_, values.back()));
  }
  double likelihood(std::span<const double> values) const { return total(*process(values), sequences_); }

  /// Whether the curvature of the likelihood, a number for each pair of parameters, is affordable.
  bool is_precise() const { return m_ <= static_cast<std::size_t>(kMostPreciseMarks); }

  void maximise() {
    constexpr int kExpectations = 100, kAlone = 300;
    for (int i = 0; i < (is_precise() ? kExpectations : kAlone); ++i) expect();
    if (!is_precise()) return;
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps && newton(); ++i) throw_if_stopped();
  }

  const std::vector<double>& values() const { return values_; }

  /// The standard error of each value; NaN if the likelihood does not depend on it.
  std::vector<double> standard_errors() const {
    if (!is_precise()) return std::vector<double>(values_.size(), kNan);
    const std::vector<std::size_t> inner = inner_parameters();
    const Curvature c = curvature(inner);
    std::vector<double> errors(values_.size(), kNan);
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      const Eigen::VectorXd column = solve(c.hessian, Eigen::VectorXd::Unit(std::ssize(inner), at), 0);
      if (column.size() > 0 && column[at] > 0) errors[inner[i]] = values_[inner[i]] * std::sqrt(column[at]);
    }
    return errors;
  }

 private:
  struct Curvature {
    Eigen::VectorXd gradient;  // of minus the log-likelihood
    Eigen::MatrixXd hessian;
  };

  /// A step of expectation maximisation. Event i of mark k stems from the baseline or from an earlier event.
  void expect() {
    throw_if_stopped();
    const double decay = values_.back(), observed = observed_time(sequences_);
    std::vector<double> base(m_, 0), caused(m_ * m_, 0), reach(m_, 0);
    double waited = 0, children = 0;
    for (const EventSequence& s : sequences_) {
      std::vector<double> sums(m_, 0), delays(m_, 0);
      double before = 0;
      for (std::size_t i = 0; i < s.times.size(); ++i) {
        const auto k = static_cast<std::size_t>(s.marks[i]);
        const double gap = s.times[i] - before, faded = std::exp(-decay * gap);
        double intensity = values_[k], delay = 0;
        for (std::size_t j = 0; j < m_; ++j) {
          delays[j] = (delays[j] + gap * sums[j]) * faded;
          sums[j] *= faded;
          intensity += values_[m_ + k * m_ + j] * sums[j];
          delay += values_[m_ + k * m_ + j] * delays[j];
        }
        base[k] += values_[k] / intensity;
        for (std::size_t j = 0; j < m_; ++j) {
          const double share = values_[m_ + k * m_ + j] * sums[j] / intensity;
          caused[k * m_ + j] += share;
          children += share;
        }
        waited += delay / intensity;
        ++sums[k];
        before = s.times[i];
        reach[k] += -std::expm1(-decay * (s.end - s.times[i]));
      }
    }
    const double next = waited > 0 ? children / waited : decay;
    constexpr double kLeast = 1e-12;
    for (std::size_t k = 0; k < m_; ++k) {
      values_[k] = std::max(base[k], kLeast) / observed;
      for (std::size_t j = 0; j < m_; ++j)
        values_[m_ + k * m_ + j] = decay * std::max(caused[k * m_ + j], kLeast) / std::max(reach[j], kLeast);
    }
    values_.back() = next;
  }

  /// Those that are not at the border: at least a thousandth of an event stems from them. Without an excitation the
  /// decay changes nothing.
  std::vector<std::size_t> inner_parameters() const {
    std::vector<std::size_t> inner;
    const double observed = observed_time(sequences_);
    constexpr double kEvents = 1e-3;
    for (std::size_t i = 0; i + 1 < values_.size(); ++i) {
      const double events = i < m_ ? values_[i] * observed : values_[i] / values_.back();
      if (events > kEvents) inner.push_back(i);
    }
    if (!inner.empty() && inner.back() >= m_) inner.push_back(values_.size() - 1);
    return inner;
  }

  /// Computes derivatives by all parameters. An event contributes to those of its mark's intensity: the baseline, the
  /// excitations and the decay.
  Curvature by_values() const {
    const auto width = static_cast<Eigen::Index>(m_) + 2, decay_at = width - 1;
    const double decay = values_.back();
    std::vector<Eigen::VectorXd> gradients(m_, Eigen::VectorXd::Zero(width));
    std::vector<Eigen::MatrixXd> hessians(m_, Eigen::MatrixXd::Zero(width, width));
    // For each mark j, sums over its earlier events: of exp(−decay · delay), and of this times delay and delay². Then
    // sums over all its events: of 1 − exp(−decay · rest), rest being the time to the end, and its two derivatives.
    Eigen::VectorXd slope(width);
    std::vector<double> sums(m_), delays(m_), squares(m_), reach(m_, 0), reach1(m_, 0), reach2(m_, 0);
    for (const EventSequence& s : sequences_) {
      throw_if_stopped();
      for (auto* all : {&sums, &delays, &squares}) std::ranges::fill(*all, 0);
      double before = 0;
      for (std::size_t i = 0; i < s.times.size(); ++i) {
        const auto k = static_cast<std::size_t>(s.marks[i]);
        const double gap = s.times[i] - before, faded = std::exp(-decay * gap);
        const double* excitation = &values_[m_ + k * m_];
        double intensity = values_[k], bend = 0;  // and its second derivative by the decay
        slope.setZero();
        slope[0] = 1;
        for (std::size_t j = 0; j < m_; ++j) {
          squares[j] = (squares[j] + gap * (2 * delays[j] + gap * sums[j])) * faded;
          delays[j] = (delays[j] + gap * sums[j]) * faded;
          sums[j] *= faded;
          intensity += excitation[j] * sums[j];
          slope[static_cast<Eigen::Index>(1 + j)] = sums[j];
          slope[decay_at] -= excitation[j] * delays[j];
          bend += excitation[j] * squares[j];
        }
        gradients[k] -= slope / intensity;
        Eigen::MatrixXd& h = hessians[k];
        h.noalias() += slope * slope.transpose() / (intensity * intensity);
        for (std::size_t j = 0; j < m_; ++j) h(decay_at, static_cast<Eigen::Index>(1 + j)) += delays[j] / intensity;
        h(decay_at, decay_at) -= bend / intensity;
        ++sums[k];
        before = s.times[i];
        const double rest = s.end - s.times[i], left = std::exp(-decay * rest);
        reach[k] -= std::expm1(-decay * rest);
        reach1[k] += rest * left;
        reach2[k] -= rest * rest * left;
      }
    }
    const auto n = std::ssize(values_);
    Curvature c{Eigen::VectorXd::Zero(n), Eigen::MatrixXd::Zero(n, n)};
    const double observed = observed_time(sequences_);
    for (std::size_t k = 0; k < m_; ++k) {
      const auto place = [&](Eigen::Index i) {
        const auto at = static_cast<std::size_t>(i);
        return static_cast<Eigen::Index>(i == 0 ? k : i == decay_at ? values_.size() - 1 : m_ + k * m_ + at - 1);
      };
      gradients[k][0] += observed;
      for (std::size_t j = 0; j < m_; ++j) {
        const double excitation = values_[m_ + k * m_ + j], share = reach[j] / decay;
        const double first = (reach1[j] - share) / decay, second = (reach2[j] - 2 * first) / decay;
        const auto at = static_cast<Eigen::Index>(1 + j);
        gradients[k][at] += share;
        gradients[k][decay_at] += excitation * first;
        hessians[k](decay_at, at) += first;
        hessians[k](decay_at, decay_at) += excitation * second;
      }
      for (Eigen::Index a = 0; a < width; ++a) {
        c.gradient[place(a)] += gradients[k][a];
        for (Eigen::Index b = 0; b <= a; ++b) {
          c.hessian(place(a), place(b)) += hessians[k](a, b);
          if (a != b) c.hessian(place(b), place(a)) += hessians[k](a, b);
        }
      }
    }
    return c;
  }

  /// Computes derivatives by the logarithms of these parameters.
  Curvature curvature(std::span<const std::size_t> inner) const {
    const Curvature all = by_values();
    const auto n = std::ssize(inner);
    Curvature c{Eigen::VectorXd(n), Eigen::MatrixXd(n, n)};
    const auto place = [&](Eigen::Index i) { return static_cast<Eigen::Index>(inner[static_cast<std::size_t>(i)]); };
    const auto value = [&](Eigen::Index i) { return values_[inner[static_cast<std::size_t>(i)]]; };
    for (Eigen::Index a = 0; a < n; ++a) {
      c.gradient[a] = value(a) * all.gradient[place(a)];
      for (Eigen::Index b = 0; b < n; ++b)
        c.hessian(a, b) = value(a) * value(b) * all.hessian(place(a), place(b)) + (a == b ? c.gradient[a] : 0);
    }
    return c;
  }

  /// (A + ridge · diagonal) x = b; empty if that is not positive definite.
  static Eigen::VectorXd solve(Eigen::MatrixXd a, const Eigen::VectorXd& b, double ridge) {
    a.diagonal().array() += ridge * (1 + a.diagonal().array().abs());
    const Eigen::LLT<Eigen::MatrixXd> factor(a);
    if (factor.info() != Eigen::Success) return {};
    return factor.solve(b);
  }

  /// Returns false if no step makes the events more likely.
  bool newton() {
    const std::vector<std::size_t> inner = inner_parameters();
    const Curvature c = curvature(inner);
    const double here = likelihood(values_);
    constexpr double kMostRidge = 1e6, kLargestStep = 2, kSame = 1e-10;
    for (double ridge = 0; ridge <= kMostRidge; ridge = ridge == 0 ? 1e-4 : 10 * ridge) {
      const Eigen::VectorXd step = solve(c.hessian, c.gradient, ridge);
      if (step.size() == 0 || !(step.array().abs() < kLargestStep).all()) continue;
      std::vector<double> values = values_;
      for (std::size_t i = 0; i < inner.size(); ++i) values[inner[i]] *= std::exp(-step[static_cast<Eigen::Index>(i)]);
      const double there = likelihood(values);
      if (!(there > here)) continue;
      values_ = std::move(values);
      return there > here + kSame * std::abs(here);
    }
    return false;
  }

  std::span<const EventSequence> sequences_;
  std::size_t m_;
  std::vector<double> values_;
};

}  // namespace

FittedProcess fit_poisson(std::span<const EventSequence> sequences, std::int64_t marks, MarkNames names) {
  const double observed = observed_time(sequences);
  const auto process = Poisson::fitted(sequences, marks);
  FittedProcess fitted{.process = process, .parameters = {}, .text = {}};
  for (std::size_t k = 0; k < process->rates().size(); ++k) {
    const double rate = process->rates()[k];
    fitted.parameters.push_back({"rate " + name_of(names, k), rate, std::sqrt(rate / observed)});
  }
  fitted.text = fmt::format("kind = \"poisson\"\nrates = [{}]\n", fmt::join(process->rates(), ", "));
  std::vector<bool> seen(process->rates().size());
  for (const EventSequence& s : sequences)
    for (const std::int64_t mark : s.marks) seen[static_cast<std::size_t>(mark)] = true;
  complete(fitted, sequences, std::ranges::count(seen, false));
  return fitted;
}

FittedProcess fit_clock_poisson(std::span<const EventSequence> sequences, std::int64_t marks, double period,
                                std::int64_t parts, MarkNames names) {
  static_cast<void>(observed_time(sequences));
  check(period > 0 && parts >= 1, "[events] a period of {} with {} parts found, expected numbers above 0", period,
        parts);
  const auto size = static_cast<std::size_t>(parts);
  std::vector<double> time(size, 0), rates(static_cast<std::size_t>(marks) * size, 0);
  for (const EventSequence& s : sequences) {
    const std::vector<double> exposure = ClockPoisson::exposure(s.end, period, parts);
    for (std::size_t p = 0; p < size; ++p) time[p] += exposure[p];
    for (std::size_t i = 0; i < s.times.size(); ++i)
      ++rates[static_cast<std::size_t>(s.marks[i] * parts + ClockPoisson::part_at(s.times[i], period, parts))];
  }
  FittedProcess fitted{.process = nullptr, .parameters = {}, .text = {}};
  std::int64_t unseen = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double shown = time[i % size];
    check(shown > 0, "[events] part {} of the period {} is never observed, expected fewer parts", i % size, period);
    const double count = std::max(rates[i], kUnseen);
    unseen += rates[i] < kUnseen;
    rates[i] = count / shown;
    fitted.parameters.push_back(
        {fmt::format("rate {}, part {}", name_of(names, i / size), i % size), rates[i], std::sqrt(count) / shown});
  }
  fitted.text = fmt::format("kind = \"clock-poisson\"\nperiod = {}\nrates = {}\n", period, matrix(rates, size));
  fitted.process = std::make_shared<const ClockPoisson>(period, parts, std::move(rates));
  complete(fitted, sequences, unseen);
  return fitted;
}

FittedProcess fit_hawkes(std::span<const EventSequence> sequences, std::int64_t marks, MarkNames names) {
  HawkesFit fit(sequences, marks);
  fit.maximise();
  const std::vector<double>& values = fit.values();
  const std::vector<double> errors = fit.standard_errors();
  const auto m = static_cast<std::size_t>(marks);
  FittedProcess fitted{.process = fit.process(values), .parameters = {}, .text = {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t pair = i - m;
    const std::string name = i < m                    ? "baseline " + name_of(names, i)
                             : i + 1 == values.size() ? std::string("decay")
                                                      : fmt::format("excitation of {} by {}", name_of(names, pair / m),
                                                                    name_of(names, pair % m));
    fitted.parameters.push_back({name, values[i], errors[i]});
  }
  const std::span<const double> all = values;
  fitted.text =
      fmt::format("kind = \"hawkes\"\nbaseline = [{}]\nexcitation = {}\ndecay = {}\n", fmt::join(all.first(m), ", "),
                  matrix(all.subspan(m, m * m), m), matrix(std::vector<double>(m * m, values.back()), m));
  complete(fitted, sequences, 0);
  return fitted;
}

}  // namespace npzoo
