#include "npzoo/models/predictions/target_orders.h"

#include <algorithm>
#include <numeric>

#include "npzoo/engine/error.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// (B, Nt), derived anew when a captured step is repeated.
Tensor draw_order(const Task& task, Draws& draws) {
  const std::int64_t batch = task.xt.dim(0), targets = task.xt.dim(1);
  const Tensor keys = draws.uniform(1, batch, {targets}, DType::float64, Device::cpu);
  return draws.derived({batch, targets}, [keys, targets, lengths = task.target_lengths](std::span<std::int64_t> out) {
    for (std::size_t from = 0, row = 0; from < out.size(); from += static_cast<std::size_t>(targets), ++row) {
      const auto real = static_cast<std::size_t>(lengths.defined() ? lengths.values<std::int64_t>()[row] : targets);
      const std::span<std::int64_t> order = out.subspan(from, static_cast<std::size_t>(targets));
      std::iota(order.begin(), order.end(), 0);
      sort_places(keys.values<double>().subspan(from, real), order.first(real));
    }
  });
}

}  // namespace

void sort_places(std::span<const double> keys, std::span<std::int64_t> places) {
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, {}, [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; });
}

std::vector<Task> in_drawn_orders(const Task& task, std::int64_t repeats, Draws& draws) {
  if (repeats == 0) return {task};
  std::vector<Task> shuffled;
  for (std::int64_t i = 0; i < repeats; ++i) {
    const Tensor order = draw_order(task, draws);
    Task& one = shuffled.emplace_back(task);
    one.xt = gather(task.xt, order);
    one.yt = gather(task.yt, order);
    if (const Tensor& weights = task.target_weights; weights.defined())
      one.target_weights =
          reshape(gather(reshape(weights, {weights.dim(0), weights.dim(1), 1}), order), weights.shape());
  }
  return shuffled;
}

std::int64_t read_permutation_repeats(ConfigReader& reader) {
  return reader.integer("permutation_repeats",
                        "random orders of the targets that training averages over; 0: the given order alone", 0, 64, 0);
}

Tensor mean_of(const std::vector<Tensor>& losses) {
  Tensor sum = losses.front();
  for (std::size_t i = 1; i < losses.size(); ++i) sum = add(sum, losses[i]);
  return losses.size() == 1 ? sum : affine(sum, 1 / static_cast<double>(losses.size()), 0);
}

}  // namespace npzoo
