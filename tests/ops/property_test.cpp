#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/ops/property_cases.h"
#include "tests/testing.h"

// No public operation touches memory outside its arrays, for any values. Each run puts a few odd numbers into any
// places of the inputs of a case and computes values and gradients. Builds with -Dguard=true and address sanitizer see
// accesses outside of the arrays. NPZOO_PROPERTY_RUNS is the number of runs for each case and type.

namespace npzoo {

namespace {

using namespace testing;

std::int64_t runs_per_case() {
  const char* const runs = std::getenv("NPZOO_PROPERTY_RUNS");
  return runs ? std::atoll(runs) : default_device() == Device::cpu ? 2 : 1;
}

/// One run in this many contains a NaN and takes 14 evaluations; the others take one. An emulated device is slow.
std::int64_t runs_per_nan() { return default_device() == Device::cpu ? 2 : 8; }

template <class T>
std::vector<T> odd_numbers() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return {Limits::min(),
            Limits::min() + 1,
            -1,
            0,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            15,
            129,
            std::int64_t{1} << 31,
            std::int64_t{1} << 32,
            std::int64_t{1} << 60,
            Limits::max() - 1,
            Limits::max()};
  } else {
    const T large = std::is_same_v<T, float> ? static_cast<T>(1e38) : static_cast<T>(1e300);
    return {Limits::quiet_NaN(),
            Limits::infinity(),
            -Limits::infinity(),
            T(0),
            -T(0),
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::min(),
            Limits::max(),
            Limits::lowest(),
            large,
            -large,
            1 / large,
            -1 / large};
  }
}

/// The inputs with another number in one place.
template <class T>
std::vector<Tensor> with(std::vector<Tensor> inputs, std::size_t input, std::int64_t place, T value) {
  const Device device = inputs[input].device();
  Tensor changed = Tensor::empty_like(inputs[input].to(Device::cpu));
  const Tensor before = inputs[input].to(Device::cpu);
  std::ranges::copy(before.values<T>(), changed.values<T>().begin());
  changed.values<T>()[static_cast<std::size_t>(place)] = value;
  inputs[input] = changed.to(device);
  return inputs;
}

/// The result, then the gradients of the float inputs where it has any.
std::vector<Tensor> results_of(const Function& f, std::vector<Tensor> inputs) {
  Tape tape;
  for (Tensor& x : inputs)
    if (x.dtype() != DType::int64) tape.watch(x);
  Tensor out;
  bool has_gradients = false;
  {
    const Recording on(tape);
    out = f(inputs);
    has_gradients = needs_grad(out);
  }
  std::vector<Tensor> results{out.detach()};
  if (!has_gradients) return results;
  const Grads& grads = tape.backward(out, cotangent(out));
  for (const Tensor& x : inputs)
    if (x.dtype() != DType::int64) results.push_back(grads.of(x));
  return results;
}

using Numbers = std::vector<std::vector<double>>;

Numbers numbers(const std::vector<Tensor>& results) {
  Numbers all;
  for (const Tensor& x : results) all.push_back(x.defined() ? doubles(x) : std::vector<double>{});
  return all;
}

/// Which results depend on one place of an input: `must` change with finite numbers there, by more than roundings,
/// `may` with infinite ones. A product of 0 and infinity is NaN, as that of 0 and NaN is.
struct Dependence {
  Numbers before;
  std::vector<std::vector<bool>> must, may;
};

/// Notes changes of more than `roundings` of the largest number of a result.
void note_changes(const Numbers& before, const Numbers& found, double roundings,
                  std::vector<std::vector<bool>>& changes) {
  for (std::size_t r = 0; r < found.size(); ++r) {
    double largest = 0;
    for (const double x : before[r])
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < found[r].size(); ++i) {
      const bool same = found[r][i] == before[r][i] || std::abs(found[r][i] - before[r][i]) <= roundings * largest;
      if (!same) changes[r][i] = true;
    }
  }
}

template <class T>
Dependence dependence_on(const GradcheckCase& c, const std::vector<Tensor>& inputs, std::size_t input,
                         std::int64_t place) {
  Dependence d{numbers(results_of(c.function, inputs)), {}, {}};
  for (const auto& result : d.before) d.must.emplace_back(result.size(), false);
  const auto with_number = [&](double x) {
    return numbers(results_of(c.function, with(inputs, input, place, static_cast<T>(x))));
  };
  constexpr double kRoundings = 32;
  const double here = inputs[input].to(Device::cpu).values<T>()[static_cast<std::size_t>(place)];
  for (const double step : {0.01, -0.01, 0.1, -0.1, 1.0, -1.0, 3.0, -3.0, 1e3, -1e3})
    note_changes(d.before, with_number(here + step), kRoundings * std::numeric_limits<T>::epsilon(), d.must);
  d.may = d.must;
  for (const double x : {kInfinity, -kInfinity}) note_changes(d.before, with_number(x), 0, d.may);
  return d;
}

/// Counts of places where a NaN is lost, and where it arrives though nothing depends on it.
struct Faults {
  std::int64_t lost = 0, strayed = 0;
};

template <class T>
std::vector<Faults> faults_of_nan(const GradcheckCase& c, const std::vector<Tensor>& inputs, std::size_t input,
                                  std::int64_t place) {
  const Dependence d = dependence_on<T>(c, inputs, input, place);
  const Numbers found =
      numbers(results_of(c.function, with(inputs, input, place, std::numeric_limits<T>::quiet_NaN())));
  std::vector<Faults> faults(found.size());
  // A value that is NaN may make any gradient NaN: strays among gradients count if no value depends on the place.
  const bool is_used = std::ranges::find(d.may[0], true) != d.may[0].end();
  for (std::size_t r = 0; r < found.size(); ++r)
    for (std::size_t i = 0; i < found[r].size(); ++i) {
      const bool is_nan = std::isnan(found[r][i]);
      faults[r].lost += d.must[r][i] && !is_nan;
      const bool own = r == input + 1 && static_cast<std::int64_t>(i) == place;  // the gradient of the NaN itself
      faults[r].strayed += is_nan && !d.may[r][i] && !std::isnan(d.before[r][i]) && (r == 0 || !(is_used || own));
    }
  return faults;
}

struct Totals {
  std::int64_t runs = 0, refused = 0;
};

class Property {
 public:
  template <class T>
  void run(const PropertyCase& c, std::vector<Tensor> inputs, Totals& totals) {
    for (Tensor& x : inputs)
      if (x.dtype() == DType::float64) x = x.to(dtype_of<T>());
    try {
      static_cast<void>(results_of(c.run.function, inputs));
    } catch (const Error&) {
      return;  // a case with constants in double, in float
    }
    if (std::ranges::all_of(inputs, [](const Tensor& x) { return x.numel() == 0; })) return;
    for (std::int64_t i = 0; i < runs_per_case(); ++i) {
      const Place at = draw_place(inputs);
      CAPTURE(c.label);
      CAPTURE(to_string(dtype_of<T>()));
      CAPTURE(at.input);
      CAPTURE(at.element);
      ++totals.runs;
      if (turn_++ % runs_per_nan() == 0 && inputs[at.input].dtype() != DType::int64)
        put_nan<T>(c, inputs, at);
      else
        put_odd<T>(c, inputs, at, totals);
    }
  }

 private:
  struct Place {
    std::size_t input;
    std::int64_t element;
  };

  Place draw_place(const std::vector<Tensor>& inputs) {
    std::size_t input = 0;
    do input = static_cast<std::size_t>(random_.integer(0, std::ssize(inputs)));
    while (inputs[input].numel() == 0);
    return {input, random_.integer(0, inputs[input].numel())};
  }

  /// An odd number in that place, and sometimes others elsewhere.
  template <class T>
  void put_odd(const PropertyCase& c, std::vector<Tensor> inputs, Place at, Totals& totals) {
    bool may_refuse = false;
    for (std::int64_t more = random_.integer(0, 3); more >= 0; --more, at = draw_place(inputs)) {
      const bool is_integer = inputs[at.input].dtype() == DType::int64;
      inputs = is_integer ? with(inputs, at.input, at.element, odd<std::int64_t>())
                          : with(inputs, at.input, at.element, odd<T>());
      may_refuse |= is_integer;
    }
    try {
      static_cast<void>(results_of(c.run.function, inputs));
    } catch (const Error& error) {
      ++totals.refused;
      CAPTURE(error.what());
      CHECK(may_refuse);  // lengths and indices, but no float number
    }
  }

  template <class T>
  T odd() {
    const std::vector<T> all = odd_numbers<T>();
    return all[static_cast<std::size_t>(random_.integer(0, std::ssize(all)))];
  }

  template <class T>
  void put_nan(const PropertyCase& c, const std::vector<Tensor>& inputs, const Place& at) {
    const std::vector<Faults> faults = faults_of_nan<T>(c.run, inputs, at.input, at.element);
    if (c.chooses) return;
    for (std::size_t result = 0; result < faults.size(); ++result) {  // the value, then gradients of the inputs
      CAPTURE(result);
      if (result == 0 || !c.has_edges) CHECK(faults[result].lost == 0);
      if (!(c.spreads && at.input == 2)) CHECK(faults[result].strayed == 0);
    }
  }

  Random random_{20240229};
  std::int64_t turn_ = 0;
};

}  // namespace

TEST_CASE("property: no operation touches memory outside its arrays, and NaN reaches what depends on it") {
  Totals totals;
  Property property;
  for (const PropertyCase& c : property_cases()) {
    property.run<double>(c, c.run.inputs, totals);
    property.run<float>(c, c.run.inputs, totals);
  }
  CHECK(totals.runs > 0);
  if (std::getenv("NPZOO_PROPERTY_RUNS")) MESSAGE(totals.runs, " runs, ", totals.refused, " refused");
}

TEST_CASE("property: lengths and indices outside of their arrays are refused, counts of visible keys are limited") {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 40, kAll = 8;  // more than any array has; all keys of attention
  std::int64_t tried = 0;
  for (const PropertyCase& c : property_cases())
    for (std::size_t input = 0; input < c.run.inputs.size(); ++input) {
      const Tensor& x = c.run.inputs[input];
      if (x.dtype() != DType::int64 || x.numel() == 0) continue;
      const auto results = [&](std::int64_t place, std::int64_t value) {
        return results_of(c.run.function, with(c.run.inputs, input, place, value));
      };
      for (const std::int64_t value : {std::int64_t{-1}, kBeyond, std::numeric_limits<std::int64_t>::min()})
        for (const std::int64_t place : {std::int64_t{0}, x.numel() - 1}) {
          CAPTURE(c.label);
          CAPTURE(value);
          CAPTURE(place);
          ++tried;
          if (c.label.find("attention") != std::string::npos)
            CHECK(std::ranges::equal(results(place, value), results(place, value < 0 ? 0 : kAll), same_bits));
          else
            CHECK_THROWS_AS(results(place, value), Error);
        }
    }
  CHECK(tried > 100);
}

}  // namespace npzoo
