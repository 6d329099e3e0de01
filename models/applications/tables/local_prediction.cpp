#include "npzoo/models/applications/tables/local_prediction.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/tables/local_contexts.h"

namespace npzoo {

namespace {

/// The rows of a row-major array.
std::vector<double> rows_of(std::span<const double> all, std::span<const std::int64_t> rows, std::size_t width) {
  std::vector<double> some;
  some.reserve(rows.size() * width);
  for (const std::int64_t row : rows) {
    const auto from = all.subspan(static_cast<std::size_t>(row) * width, width);
    some.insert(some.end(), from.begin(), from.end());
  }
  return some;
}

/// Some targets of a cell and the rows of its context.
struct LocalTile {
  std::vector<std::int64_t> targets, context;
};

Series series_of(const Series& whole, const LocalTile& tile, std::size_t dim_x) {
  return {.x = rows_of(whole.x, tile.context, dim_x),
          .y = rows_of(whole.y, tile.context, whole.value_names.size()),
          .targets = rows_of(whole.targets, tile.targets, dim_x),
          .truth = whole.truth.empty() ? std::vector<double>()
                                       : rows_of(whole.truth, tile.targets, whole.value_names.size()),
          .added_variance = whole.added_variance.empty()
                                ? std::vector<double>()
                                : rows_of(whole.added_variance, tile.targets, whole.value_names.size()),
          .value_names = whole.value_names,
          .transforms = whole.transforms};
}

/// A large series, a batch of tiles at a time.
class Tiles {
 public:
  Tiles(const Series& whole, std::size_t dim_x, std::int64_t neighbours)
      : contexts_(whole.x, static_cast<std::int64_t>(dim_x), neighbours), cells_(contexts_.cells(whole.targets)) {}

  std::optional<LocalTile> next() {
    if (ready_.empty()) make_some();
    if (ready_.empty()) return {};
    LocalTile tile = std::move(ready_.front());
    ready_.pop_front();
    return tile;
  }

 private:
  void make_some() {
    constexpr std::size_t kTogether = 512, kMostTargets = 4096;
    const std::size_t count = std::min(cells_.size() - begin_, kTogether);
    std::vector<std::vector<std::int64_t>> contexts(count);
    thread_pool().for_range(static_cast<std::int64_t>(count), 8, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        throw_if_stopped();
        contexts[i] = contexts_.context(cells_[begin_ + i].box);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::int64_t> targets = cells_[begin_ + i].targets;
      for (std::size_t from = 0; from < targets.size(); from += kMostTargets) {
        const auto some = targets.subspan(from, std::min(kMostTargets, targets.size() - from));
        ready_.push_back({{some.begin(), some.end()}, contexts[i]});
      }
    }
    begin_ += count;
  }

  LocalContexts contexts_;
  std::vector<LocalCell> cells_;
  std::size_t begin_ = 0;
  std::deque<LocalTile> ready_;
};

/// Sorts the observed points by place and value: sums then do not depend on the order in which a table has its rows.
void sort_points(Series& series, std::size_t dim_x) {
  const std::size_t dim_y = series.value_names.size(), count = series.y.size() / dim_y;
  const auto numbers = [&](std::size_t row, std::size_t c) {
    return c < dim_x ? series.x[row * dim_x + c] : series.y[row * dim_y + c - dim_x];
  };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    for (std::size_t c = 0; c < dim_x + dim_y; ++c)
      if (numbers(i, c) != numbers(j, c)) return numbers(i, c) < numbers(j, c);
    return false;
  };
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (std::ranges::is_sorted(order, before)) return;
  std::ranges::stable_sort(order, before);
  series.x = rows_of(series.x, order, dim_x);
  series.y = rows_of(series.y, order, dim_y);
}

/// The figures of some rows of targets, of as many numbers each, put where they belong.
void scatter(const std::vector<double>& part, std::span<const std::int64_t> rows, std::size_t all,
             std::vector<double>& whole) {
  if (part.empty()) return;
  const std::size_t width = part.size() / rows.size();
  whole.resize(checked_product(all, width));
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                whole.begin() + rows[i] * static_cast<std::ptrdiff_t>(width));
}

/// A series with tiles that are not yet all predicted.
struct Open {
  SeriesPrediction answer;
  std::size_t targets = 0, left = 0;
};

/// An item of the predictor: a whole series, or a tile of one.
struct Asked {
  std::shared_ptr<Open> whole;  // none for a whole series
  std::vector<std::int64_t> targets;
};

class LocalPrediction {
 public:
  LocalPrediction(const SeriesPredictor& predictor, const LocalOptions& options, const SeriesPredictor::Next& next,
                  const SeriesPredictor::Take& take)
      : predictor_(predictor), options_(options), next_(next), take_(take) {}

  std::optional<Series> next() {
    for (;;) {
      if (tiles_) {
        if (std::optional<LocalTile> tile = tiles_->next()) {
          Series small = series_of(*whole_, *tile, dim_x_);
          asked_.push_back({open_, std::move(tile->targets)});
          return small;
        }
        tiles_.reset();
        whole_.reset();
      }
      std::optional<Series> series = next_();
      if (!series) return {};
      predictor_.check_sizes(*series);
      sort_points(*series, static_cast<std::size_t>(predictor_.dim_x()));
      if (std::ssize(series->y) / predictor_.dim_y() <= options_.largest_context || series->targets.empty()) {
        asked_.emplace_back();
        return series;
      }
      begin(std::move(*series));
    }
  }

  void take(SeriesPrediction part) {
    const Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (!asked.whole) return take_(std::move(part));
    Open& open = *asked.whole;
    for (const auto figures :
         {&SeriesPrediction::mean, &SeriesPrediction::std, &SeriesPrediction::quantiles, &SeriesPrediction::samples,
          &SeriesPrediction::log_density, &SeriesPrediction::crps, &SeriesPrediction::central_mass})
      scatter(part.*figures, asked.targets, open.targets, open.answer.*figures);
    open.left -= asked.targets.size();
    if (open.left == 0) take_(std::move(open.answer));
  }

 private:
  void begin(Series series) {
    dim_x_ = static_cast<std::size_t>(predictor_.dim_x());
    open_ = std::make_shared<Open>();
    open_->answer.units = predictor_.units_of(series);
    open_->targets = open_->left = series.targets.size() / dim_x_;
    if (options_.turn && dim_x_ == 2 && predictor_.dim_y() == 1) open_->answer.turn = find_turn(series.x, series.y);
    if (const auto& turn = open_->answer.turn) {
      series.x = turn->apply(series.x);
      series.targets = turn->apply(series.targets);
    }
    whole_ = std::make_unique<Series>(std::move(series));
    tiles_.emplace(*whole_, dim_x_, options_.neighbours);
  }

  const SeriesPredictor& predictor_;
  LocalOptions options_;
  const SeriesPredictor::Next& next_;
  const SeriesPredictor::Take& take_;
  std::unique_ptr<const Series> whole_;
  std::size_t dim_x_ = 0;
  std::optional<Tiles> tiles_;
  std::shared_ptr<Open> open_;
  std::deque<Asked> asked_;  // answers come in the same order
};

}  // namespace

void predict_locally(const SeriesPredictor& predictor, const LocalOptions& options, const SeriesPredictor::Next& next,
                     const SeriesPredictor::Take& take) {
  LocalPrediction local(predictor, options, next, take);
  predictor.predict([&] { return local.next(); }, [&](SeriesPrediction answer) { local.take(std::move(answer)); });
}

}  // namespace npzoo
