#include "npzoo/ops/random_feature_attention/feature_tile.h"

namespace npzoo {

namespace {

using namespace feature_tile;

/// Queries that one thread answers at a time.
constexpr std::int64_t kQueryRows = 4 * kPoints;

/// One head of one batch element.
template <class T>
struct Head {
  template <class P>
  Head(const P& p, std::int64_t batch, std::int64_t head)
      : head(head),
        row(p.map.heads * p.map.width),
        value_row(p.map.heads * p.map.value_width),
        batch_queries(batch * p.map.points * row),
        batch_values(batch * p.map.points * value_row),
        queries(batch_queries + head * p.map.width),
        values(batch_values + head * p.map.value_width),
        sums(p.sums + (batch * p.map.heads + head) * p.map.features * (p.map.value_width + 1)),
        visible(p.shift[batch * p.map.heads + head] != -Format<T>::kInfinity) {}

  std::int64_t head, row, value_row, batch_queries, batch_values, queries, values;
  const T* sums;  // (features, value width + 1)
  bool visible;
};

/// Features of the queries in tile.x, without the normaliser.
template <class T>
void query_features(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, const Tile<T>& tile) {
  exponents(cpu, map, points, map.stabilised, tile);
  for_registers<T>(points, [&](std::int64_t i) {
    T* column = tile.features + i;
    Vec<T> shift{};
    if (map.stabilised) {
      shift = load(column);
      for (std::int64_t f = 1; f < map.features; ++f) shift = max(load(column + f * kPoints), shift);
    }
    for (std::int64_t f = 0; f < map.features; ++f) {
      T* at = column + f * kPoints;
      store(at, exp(load(at) - shift));
    }
  });
}

/// Answers up to a tile of queries; returns how many denominators were limited.
template <class T>
std::int64_t attend(Cpu& cpu, const AttendToSummaryForward<T>& p, const Head<T>& at, std::int64_t first,
                    std::int64_t points, const Tile<T>& tile) {
  const FeatureMap<T>& map = p.map;
  T* out = p.out + at.values + first * at.value_row;
  if (!at.visible) {
    clear_rows(out, at.value_row, 0, points, map.value_width);
    return 0;
  }
  prefetch_next(p.q + at.batch_queries, at.row, first, map.points, at.head, map.heads);
  load_points(p.q + at.queries + first * at.row, at.row, points, map.width, tile.x);
  query_features(cpu, map, points, tile);
  multiply_features(cpu, map, points, at.sums, map.value_width + 1, map.normaliser, tile);
  const T* denominators = tile.values + map.value_width * kPoints;
  std::int64_t clamped = 0;
  for (std::int64_t i = 0; i < points; ++i) clamped += denominators[i] < kSmallestDenominator<T>;
  for_registers<T>(points, [&](std::int64_t i) {
    const Vec<T> factor = 1 / max(splat<T>(kSmallestDenominator<T>), load(denominators + i));
    for (std::int64_t c = 0; c < map.value_width; ++c) {
      T* value = tile.values + c * kPoints + i;
      store(value, load(value) * factor);
    }
  });
  store_points(tile.values, points, map.value_width, out, at.value_row);
  return clamped;
}

/// Gradients for each point of a tile. With a = feature · normaliser, y = Σ a sums, out = y / c and c = max(y_last,
/// smallest), the gradient of an exponent is a / c · (d_out · sums − d_out · out · sums_last). Summed over the features
/// that is 0: a quotient does not depend on the norm of its query. If c is limited, the second term vanishes and the
/// sum is d_out · out.
template <class T>
struct Totals {
  alignas(64) T inverse[kPoints];    // 1 / denominator, with the normaliser of the features
  alignas(64) T output[kPoints];     // d_out · out where the denominator depends on the features, else 0
  alignas(64) T exponents[kPoints];  // sum of the gradients of the exponents
  bool any_clamped;
};

/// tile.gradients holds d_out · sums, the gradients of the numerator.
template <class T>
void sum_over_features(const FeatureMap<T>& map, const T* sums, std::int64_t points, const Tile<T>& tile,
                       Totals<T>& totals) {
  totals.any_clamped = false;
  for_registers<T>(points, [&](std::int64_t i) {
    Vec<T> denominator{}, product{};
    for (std::int64_t f = 0; f < map.features; ++f) {
      const Vec<T> feature = load(tile.features + f * kPoints + i);
      denominator += feature * sums[f * (map.value_width + 1) + map.value_width];
      product += feature * load(tile.gradients + f * kPoints + i);
    }
    denominator *= map.normaliser;
    const Vec<T> inverse = map.normaliser / max(splat<T>(kSmallestDenominator<T>), denominator),
                 quotient = product * inverse;
    const auto clamped = denominator < kSmallestDenominator<T>;
    store(totals.inverse + i, inverse);
    store(totals.output + i, select(clamped, Vec<T>{}, quotient));
    store(totals.exponents + i, select(clamped, quotient, Vec<T>{}));
  });
  for (std::int64_t i = 0; i < points; ++i) totals.any_clamped |= totals.exponents[i] != 0;
}

/// tile.gradients becomes those of the exponents, tile.features are divided by the denominators; adds to the last
/// column of `d_sums`.
template <class T>
void divide(const FeatureMap<T>& map, const T* sums, std::int64_t points, const Totals<T>& totals, const Tile<T>& tile,
            bool first, T* d_sums) {
  for (std::int64_t f = 0; f < map.features; ++f) {
    const std::int64_t last = f * (map.value_width + 1) + map.value_width;
    Vec<T> d_sum{};
    for_registers<T>(points, [&](std::int64_t i) {
      T *feature = tile.features + f * kPoints + i, *gradient = tile.gradients + f * kPoints + i;
      const Vec<T> output = load(totals.output + i), divided = load(feature) * load(totals.inverse + i);
      store(feature, divided);
      store(gradient, divided * (load(gradient) - output * sums[last]));
      d_sum -= divided * output;  // 0 behind the last point, where d_out is
    });
    d_sums[last] = simd::sum(d_sum) + (first ? T(0) : d_sums[last]);
  }
}

/// Gradients of a tile of queries; adds to `d_sums`, or begins it.
template <class T>
void attend_backward(Cpu& cpu, const AttendToSummaryBackward<T>& p, const Head<T>& at, std::int64_t first,
                     std::int64_t points, const Tile<T>& tile, bool begins, T* d_sums) {
  const FeatureMap<T>& map = p.map;
  const T* d_out = p.d_out + at.values + first * at.value_row;
  T* d_q = p.d_q + at.queries + first * at.row;
  if (!at.visible) {
    clear_rows(d_q, at.row, 0, points, map.width);
    clear_rows(d_sums, 0, 0, 1, map.features * (map.value_width + 1));
    return;
  }
  prefetch_next(p.q + at.batch_queries, at.row, first, map.points, at.head, map.heads);
  prefetch_next(p.d_out + at.batch_values, at.value_row, first, map.points, at.head, map.heads);
  load_points(p.q + at.queries + first * at.row, at.row, points, map.width, tile.x);
  load_points(d_out, at.value_row, points, map.value_width, tile.values);
  query_features(cpu, map, points, tile);
  multiply_values(cpu, map, points, at.sums, tile);
  Totals<T> totals;
  sum_over_features(map, at.sums, points, tile, totals);
  divide(map, at.sums, points, totals, tile, begins, d_sums);
  add_products(cpu, map, points, tile.features, d_out, begins, d_sums);
  store_point_gradients(cpu, map, points, totals.any_clamped ? totals.exponents : nullptr, tile, d_q, at.row);
}

/// One chunk of queries, all heads; their contributions to d_sums go to `totals`.
template <class T>
void chunk_backward(Cpu& cpu, const AttendToSummaryBackward<T>& p, std::int64_t batch, std::int64_t chunk,
                    double* totals) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t size = map.features * (map.value_width + 1), length = chunk_length(map.points),
                     end = min(map.points, (chunk + 1) * length);
  const Tile<T> tile(map, true);
  const Buffer memory(static_cast<std::size_t>(map.heads * size) * sizeof(T));
  T* blocks = reinterpret_cast<T*>(memory.data());
  for (std::int64_t i = 0; i < map.heads * size; ++i) totals[i] = 0;
  for (std::int64_t begin = chunk * length; begin < end; begin += kBlock) {
    for_tiles(begin, min(begin + kBlock, end), [&](std::int64_t first, std::int64_t points) {
      for (std::int64_t head = 0; head < map.heads; ++head)
        attend_backward(cpu, p, Head<T>(p, batch, head), first, points, tile, first == begin, blocks + head * size);
    });
    for (std::int64_t i = 0; i < map.heads * size; ++i) totals[i] += blocks[i];
  }
}

}  // namespace

template <class T>
void attend_to_summary_forward(Cpu& cpu, const AttendToSummaryForward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t parts = divide_up(map.points, kQueryRows);
  cpu.parallel_for(map.batch * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const Tile<T> tile(map, false);
    std::int64_t clamped = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / parts, first = i % parts * kQueryRows, last = min(first + kQueryRows, map.points);
      for_tiles(first, last, [&](std::int64_t from, std::int64_t points) {
        for (std::int64_t head = 0; head < map.heads; ++head)
          clamped += attend(cpu, p, Head<T>(p, batch, head), from, points, tile);
      });
    }
    if (clamped > 0) __atomic_fetch_add(p.clamped, static_cast<unsigned long long>(clamped), __ATOMIC_RELAXED);
  });
}

template <class T>
void attend_to_summary_backward(Cpu& cpu, const AttendToSummaryBackward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t stride = map.heads * map.features * (map.value_width + 1), chunks = chunk_count(map.points);
  const Buffer memory(static_cast<std::size_t>(map.batch * chunks * stride) * sizeof(double));
  auto* totals = reinterpret_cast<double*>(memory.data());
  cpu.parallel_for(map.batch * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) chunk_backward(cpu, p, i / chunks, i % chunks, totals + i * stride);
  });
  cpu.parallel_for(map.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t batch = begin; batch < end; ++batch)
      for (std::int64_t i = 0; i < stride; ++i) {
        double sum = 0;
        for (std::int64_t c = 0; c < chunks; ++c) sum += totals[(batch * chunks + c) * stride + i];
        p.d_sums[batch * stride + i] = static_cast<T>(sum);
      }
  });
}

NPZOO_INSTANTIATE(attend_to_summary_forward, AttendToSummaryForward);
NPZOO_INSTANTIATE(attend_to_summary_backward, AttendToSummaryBackward);

}  // namespace npzoo
