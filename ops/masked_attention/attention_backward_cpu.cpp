#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/blocks.h"
#include "npzoo/ops/masked_attention/distance_tiles.h"

namespace npzoo {

namespace {

using namespace attention;

constexpr std::int64_t kTileKeys = 60;     // two tiles of that many keys stay in the first-level cache
constexpr std::int64_t kSpanBlocks = 128;  // of queries, whose sums for keys are taken from zero (see kSpanTiles)
constexpr std::int64_t kChunkFlops = 1 << 22;
constexpr std::int64_t kUnits = 16;  // pieces of work from which on threads have enough to share
constexpr std::int64_t kMostCopyBytes = std::int64_t{256} << 20;  // of gradients of keys and values

/// Hands out parts of working memory: matrices whose rows are whole registers.
template <class T>
class Carver {
 public:
  explicit Carver(T* memory) : next_(memory) {}
  T* take(std::int64_t rows, std::int64_t width) { return std::exchange(next_, next_ + rows * padded<T>(width)); }

 private:
  T* next_;
};

/// Copies the keys and values of a head side by side. Rows with other heads between them fall into few sets of the
/// first-level cache, which can cost a tenth of the time. A single head, or one too long for a copy per thread, is not
/// copied.
template <class T>
class PackedHead {
 public:
  HeadView<T> of(const AttentionForward<T>& p, std::int64_t batch, std::int64_t head) {
    HeadView<T> view(p, batch, head);
    const std::int64_t size = p.keys * (p.width + p.value_width) + 2 * Simd<T>::kLanes;
    if (p.heads == 1 || size * std::int64_t{sizeof(T)} > kMostBytes) return view;
    if (!memory_) memory_ = Buffer(static_cast<std::size_t>(size) * sizeof(T));
    T* keys = reinterpret_cast<T*>(memory_.data());
    T* values = keys + p.keys * p.width + Simd<T>::kLanes;
    if (batch != batch_ || head != head_) {
      pack(view.keys, view.row, p.keys, p.width, keys);
      pack(view.values, view.value_row, p.keys, p.value_width, values);
    }
    batch_ = batch;
    head_ = head;
    view.keys = keys;
    view.values = values;
    view.row = p.width;
    view.value_row = p.value_width;
    return view;
  }

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;

  /// Writes whole registers. Elements behind a row's end belong to the next row, which is written later.
  static void pack(const T* from, std::int64_t stride, std::int64_t points, std::int64_t width, T* to) {
    for (std::int64_t i = 0; i < points; ++i)
      for (std::int64_t c = 0; c < width; c += Simd<T>::kLanes)
        store(to + i * width + c, load_up_to(from + i * stride + c, width - c));
  }

  Buffer memory_;
  std::int64_t batch_ = -1, head_ = -1;
};

/// Working memory of one block.
template <class T>
class Workspace {
 public:
  static constexpr std::int64_t kLanes = Block<T>::kMostLanes;

  explicit Workspace(const AttentionForward<T>& p)
      : buffer_(static_cast<std::size_t>((3 * p.width + 2 * (p.value_width + kTileKeys) + 3 + padded<T>(p.width) +
                                          padded<T>(p.value_width) + p.biases.dims() + p.biases.columns()) *
                                         kLanes) *
                sizeof(T)) {
    Carver<T> carve(reinterpret_cast<T*>(buffer_.data()));
    queries = carve.take(p.width, kLanes);
    d_queries = carve.take(p.width, kLanes);
    earlier_d_queries = carve.take(p.width, kLanes);
    d_out = carve.take(p.value_width, kLanes);
    out = carve.take(p.value_width, kLanes);
    weights = carve.take(kTileKeys, kLanes);
    d_scores = carve.take(kTileKeys, kLanes);
    log2_sum = carve.take(1, kLanes);
    mean = carve.take(1, kLanes);
    visible = carve.take(1, kLanes);
    query_rows = carve.take(kLanes, p.width);
    d_out_rows = carve.take(kLanes, p.value_width);
    places = carve.take(p.biases.dims(), kLanes);
    d_biases = carve.take(p.biases.columns(), kLanes);
  }

  /// Memory for `size` sums over a span of queries, kept for the next call.
  T* span_sums(std::int64_t size) {
    if (!span_) span_ = Buffer(static_cast<std::size_t>(size) * sizeof(T));
    return reinterpret_cast<T*>(span_.data());
  }

  T *queries, *d_queries;      // (width, lanes); d_queries over the keys of a span
  T* earlier_d_queries;        // over the spans before
  T *d_out, *out;              // (value width, lanes)
  T *weights, *d_scores;       // (keys of a tile, lanes)
  T *log2_sum, *mean;          // of a row: its log-sum-exp, and Σ weight · d_weight
  T* visible;                  // keys of a tile that a lane sees
  T *query_rows, *d_out_rows;  // (lanes, width)
  T* places;                   // (coordinates of all biases, lanes)
  T* d_biases;                 // (parameters of a head, lanes of a register)
  PackedHead<T> head;

 private:
  Buffer buffer_, span_;
};

/// Gradients of the keys and values of one head, in rows of whole registers.
template <class T>
struct KeyGradients {
  KeyGradients(const AttentionForward<T>& p, T* memory, double* of_biases)
      : d_k(memory), d_v(memory + p.keys * padded<T>(p.width)), d_biases(of_biases) {}
  static std::int64_t size(const AttentionForward<T>& p) {
    return p.keys * (padded<T>(p.width) + padded<T>(p.value_width));
  }

  T *d_k, *d_v;
  double* d_biases = nullptr;  // (parameters of a head), or null
};

/// Returns the last factor of the gradients of queries and keys. laplace_gradients has applied the scale already.
template <class T>
T score_factor(const AttentionForward<T>& p) {
  return p.score == AttentionScore::dot_product ? static_cast<T>(p.scale) : T(1);
}

/// The rows of a block, `stride` apart.
template <class T>
struct RowView {
  const T* rows;
  std::int64_t stride;
};

/// Returns the rows of a block in whole registers: x itself if its width allows, else `copy`, filled up with 0.
template <class T>
RowView<T> whole_rows(const T* x, std::int64_t stride, std::int64_t width, const Block<T>& block, T* copy) {
  if (padded<T>(width) == width) return {x, stride};
  for (std::int64_t i = 0; i < block.rows; ++i)
    for (std::int64_t c = 0; c < padded<T>(width); c += Simd<T>::kLanes)
      store(copy + i * padded<T>(width) + c, load_up_to(x + i * stride + c, width - c));
  return {copy, padded<T>(width)};
}

/// C (rows, width) += A (rows, queries of the block) B (queries, width). Rows of B and C are whole registers.
template <class T>
void add_product(const Block<T>& block, std::int64_t rows, const T* a, RowView<T> b, std::int64_t width, T* c) {
  constexpr std::int64_t kPanel = gemm_tile::kMaxVectors * Simd<T>::kLanes;
  for (std::int64_t j = 0; j < width; j += kPanel)
    gemm_tile::multiply_registers<T, gemm_tile::Start::c>(
        rows, static_cast<int>(min(kPanel, width - j) / Simd<T>::kLanes),
        {block.rows, a, block.lanes(), 1, b.rows + j, b.stride, c + j, width});
}

/// Adds the gradients of queries and keys of a tile whose scores are distances; `begins` a span of keys.
template <class T>
void laplace_gradients(const AttentionForward<T>& p, const Block<T>& block, const T* keys, std::int64_t row,
                       std::int64_t count, bool begins, Workspace<T>& w, T* d_k) {
  const auto factor = static_cast<T>(p.scale);
  const std::int64_t lanes = block.lanes();
  for (std::int64_t c = 0; c < p.width; ++c) {
    Vec<T> of_keys[kTileKeys];
    for (std::int64_t i = 0; i < count; ++i) of_keys[i] = Vec<T>{};
    for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
      T* d_query = w.d_queries + c * lanes + j;
      const Vec<T> query = load(w.queries + c * lanes + j);
      Vec<T> of_query{};
      for (std::int64_t i = 0; i < count; ++i) {
        const Vec<T> distance = splat<T>(keys[i * row + c]) - query;
        const Vec<T> d = load(w.d_scores + i * lanes + j) * factor;
        const Vec<T> towards = select(distance == 0, Vec<T>{}, copy_sign(splat<T>(1), distance)) * d;
        of_query += towards;
        of_keys[i] += towards;
      }
      store(d_query, begins ? of_query : load(d_query) + of_query);
    }
    for (std::int64_t i = 0; i < count; ++i) d_k[i * padded<T>(p.width) + c] -= simd::sum(of_keys[i]);
  }
}

/// Recomputes the weights of a tile and turns the products of values and d_out into gradients of the scores.
template <class T>
void weigh(const Block<T>& block, std::int64_t first, std::int64_t count, Workspace<T>& w) {
  const std::int64_t lanes = block.lanes();
  const bool mixed = first + count > block.least;
  if (mixed) visible_in_tile(block, first, count, w.visible);
  for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
    const Vec<T> log2_sum = load(w.log2_sum + j), mean = load(w.mean + j);
    for (std::int64_t i = 0; i < count; ++i) {
      T *weight = w.weights + i * lanes + j, *d_score = w.d_scores + i * lanes + j;
      Vec<T> p = exp2_below_one(load(weight) - log2_sum), d = p * (load(d_score) - mean);
      if (mixed) {
        const auto sees = splat<T>(static_cast<T>(i)) < load(w.visible + j);
        p = select(sees, p, Vec<T>{});
        d = select(sees, d, Vec<T>{});
      }
      store(weight, p);
      store(d_score, d);
    }
  }
}

/// Loads the inputs of a block, without keys and values. Rows that see no key get a log-sum-exp of ∞, which makes all
/// weights 0.
template <class T>
void prepare(const AttentionBackward<T>& b, const Block<T>& block, Workspace<T>& w) {
  const AttentionForward<T>& p = b.forward;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const std::int64_t lanes = block.lanes(), row = p.heads * p.width, value_row = p.heads * p.value_width;
  const T *q = p.q + block.query_offset(p, p.width), *d_out = b.d_out + block.query_offset(p, p.value_width);
  load_transposed(q, row, block.rows, p.width, query_factor(p), w.queries, lanes);
  load_transposed(d_out, value_row, block.rows, p.value_width, T(1), w.d_out, lanes);
  load_places(p, block, w.places);
  load_transposed<T>(p.out + block.query_offset(p, p.value_width), value_row, block.rows, p.value_width, T(1), w.out,
                     lanes);
  if (p.score == AttentionScore::uniform || block.most == 0) std::fill_n(w.d_queries, p.width * lanes, T(0));
  for (std::int64_t j = 0; j < lanes; j += Simd<T>::kLanes) {
    Vec<T> mean{};  // in the order of the products it is subtracted from
    for (std::int64_t c = 0; c < p.value_width; ++c)
      mean += load(w.out + c * lanes + j) * load(w.d_out + c * lanes + j);
    store(w.mean + j, mean);
  }
  for (std::int64_t i = 0; i < lanes; ++i) {
    const T sum = i < block.rows ? p.log2_sum[block.row_offset(p) + i] : kInfinity;
    w.log2_sum[i] = sum == -kInfinity ? kInfinity : sum;
    if (b.d_log_sum && i < block.rows) w.mean[i] -= b.d_log_sum[block.row_offset(p) + i];
  }
}

template <class T>
void attend_backward(const AttentionBackward<T>& b, const Block<T>& block, Workspace<T>& w, KeyGradients<T> d) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t lanes = block.lanes();
  const std::int64_t padded_row = padded<T>(p.width), padded_value_row = padded<T>(p.value_width);
  const HeadView<T> at = w.head.of(p, block.batch, block.head);
  prepare(b, block, w);
  const RowView<T> queries = whole_rows(p.q + block.query_offset(p, p.width), p.heads * p.width, p.width, block,
                                        w.query_rows),
                   d_out = whole_rows(b.d_out + block.query_offset(p, p.value_width), p.heads * p.value_width,
                                      p.value_width, block, w.d_out_rows);
  const std::int64_t step = tile_step(block.most, kTileKeys), span = step * kSpanTiles;
  for (std::int64_t first = 0; first < block.most; first += step) {
    const std::int64_t count = min(step, block.most - first);
    const bool begins = first % span == 0;
    const T* tile = at.keys + first * at.row;
    score_tile(p, block, tile, at.row, count, w.queries, w.weights);
    add_biases(p, block, first, count, w.places, w.weights);
    gemm_tile::multiply_registers<T, gemm_tile::Start::zero>(
        count, block.vectors,
        {p.value_width, at.values + first * at.value_row, at.value_row, 1, w.d_out, lanes, w.d_scores, lanes});
    weigh(block, first, count, w);
    if (d.d_biases) add_bias_gradients(p, block, first, count, w.places, w.d_scores, w.d_biases, d.d_biases);
    add_product(block, count, w.weights, d_out, padded_value_row, d.d_v + first * padded_value_row);
    if (p.score == AttentionScore::dot_product) {
      add_product(block, count, w.d_scores, queries, padded_row, d.d_k + first * padded_row);
      const gemm_tile::Registers<T> product{count, tile, 1, at.row, w.d_scores, lanes, w.d_queries, lanes};
      if (begins)
        gemm_tile::multiply_registers<T, gemm_tile::Start::zero>(p.width, block.vectors, product);
      else
        gemm_tile::multiply_registers<T, gemm_tile::Start::c>(p.width, block.vectors, product);
    } else if (p.score == AttentionScore::laplace) {
      laplace_gradients(p, block, tile, at.row, count, begins, w, d.d_k + first * padded_row);
    }
    if (block.most > span && ((first + step) % span == 0 || first + step >= block.most))
      add_span(w.d_queries, p.width * lanes, first < span, w.earlier_d_queries);
  }
  if (block.most > span) std::swap(w.d_queries, w.earlier_d_queries);
  std::fill_n(w.mean, lanes, score_factor(p));
  store_transposed(w.d_queries, lanes, block.rows, p.width, w.mean, b.d_q + block.query_offset(p, p.width),
                   p.heads * p.width);
}

/// Computes the gradients of rows [begin, end) of the queries of one head, and their part of the gradients of its keys
/// and values.
template <class T>
void attend_backward(const AttentionBackward<T>& b, std::int64_t head, std::int64_t begin, std::int64_t end,
                     Workspace<T>& w, T* key_gradients, double* d_biases) {
  const AttentionForward<T>& p = b.forward;
  constexpr std::int64_t kRows = Block<T>::kMostLanes, kSpanRows = kSpanBlocks * kRows;
  const std::int64_t size = KeyGradients<T>::size(p);
  std::fill_n(key_gradients, size, T(0));
  const auto clean = [&b, &p](const Block<T>& block) {
    const std::int64_t row = p.heads * p.width, value_row = p.heads * p.value_width;
    return all_finite(p.k + key_offset(p, block.batch, block.head, p.width), block.least, block.most, row, p.width) &&
           all_finite(p.q + block.query_offset(p, p.width), 0, block.rows, row, p.width) &&
           all_finite(b.d_out + block.query_offset(p, p.value_width), 0, block.rows, value_row, p.value_width);
  };
  for (std::int64_t span = begin; span < end; span += kSpanRows) {
    T* sums = span == begin ? key_gradients : w.span_sums(size);
    if (span > begin) std::fill_n(sums, size, T(0));
    const std::int64_t span_end = min(span + kSpanRows, end);
    for (std::int64_t first = span; first < span_end; first += kRows)
      for_runs(p, Block<T>(p, head / p.heads, head % p.heads, first, min(kRows, span_end - first)), clean,
               [&](const Block<T>& block) { attend_backward(b, block, w, KeyGradients<T>(p, sums, d_biases)); });
    if (span > begin) add_span(sums, size, false, key_gradients);
  }
}

/// Writes `factor` times the sum of the parts (segments, keys, padded width) to `out`.
template <class T>
void store_sum(const T* parts, std::int64_t segments, std::int64_t segment_size, std::int64_t keys, std::int64_t width,
               T factor, T* out, std::int64_t stride) {
  for (std::int64_t i = 0; i < keys; ++i)
    for (std::int64_t c = 0; c < width; c += Simd<T>::kLanes) {
      const T* at = parts + i * padded<T>(width) + c;
      Vec<T> sum = load(at);
      for (std::int64_t s = 1; s < segments; ++s) sum += load(at + s * segment_size);
      store_up_to(out + i * stride + c, sum * factor, width - c);
    }
}

template <class T>
void store_key_gradients(const AttentionBackward<T>& b, std::int64_t head, const T* parts, std::int64_t segments) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t size = KeyGradients<T>::size(p), batch = head / p.heads, h = head % p.heads;
  store_sum(parts, segments, size, p.keys, p.width, score_factor(p), b.d_k + key_offset(p, batch, h, p.width),
            p.heads * p.width);
  store_sum(parts + p.keys * padded<T>(p.width), segments, size, p.keys, p.value_width, T(1),
            b.d_v + key_offset(p, batch, h, p.value_width), p.heads * p.value_width);
}

/// Sums the parts (batch, heads, segments, columns) of the gradients of the biases.
template <class T>
void store_bias_gradients(const AttentionBackward<T>& b, const double* parts, std::int64_t segments) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t columns = p.biases.columns();
  for (std::int64_t head = 0; head < p.heads; ++head)
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::int64_t batch = 0; batch < p.batch; ++batch)
        for (std::int64_t s = 0; s < segments; ++s)
          sum += parts[((batch * p.heads + head) * segments + s) * columns + column];
      b.d_biases[head * columns + column] = static_cast<T>(sum);
    }
}

/// Returns into how many parts the queries of a head are cut, each with its own copy (`bytes`) of the gradients of keys
/// and values. The number depends on sizes alone, so that results are the same bits for any number of threads.
std::int64_t segments_of_head(std::int64_t heads, std::int64_t blocks, std::int64_t bytes) {
  if (heads >= kUnits) return 1;
  const std::int64_t affordable = kMostCopyBytes / max(max(heads, 1) * bytes, 1);
  return max(min(min(blocks, divide_up(kUnits, max(heads, 1))), affordable), 1);
}

}  // namespace

template <class T>
void attention_backward(Cpu& cpu, const AttentionBackward<T>& b) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t heads = p.batch * p.heads, size = KeyGradients<T>::size(p);
  constexpr std::int64_t kRows = Block<T>::kMostLanes;
  // Queries of one head share the gradients of its keys. Where there are few heads, each part of the queries gets its
  // own copy of them, and the copies are added up in their order.
  const std::int64_t blocks = max(divide_up(p.queries, kRows), 1);
  const std::int64_t segments = segments_of_head(heads, blocks, size * std::int64_t{sizeof(T)});
  const std::int64_t segment_rows = divide_up(blocks, segments) * kRows;
  const Buffer parts(static_cast<std::size_t>(segments > 1 ? heads * segments * size : 0) * sizeof(T));
  T* all_parts = reinterpret_cast<T*>(parts.data());
  const std::int64_t columns = b.d_biases ? p.biases.columns() : 0;
  const Buffer bias_parts(static_cast<std::size_t>(heads * segments * columns) * sizeof(double));
  auto* of_biases = reinterpret_cast<double*>(bias_parts.data());
  std::fill_n(of_biases, heads * segments * columns, 0.0);
  const std::int64_t flops = 5 * p.keys * min(segment_rows, p.queries) * (p.width + p.value_width);  // of one piece
  const std::int64_t chunk = max(min(kChunkFlops / max(flops, 1), heads * segments / kUnits), 1);
  cpu.parallel_for(heads * segments, chunk, [&](std::int64_t begin, std::int64_t end) {
    Workspace<T> workspace(p);
    const Buffer own(static_cast<std::size_t>(segments > 1 ? 0 : size) * sizeof(T));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i / segments, first = i % segments * segment_rows;
      T* gradients = segments > 1 ? all_parts + i * size : reinterpret_cast<T*>(own.data());
      attend_backward(b, head, min(first, p.queries), min(first + segment_rows, p.queries), workspace, gradients,
                      columns > 0 ? of_biases + i * columns : nullptr);
      if (segments == 1) store_key_gradients(b, head, gradients, 1);
    }
  });
  if (columns > 0) store_bias_gradients(b, of_biases, segments);
  if (segments == 1) return;
  cpu.parallel_for(heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head)
      store_key_gradients(b, head, all_parts + head * segments * size, segments);
  });
}

NPZOO_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace npzoo
