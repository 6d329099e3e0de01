#include "npzoo/ops/random_feature_attention/feature_tile.h"

namespace npzoo {

namespace {

using namespace feature_tile;

/// Keys for which one thread computes gradients at a time.
constexpr std::int64_t kGradientRows = 4 * kPoints;

/// The sums of one chunk of keys and one head, relative to exp(shift): `block` those of the present block of keys,
/// `total` those of the blocks before.
template <class T>
struct ChunkSums {
  std::int64_t size;
  T* block;
  double* total;  // (size + 1): with the shift in the end

  double& shift() { return total[size]; }

  void clear() {
    for (std::int64_t i = 0; i < size; ++i) total[i] = 0;
    shift() = -Format<double>::kInfinity;
  }

  /// `begun` says that the block holds sums.
  void raise_shift(double to, bool begun) {
    if (!(to > shift())) return;
    const double factor = __builtin_exp(shift() - to);
    for (std::int64_t i = 0; i < size; ++i) total[i] *= factor;
    for (std::int64_t i = 0; begun && i < size; ++i) block[i] *= static_cast<T>(factor);
    shift() = to;
  }

  void end_block() {
    for (std::int64_t i = 0; i < size; ++i) total[i] += block[i];
  }
};

/// The largest of all exponents; at least the lowest number, since −∞ says that there is no key.
template <class T>
T largest_exponent(const FeatureMap<T>& map, std::int64_t points, const T* exponents) {
  Vec<T> high = splat<T>(std::numeric_limits<T>::lowest());
  for (std::int64_t f = 0; f < map.features; ++f)
    for_registers<T>(points, [&](std::int64_t i) { high = max(load(exponents + f * kPoints + i), high); });
  return largest(high);
}

/// Turns exponents into features and sums each feature over the points, into the last column of `sums`.
template <class T>
void exponentiate_and_sum(const FeatureMap<T>& map, std::int64_t points, T shift, T* features, bool first, T* sums) {
  for (std::int64_t f = 0; f < map.features; ++f) {
    Vec<T> sum{};
    for_registers<T>(points, [&](std::int64_t i) {
      T* at = features + f * kPoints + i;
      const Vec<T> e = exp(load(at) - shift);
      store(at, e);
      sum += e;
    });
    T& out = sums[f * (map.value_width + 1) + map.value_width];
    out = simd::sum(sum) + (first ? T(0) : out);
  }
}

/// Adds a tile of keys to the sums of one head; `begins` a block.
template <class T>
void add_tile(Cpu& cpu, const SummariseKeysForward<T>& p, std::int64_t batch, std::int64_t head, std::int64_t first,
              std::int64_t points, bool begins, const Tile<T>& tile, ChunkSums<T> sums) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t row = map.heads * map.width, value_row = map.heads * map.value_width;
  const T *k = p.k + batch * map.points * row, *v = p.v + batch * map.points * value_row;
  prefetch_next(k, row, first, map.points, head, map.heads);
  prefetch_next(v, value_row, first, map.points, head, map.heads);
  load_points(k + first * row + head * map.width, row, points, map.width, tile.x);
  exponents(cpu, map, points, false, tile);
  sums.raise_shift(map.stabilised ? double{largest_exponent(map, points, tile.features)} : 0, !begins);
  exponentiate_and_sum(map, points, static_cast<T>(sums.shift()), tile.features, begins, sums.block);
  add_products(cpu, map, points, tile.features, v + first * value_row + head * map.value_width, begins, sums.block);
}

/// The sums of all heads over one chunk.
template <class T>
void sum_chunk(Cpu& cpu, const SummariseKeysForward<T>& p, std::int64_t batch, std::int64_t chunk, double* totals) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t size = map.features * (map.value_width + 1), length = chunk_length(map.points),
                     end = min(p.mask.visible(batch, 0, map.points), (chunk + 1) * length);
  const Tile<T> tile(map, false);
  const Buffer blocks(static_cast<std::size_t>(map.heads * size) * sizeof(T));
  const auto sums = [&](std::int64_t head) {
    return ChunkSums<T>{size, reinterpret_cast<T*>(blocks.data()) + head * size, totals + head * (size + 1)};
  };
  for (std::int64_t head = 0; head < map.heads; ++head) sums(head).clear();
  for (std::int64_t begin = chunk * length; begin < end; begin += kBlock) {
    for_tiles(begin, min(begin + kBlock, end), [&](std::int64_t first, std::int64_t points) {
      for (std::int64_t head = 0; head < map.heads; ++head)
        add_tile(cpu, p, batch, head, first, points, first == begin, tile, sums(head));
    });
    for (std::int64_t head = 0; head < map.heads; ++head) sums(head).end_block();
  }
}

/// The sums of one batch element and head from those of its chunks, `stride` apart.
template <class T>
void merge_chunks(const SummariseKeysForward<T>& p, std::int64_t batch, std::int64_t head, const double* totals,
                  std::int64_t stride) {
  const std::int64_t size = p.map.features * (p.map.value_width + 1), chunks = chunk_count(p.map.points),
                     at = batch * p.map.heads + head;
  double shift = -Format<double>::kInfinity;
  for (std::int64_t c = 0; c < chunks; ++c) shift = max(totals[c * stride + size], shift);
  p.shift[at] = static_cast<T>(shift);
  T* sums = p.sums + at * size;
  const Buffer memory(static_cast<std::size_t>(size) * sizeof(double));
  auto* merged = reinterpret_cast<double*>(memory.data());
  for (std::int64_t i = 0; i < size; ++i) merged[i] = 0;
  for (std::int64_t c = 0; c < chunks; ++c, totals += stride) {
    if (totals[size] == -Format<double>::kInfinity) continue;
    const double factor = __builtin_exp(totals[size] - shift);
    for (std::int64_t i = 0; i < size; ++i) merged[i] += factor * totals[i];
  }
  for (std::int64_t i = 0; i < size; ++i) sums[i] = static_cast<T>(p.map.normaliser * merged[i]);
}

/// One head of one batch element.
template <class T>
struct Head {
  Head(const SummariseKeysBackward<T>& p, std::int64_t batch, std::int64_t head)
      : head(head),
        row(p.map.heads * p.map.width),
        value_row(p.map.heads * p.map.value_width),
        batch_keys(batch * p.map.points * row),
        batch_values(batch * p.map.points * value_row),
        keys(batch_keys + head * p.map.width),
        values(batch_values + head * p.map.value_width),
        shift(p.shift[batch * p.map.heads + head]),
        d_sums(p.d_sums + (batch * p.map.heads + head) * p.map.features * (p.map.value_width + 1)) {}

  std::int64_t head, row, value_row, batch_keys, batch_values, keys, values;
  T shift;
  const T* d_sums;  // (features, value width + 1)
};

/// tile.features from exponents, and tile.gradients from the products with values to gradients of the exponents, whose
/// sums for each point go to `totals`.
template <class T>
void exponent_gradients(const FeatureMap<T>& map, std::int64_t points, const Head<T>& at, const Tile<T>& tile,
                        T* totals) {
  for_registers<T>(points, [&](std::int64_t i) {
    Vec<T> total{};
    for (std::int64_t f = 0; f < map.features; ++f) {
      T *feature = tile.features + f * kPoints + i, *gradient = tile.gradients + f * kPoints + i;
      const Vec<T> e = exp(load(feature) - at.shift) * map.normaliser,
                   d = e * (load(gradient) + at.d_sums[f * (map.value_width + 1) + map.value_width]);
      store(feature, e);
      store(gradient, d);
      total += d;
    }
    store(totals + i, total);
  });
}

template <class T>
void tile_backward(Cpu& cpu, const SummariseKeysBackward<T>& p, const Head<T>& at, std::int64_t first,
                   std::int64_t points, const Tile<T>& tile) {
  const FeatureMap<T>& map = p.map;
  prefetch_next(p.k + at.batch_keys, at.row, first, map.points, at.head, map.heads);
  prefetch_next(p.v + at.batch_values, at.value_row, first, map.points, at.head, map.heads);
  load_points(p.k + at.keys + first * at.row, at.row, points, map.width, tile.x);
  load_points(p.v + at.values + first * at.value_row, at.value_row, points, map.value_width, tile.values);
  exponents(cpu, map, points, false, tile);
  multiply_values(cpu, map, points, at.d_sums, tile);
  alignas(64) T totals[kPoints];
  exponent_gradients(map, points, at, tile, totals);
  multiply_features(cpu, map, points, at.d_sums, map.value_width, T(1), tile);
  store_points(tile.values, points, map.value_width, p.d_v + at.values + first * at.value_row, at.value_row);
  store_point_gradients(cpu, map, points, totals, tile, p.d_k + at.keys + first * at.row, at.row);
}

}  // namespace

template <class T>
void summarise_keys_forward(Cpu& cpu, const SummariseKeysForward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t stride = map.heads * (map.features * (map.value_width + 1) + 1), chunks = chunk_count(map.points);
  const Buffer memory(static_cast<std::size_t>(map.batch * chunks * stride) * sizeof(double));
  auto* totals = reinterpret_cast<double*>(memory.data());
  cpu.parallel_for(map.batch * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum_chunk(cpu, p, i / chunks, i % chunks, totals + i * stride);
  });
  cpu.parallel_for(map.batch * map.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / map.heads, head = i % map.heads;
      merge_chunks(p, batch, head, totals + batch * chunks * stride + head * (stride / map.heads), stride);
    }
  });
}

template <class T>
void summarise_keys_backward(Cpu& cpu, const SummariseKeysBackward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t parts = divide_up(map.points, kGradientRows);
  cpu.parallel_for(map.batch * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const Tile<T> tile(map, true);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / parts, first = i % parts * kGradientRows,
                         last = min(first + kGradientRows, map.points),
                         seen = max(min(p.mask.visible(batch, 0, map.points), last), first);
      for_tiles(first, seen, [&](std::int64_t from, std::int64_t points) {
        for (std::int64_t head = 0; head < map.heads; ++head)
          tile_backward(cpu, p, Head<T>(p, batch, head), from, points, tile);
      });
      const std::int64_t row = map.heads * map.width, value_row = map.heads * map.value_width;
      clear_rows(p.d_k + batch * map.points * row, row, seen, last, row);
      clear_rows(p.d_v + batch * map.points * value_row, value_row, seen, last, value_row);
    }
  });
}

template <class T>
void merge_shifts(Cpu& cpu, const MergeShifts<T>& p) {
  const auto factor = [](T shift, T to) {
    return shift == -Format<T>::kInfinity ? T(0) : static_cast<T>(__builtin_exp(shift - to));
  };
  cpu.parallel_for(p.n, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T a = p.a[i], b = p.b[i], larger = a > b ? a : b;
      p.larger[i] = larger, p.factor_a[i] = factor(a, larger), p.factor_b[i] = factor(b, larger);
    }
  });
}

NPZOO_INSTANTIATE(merge_shifts, MergeShifts);
NPZOO_INSTANTIATE(summarise_keys_forward, SummariseKeysForward);
NPZOO_INSTANTIATE(summarise_keys_backward, SummariseKeysBackward);

}  // namespace npzoo
