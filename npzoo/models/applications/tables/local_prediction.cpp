#include "npzoo/models/applications/tables/local_prediction.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "npzoo/engine/cancellation.h"
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

Series series_of(const Series& whole, const LocalTile& tile, std::size_t dim_x) {
  return {.x = rows_of(whole.x, tile.context, dim_x),
          .y = rows_of(whole.y, tile.context, whole.value_names.size()),
          .targets = rows_of(whole.targets, tile.targets, dim_x),
          .truth = whole.truth.empty() ? std::vector<double>()
                                       : rows_of(whole.truth, tile.targets, whole.value_names.size()),
          .value_names = whole.value_names,
          .transforms = whole.transforms};
}

/// A large series, a batch of tiles at a time.
class Tiles {
 public:
  Tiles(const Series& whole, std::size_t dim_x, std::int64_t neighbours)
      : whole_(whole),
        contexts_(whole.x, static_cast<std::int64_t>(dim_x), neighbours),
        order_(contexts_.order(whole.targets)) {}

  std::optional<LocalTile> next() {
    if (ready_.empty()) make_some();
    if (ready_.empty()) return {};
    LocalTile tile = std::move(ready_.front());
    ready_.pop_front();
    return tile;
  }

 private:
  void make_some() {
    constexpr std::size_t kTogether = 512, kGroup = LocalContexts::kTileTargets;
    const std::size_t groups = std::min((order_.size() - begin_ + kGroup - 1) / kGroup, kTogether);
    std::vector<std::vector<LocalTile>> made(groups);
    thread_pool().for_range(static_cast<std::int64_t>(groups), 8, [&](std::int64_t first, std::int64_t last) {
      for (auto g = static_cast<std::size_t>(first); g < static_cast<std::size_t>(last); ++g) {
        throw_if_stopped();
        const std::size_t from = begin_ + g * kGroup;
        made[g] =
            contexts_.tiles(whole_.targets, std::span(order_).subspan(from, std::min(kGroup, order_.size() - from)));
      }
    });
    for (auto& tiles : made) std::ranges::move(tiles, std::back_inserter(ready_));
    begin_ = std::min(order_.size(), begin_ + groups * kGroup);
  }

  const Series& whole_;
  LocalContexts contexts_;
  std::vector<std::int64_t> order_;
  std::size_t begin_ = 0;
  std::deque<LocalTile> ready_;
};

/// The figures of some rows of targets, of as many numbers each, put where they belong.
void scatter(const std::vector<double>& part, std::span<const std::int64_t> rows, std::size_t all,
             std::vector<double>& whole) {
  if (part.empty()) return;
  const std::size_t width = part.size() / rows.size();
  whole.resize(all * width);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                whole.begin() + rows[i] * static_cast<std::ptrdiff_t>(width));
}

/// A series whose tiles have been asked for and not yet all answered.
struct Open {
  SeriesPrediction answer;
  std::size_t targets = 0, left = 0;
};

/// What the predictor has been given: a series of its own, or a tile of one.
struct Asked {
  std::shared_ptr<Open> whole;  // none of the former
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
      if (std::ssize(series->y) / predictor_.dim_y() <= options_.largest_context || series->targets.empty()) {
        asked_.emplace_back();
        return series;
      }
      predictor_.check_sizes(*series);
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
    whole_ = std::make_unique<Series>(std::move(series));
    dim_x_ = whole_->x.size() / (whole_->y.size() / whole_->value_names.size());
    open_ = std::make_shared<Open>();
    open_->answer.units = predictor_.units_of(*whole_);
    open_->targets = open_->left = whole_->targets.size() / dim_x_;
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
