#include "npzoo/models/training/part_exchange.h"

#include <doctest/doctest.h>

#include <limits>

#include "npzoo/engine/random.h"
#include "tests/testing.h"
#include "tests/thread_ranks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kSizes[] = {1, 17, 3, 40, 5};  // elements of the parameters
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Parameters, the last of which no part has a gradient of.
struct Parameters {
  explicit Parameters(DType dtype) {
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
      values[i].value = Tensor::zeros({kSizes[i]}, dtype);
      named.push_back({"p" + std::to_string(i), &values[i]});
    }
  }
  Parameter values[std::size(kSizes)];
  std::vector<NamedParameter> named;
};

/// Draws numbers of very different sizes, so that another order of summation has other bits; some are -0.
Tensor gradient_of(std::int64_t part, std::size_t parameter, DType dtype) {
  Random random(static_cast<std::uint64_t>(100 * part) + parameter);
  Tensor gradient = Tensor::zeros({kSizes[parameter]}, DType::float64, Device::cpu);
  for (double& x : gradient.values<double>())
    x = random.uniform() < 0.1 ? -0.0 : random.normal() * std::pow(10, 6 * random.uniform());
  return gradient.to(dtype).to(default_device());
}

/// Part i has no gradient of parameter i, and no part has one of the last parameter.
bool has_gradient(std::int64_t part, std::size_t parameter) {
  return parameter + 1 != std::size(kSizes) && static_cast<std::size_t>(part) != parameter;
}

/// The sum of the gradients of each parameter, part after part; undefined where there are none.
std::vector<Tensor> sums_of(const std::vector<const Grads*>& gradients, const Parameters& parameters) {
  std::vector<Tensor> sums;
  for (const NamedParameter& p : parameters.named) {
    Tensor sum;
    for (const Grads* part : gradients) {
      const Tensor one = part->find(p.parameter->value).to(Device::cpu);
      if (!one.defined()) continue;
      if (!sum.defined()) {
        sum = one.clone();
        continue;
      }
      if (one.dtype() == DType::float32)
        std::ranges::transform(sum.values<float>(), one.values<float>(), sum.values<float>().begin(), std::plus());
      else
        std::ranges::transform(sum.values<double>(), one.values<double>(), sum.values<double>().begin(), std::plus());
    }
    sums.push_back(sum);
  }
  return sums;
}

struct Found {
  std::vector<Tensor> sums;
  std::vector<double> losses;
  std::size_t gradients = 0;
};

/// Exchanges `count` parts among `size` ranks, checks that all ranks have the same, and returns it.
Found exchanged(int size, std::int64_t count, DType dtype, std::size_t worth_slices) {
  std::vector<Found> found(static_cast<std::size_t>(size));
  const auto thrown = on_ranks(size, [&](Ranks& ranks) {
    Job job(ranks);
    Parameters parameters(dtype);
    PartExchange exchange(job, parameters.named, worth_slices);
    std::vector<std::unique_ptr<Tape>> tapes;
    for (std::int64_t i = 0; i <= count; ++i) tapes.push_back(std::make_unique<Tape>());
    for (const NamedParameter& p : parameters.named) tapes[0]->watch(p.parameter->value);
    for (std::int64_t i = 1; i <= count; ++i) tapes[i]->follow(*tapes[0]);
    std::vector<PartExchange::Part> parts;
    const RankShare own = RankShare::of_rank(count, ranks.rank(), size);
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back({tapes[i].get(), nullptr, 0});
      if (i < own.first || i >= own.last) continue;
      Grads& grads = tapes[i]->receive();
      for (std::size_t p = 0; p < std::size(kSizes); ++p)
        if (has_gradient(i, p)) grads.add(parameters.values[p].value, gradient_of(i, p, dtype));
      parts.back().grads = &grads;
      parts.back().loss = 0.1 * static_cast<double>(i + 1);
    }
    job.meet();
    Found& mine = found[static_cast<std::size_t>(ranks.rank())];
    const std::vector<const Grads*> gradients = exchange(parts, *tapes[count]);
    mine.gradients = gradients.size();
    mine.sums = sums_of(gradients, parameters);
    for (const auto& part : parts) mine.losses.push_back(part.loss);
  });
  for (const auto& e : thrown)
    if (e) std::rethrow_exception(e);
  for (const Found& other : found) {
    CHECK(other.losses == found[0].losses);
    for (std::size_t p = 0; p < std::size(kSizes); ++p) {
      REQUIRE(other.sums[p].defined() == found[0].sums[p].defined());
      if (other.sums[p].defined()) CHECK(same_bits(other.sums[p], found[0].sums[p]));
    }
  }
  return found[0];
}

}  // namespace

TEST_CASE("part exchange: sums of slices have the bits of sums of whole gradients, for any number of parts and ranks") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const std::int64_t count : {1, 2, 4, 5, 8}) {
      CAPTURE(count);
      const Found whole = exchanged(2, count, dtype, kNone / 4);
      CHECK(whole.gradients == static_cast<std::size_t>(count));
      CHECK(whole.losses.back() == 0.1 * static_cast<double>(count));
      CHECK_FALSE(whole.sums.back().defined());
      for (const int size : {2, 3, 5, 7}) {
        CAPTURE(size);
        const Found slices = exchanged(size, count, dtype, 0);
        // Few parts are sent whole, since that is less.
        if (count > 4) CHECK(slices.gradients == 1);
        CHECK(slices.losses == whole.losses);
        for (std::size_t p = 0; p < std::size(kSizes); ++p) {
          REQUIRE(slices.sums[p].defined() == whole.sums[p].defined());
          if (whole.sums[p].defined()) CHECK(same_bits(slices.sums[p], whole.sums[p]));
        }
      }
    }
}
