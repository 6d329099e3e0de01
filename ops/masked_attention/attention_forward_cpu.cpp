#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/blocks.h"
#include "npzoo/ops/masked_attention/distance_tiles.h"

namespace npzoo {

namespace {

using namespace attention;

constexpr std::int64_t kTileKeys = 96;  // scores of that many keys stay in the first-level cache
constexpr std::int64_t kChunkFlops = 1 << 20;

/// Working memory of one block.
template <class T>
class Workspace {
 public:
  static constexpr std::int64_t kLanes = Block<T>::kMostLanes;

  explicit Workspace(const AttentionForward<T>& p)
      : buffer_(
            static_cast<std::size_t>((p.width + 2 * (p.value_width + 1) + kTileKeys + 2 + p.biases.dims()) * kLanes) *
            sizeof(T)),
        queries(reinterpret_cast<T*>(buffer_.data())),
        sums(queries + p.width * kLanes),
        earlier(sums + (p.value_width + 1) * kLanes),
        scores(earlier + (p.value_width + 1) * kLanes),
        top(scores + kTileKeys * kLanes),
        visible(top + kLanes),
        places(visible + kLanes) {}

 private:
  Buffer buffer_;

 public:
  T* queries;  // (width, lanes)
  T* sums;     // (value width + 1, lanes): Σ weight · value and, in the last row, Σ weight over the keys of a span
  T* earlier;  // the same over the spans before
  T* scores;   // (keys of a tile, lanes)
  T* top;      // largest score so far
  T* visible;  // keys of a tile that a lane sees
  T* places;   // (coordinates of all biases, lanes)
};

/// Turns a column of scores, one register wide, into weights relative to the new maximum. Returns the factor that
/// brings sums so far to that maximum.
template <class T>
Vec<T> weigh(T* scores, std::int64_t count, std::int64_t lanes, T* top, T* total) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const Vec<T> before = load(top);
  Vec<T> a = before, b = before;
  std::int64_t i = 0;
  for (; i + 1 < count; i += 2) {
    a = max(load(scores + i * lanes), a);
    b = max(load(scores + (i + 1) * lanes), b);
  }
  if (i < count) a = max(load(scores + i * lanes), a);
  a = max(b, a);
  store(top, a);
  const Vec<T> shift = select(a == splat<T>(kLowest), Vec<T>{}, a);

  Vec<T> sum{}, other{};
  for (i = 0; i + 1 < count; i += 2) {
    const Vec<T> x = exp2_below_one(load(scores + i * lanes) - shift),
                 y = exp2_below_one(load(scores + (i + 1) * lanes) - shift);
    store(scores + i * lanes, x);
    store(scores + (i + 1) * lanes, y);
    sum += x;
    other += y;
  }
  if (i < count) {
    const Vec<T> x = exp2_below_one(load(scores + i * lanes) - shift);
    store(scores + i * lanes, x);
    sum += x;
  }
  const Vec<T> factor = exp2_below_one(before - shift);
  store(total, load(total) * factor + (sum + other));
  return factor;
}

/// Returns whether no maximum has changed.
template <class V>
bool all_ones(V factors) {
  return sum(select(factors == 1, V{}, splat<ScalarOf<V>>(1))) == 0;
}

/// Sets the scores of keys that a lane does not see to −∞.
template <class T>
void hide(T* scores, std::int64_t count, std::int64_t lanes, const T* visible) {
  const Vec<T> lowest = splat<T>(-std::numeric_limits<T>::infinity());
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
      T* at = scores + i * lanes + j;
      store(at, select(splat<T>(static_cast<T>(i)) < load(visible + j), load(at), lowest));
    }
}

template <class T>
void rescale(T* sums, std::int64_t rows, std::int64_t lanes, Vec<T> factor) {
  for (std::int64_t i = 0; i < rows; ++i) store(sums + i * lanes, load(sums + i * lanes) * factor);
}

/// Weighs the scores of a tile and adds its values. `begins` a span, `spans` have ended before.
template <class T>
void add_tile(const AttentionForward<T>& p, const Block<T>& block, const HeadView<T>& at, std::int64_t first,
              std::int64_t count, bool begins, std::int64_t spans, Workspace<T>& w) {
  const std::int64_t lanes = block.lanes();
  T* total = w.sums + p.value_width * lanes;
  if (begins) std::fill_n(total, lanes, T(0));
  for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
    const Vec<T> factor = weigh(w.scores + j, count, lanes, w.top + j, total + j);
    if (first == 0 || all_ones(factor)) continue;
    if (!begins) rescale(w.sums + j, p.value_width, lanes, factor);
    if (spans > 0) rescale(w.earlier + j, p.value_width + 1, lanes, factor);
  }
  const gemm_tile::Registers<T> product{
      count, at.values + first * at.value_row, 1, at.value_row, w.scores, lanes, w.sums, lanes};
  if (begins)
    gemm_tile::multiply_registers<T, gemm_tile::Start::zero>(p.value_width, block.vectors, product);
  else
    gemm_tile::multiply_registers<T, gemm_tile::Start::c>(p.value_width, block.vectors, product);
}

/// Adds the epsilons of `chunks` chunks of a scan to the sums of weights.
template <class T>
void end_chunks(std::int64_t chunks, std::int64_t lanes, T* totals) {
  for (std::int64_t j = 0; chunks > 0 && j < lanes; j += Simd<T>::kLanes)
    store(totals + j, load(totals + j) + static_cast<T>(kScanEpsilon) * static_cast<T>(chunks));
}

template <class T>
void store_block(const AttentionForward<T>& p, const Block<T>& block, Workspace<T>& w) {
  const std::int64_t lanes = block.lanes();
  T* totals = w.sums + p.value_width * lanes;
  for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
    const Vec<T> total = load(totals + j);
    store(totals + j, select(total == 0, Vec<T>{}, 1 / total));
    store(w.top + j, load(w.top + j) + log(total) * static_cast<T>(kLog2E));
  }
  store_transposed(w.sums, lanes, block.rows, p.value_width, totals, p.out + block.query_offset(p, p.value_width),
                   p.heads * p.value_width);
  if (p.log2_sum) std::copy_n(w.top, block.rows, p.log2_sum + block.row_offset(p));
}

template <class T>
void attend(const AttentionForward<T>& p, const Block<T>& block, Workspace<T>& w) {
  const std::int64_t lanes = block.lanes(), size = (p.value_width + 1) * lanes;
  const HeadView<T> at(p, block.batch, block.head);
  load_transposed(p.q + block.query_offset(p, p.width), p.heads * p.width, block.rows, p.width, query_factor(p),
                  w.queries, lanes);
  load_places(p, block, w.places);
  std::fill_n(w.top, lanes,
              p.scan_chunk > 0 ? static_cast<T>(kLeastTop * kLog2E) : -std::numeric_limits<T>::infinity());
  if (block.most == 0) std::fill_n(w.sums, size, T(0));

  const std::int64_t step = scan_step(p.scan_chunk, block.most, kTileKeys), span = step * kSpanTiles;
  for (std::int64_t first = 0; first < block.most; first += step) {
    const std::int64_t count = min(step, block.most - first);
    score_tile(p, block, at.keys + first * at.row, at.row, count, w.queries, w.scores);
    add_biases(p, block, first, count, w.places, w.scores);
    if (first + count > block.least) {
      visible_in_tile(block, first, count, w.visible);
      hide(w.scores, count, lanes, w.visible);
    }
    add_tile(p, block, at, first, count, first % span == 0, first / span, w);
    if (p.scan_chunk > 0 && (first + count) % p.scan_chunk == 0) end_chunks(1, lanes, w.sums + p.value_width * lanes);
    if (block.most > span && ((first + step) % span == 0 || first + step >= block.most))
      add_span(w.sums, size, first < span, w.earlier);
  }
  if (block.most > span) std::swap(w.sums, w.earlier);
  end_chunks(chunks_behind(p, block.most), lanes, w.sums + p.value_width * lanes);
  store_block(p, block, w);
}

}  // namespace

template <class T>
void attention_forward(Cpu& cpu, const AttentionForward<T>& p) {
  constexpr std::int64_t kRows = Block<T>::kMostLanes;
  const std::int64_t blocks = divide_up(p.queries, kRows);
  const std::int64_t flops = 2 * min(kRows, p.queries) * max(p.keys * (p.width + p.value_width), 1);
  const std::int64_t chunk = max(kChunkFlops / max(flops, 1), 1);
  const auto clean = [&p](const Block<T>& b) {
    return all_finite(p.v + key_offset(p, b.batch, b.head, p.value_width), b.least, b.most, p.heads * p.value_width,
                      p.value_width);
  };
  cpu.parallel_for(p.batch * p.heads * blocks, chunk, [&](std::int64_t begin, std::int64_t end) {
    Workspace<T> workspace(p);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i / blocks, first = i % blocks * kRows;
      const Block<T> block(p, head / p.heads, head % p.heads, first, min(kRows, p.queries - first));
      for_runs(p, block, clean, [&](const Block<T>& b) { attend(p, b, workspace); });
    }
  });
}

NPZOO_INSTANTIATE(attention_forward, AttentionForward);

}  // namespace npzoo
