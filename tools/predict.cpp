#include <limits>
#include <optional>

#include "engine/tape.h"
#include "models/training/checkpoint.h"
#include "models/training/weights.h"
#include "ops/random_feature_attention/random_feature_attention.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/tables.h"

namespace npzoo {

namespace {

constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();

int predict(const PredictCommand& c) {
  std::optional<InterruptGuard> interrupt;  // until there is something to clean up, Ctrl-C ends the program as usual
  const auto give_up = [&interrupt] { return interrupt && interrupt->requested(); };
  const auto model = restore_model(load_checkpoint(find_weights(c.checkpoint)));
  TargetReader targets(c.targets, model->dim_x(), give_up);
  ContextReader observed(c.context, targets.x_names(), model->dim_y());
  const Context context = observed.read(kAllRows);
  const auto state = model->condition(context);

  interrupt.emplace();
  CsvWriter out(c.out, prediction_header({}, targets.x_names(), observed.y_names()));
  Progress progress("predict", 0, {.unit = "rows"});
  std::int64_t done = 0;
  std::vector<double> x;
  while (const std::int64_t rows = targets.read(c.chunk, x)) {
    if (give_up()) return kInterruptedExit;
    out.write(
        prediction_rows({}, x, targets.x_names().size(), model->query(*state, to_points(x, targets.x_names().size()))));
    progress.update(done += rows);
  }
  if (give_up()) return kInterruptedExit;
  out.commit();
  progress.finish();
  warn_of_clamped_denominators(clamped_denominators());
  if (c.common.json) print_json({{"rows", done}, {"context_rows", context.xc.dim(1)}, {"out", c.out.string()}});
  return 0;
}

}  // namespace

int run_command(const PredictCommand& c) {
  apply(c.common);
  const NoGrad off;
  try {
    return predict(c);
  } catch (const Cancelled&) {
    return kInterruptedExit;
  }
}

}  // namespace npzoo
