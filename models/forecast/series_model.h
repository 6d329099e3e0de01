#pragma once

#include <functional>
#include <string>

#include "npzoo/models/forecast/series_blocks.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Settings of all models of series at equal steps.
struct SeriesConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t known = 48;  // steps of the context that the decoder is shown (label_len)
  double dropout = 0;       // in training
  /// A Gaussian at each target, trained by its likelihood; else a point forecast, trained by its squared error, which
  /// counts as a Gaussian of deviation 1.
  bool gaussian = true;
  StdForm std{StdForm::Kind::softplus, 0, 1e-3};

  std::int64_t marks() const { return dim_x - 1; }
  std::int64_t out() const { return gaussian ? 2 * dim_y : dim_y; }

  /// Reads what is named here of a model's parameters.
  void read(ConfigReader& reader);
};

/// "relu" or "gelu", true for the latter.
bool read_activation(ConfigReader& reader);

/// A context and what an encoder made of it.
struct SeriesState;

/// A forecast at one shot: the points of a context are steps of a series, one behind the other, and the targets are
/// those that follow. Which steps they are says their order; the first input is not looked at, the others are features
/// of their times. All targets are predicted at once. A context of no steps counts as one of the value 0.
///
/// Tasks of one size are worked through together, others one by one: layers see series from end to end, so padding
/// cannot be masked.
class SeriesModel : public Model {
 public:
  /// Steps that are known.
  struct History {
    Tensor y;      // (B, L, Dy), L ≥ 1
    Tensor marks;  // (B, L, M)
  };

  explicit SeriesModel(const SeriesConfig& config) : series_(config) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  bool whole_batches() const override { return true; }

  std::optional<double> std_floor() const override { return series_.gaussian ? series_.std.least() : 1; }
  std::int64_t dim_x() const override { return series_.dim_x; }
  std::int64_t dim_y() const override { return series_.dim_y; }

  /// Forecasts tasks without padding.
  Moments forecast(const Task& task, const SeriesPass& pass) const;

 protected:
  /// → what `decode` is to know of them besides.
  virtual Tensor encode(const History& history, const SeriesPass& pass) const = 0;
  /// Decodes as many steps behind the context as there are `marks` (B, Nt, M), Nt ≥ 1: (B, Nt, out).
  virtual Tensor decode(const History& history, const Tensor& memory, const Tensor& marks,
                        const SeriesPass& pass) const = 0;

  /// Calls `f` with the contexts that training works through together, and with what it would draw.
  void for_histories(const Task& task, const Draws& draws,
                     const std::function<void(const History&, const SeriesPass&)>& f) const;

  /// The steps that the decoder is shown: the last rows of x.
  Tensor last_known(const Tensor& x) const;

 private:
  History history_of(const Tensor& xc, const Tensor& yc) const;
  Tensor marks_of(const Tensor& x) const;
  Moments moments_of(const Tensor& raw) const;
  Tensor raw_forecast(const Task& task, const SeriesPass& pass) const;

  SeriesConfig series_;
};

}  // namespace npzoo
