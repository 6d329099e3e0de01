#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/covariate_check.h"
#include "npzoo/models/applications/tables/method.h"

namespace npzoo {

namespace {

GpSeriesOptions series_options(const CompleteData& c, const FillOptions& options) {
  const FillData& d = c.data;
  GpSeriesOptions series{
      .inputs = {.dim_x = d.dim_x, .lonlat = d.lonlat, .x_groups = d.x_groups, .covariates = d.covariates},
      .gp = options.gp,
      .seed = options.seed.value_or(0),
      .x_names = d.x_names};
  series.inputs.sort_covariates(d.x_names);
  if (options.neighbours > 0) series.gp.largest_exact = series.gp.neighbours = options.neighbours;
  return series;
}

class GpRun : public MethodRun {
 public:
  GpRun(const CompleteData& c, const FillOptions& options)
      : c_(c), options_(options), quiet_(series_options(c, options)), series_(told()) {}

  SeriesMethod& series() override { return series_; }
  std::unique_ptr<SeriesMethod> quiet_series() const override { return std::make_unique<GpSeriesPredictor>(quiet_); }
  TrainingRange range() const override {
    return {.inputs = {-1e300, 1e300}, .max_context = std::numeric_limits<std::int64_t>::max()};
  }
  std::vector<Warning> finish(const TableQuestion& question, FillResult& result) override;

 private:
  /// With everything that was asked for, and progress.
  GpSeriesOptions told() const {
    GpSeriesOptions all = quiet_;
    all.quantiles = options_.quantiles;
    all.samples = options_.samples;
    all.progress = summed_progress(options_, c_.values(), 1);
    return all;
  }
  std::vector<SeriesProcess> processes() const;

  const CompleteData& c_;
  const FillOptions& options_;
  GpSeriesOptions quiet_;
  GpSeriesPredictor series_;
};

std::vector<SeriesProcess> GpRun::processes() const {
  const GpInputs& inputs = quiet_.inputs;
  const std::vector<GpFit>& fits = series_.fits();
  const auto groups = static_cast<std::size_t>(c_.question.group_count);
  std::vector<SeriesProcess> all;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    SeriesProcess& process =
        all.emplace_back(SeriesProcess{i / groups, static_cast<std::int64_t>(i % groups), fits[i]});
    process.values = named_values(fits[i], inputs, c_.data.x_names);
    for (const NamedSlope& slope : named_slopes(fits[i], inputs, c_.data.x_names))
      process.slopes.push_back({slope.name, slope.value});
  }
  return all;
}

std::vector<Warning> GpRun::finish(const TableQuestion& question, FillResult& result) {
  result.density = series_.drew_jointly() ? Density::joint : Density::marginal;
  result.processes = processes();
  FillReport& report = result.report;
  report.local = {.largest_context = quiet_.gp.largest_exact, .neighbours = quiet_.gp.neighbours};
  report.fitted = true;
  report.transforms = result.transforms;
  report.range.inputs = {0, 1};
  describe_inputs(question, 1, report);
  if (c_.data.lonlat) report.around_the_world.clear();
  if (result.processes.size() == 1)
    std::ranges::move(describe_fit(result.processes[0].fit, quiet_.inputs, c_.data.x_names),
                      std::back_inserter(report.notes));
  if (const std::int64_t copies = series_.copies(); copies > 0)
    report.notes.push_back(
        fmt::format("{} the inputs and the value of another one: copies do not count",
                    copies == 1 ? "1 observed row has" : fmt::format("{} observed rows have", copies)));
  if (std::string note = series_.note_on_ends(); !note.empty()) report.notes.push_back(std::move(note));
  CovariateCheck covariates = check_covariate_values(c_.data);
  std::ranges::move(covariates.notes, std::back_inserter(report.notes));
  return std::move(covariates.warnings);
}

}  // namespace

void GpMethod::check(const CompleteData& c, const FillOptions& options) const {
  check_gp_inputs(c);
  npzoo::check(options.periods.empty() && !options.check_ends,
               "[predict] --period or --check found with a Gaussian process, expected --model weights");
}

std::unique_ptr<MethodRun> GpMethod::run(const CompleteData& c, const FillOptions& options) const {
  return std::make_unique<GpRun>(c, options);
}

}  // namespace npzoo
