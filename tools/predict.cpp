#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "engine/io/csv.h"
#include "engine/tape.h"
#include "models/training/checkpoint.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/json_output.h"
#include "tools/progress.h"

namespace npzoo {

namespace {

constexpr std::int64_t kRowsPerRead = 1 << 14;

/// Row-major numbers as a tensor of one task, (1, rows, columns.size()).
Tensor to_tensor(const std::vector<double>& rows, std::size_t width, const std::vector<std::size_t>& columns) {
  const auto count = static_cast<std::int64_t>(rows.size() / width);
  Tensor result = Tensor::empty({1, count, static_cast<std::int64_t>(columns.size())});
  float* out = result.data<float>();
  for (std::int64_t row = 0; row < count; ++row)
    for (std::size_t column : columns)
      *out++ = static_cast<float>(rows[static_cast<std::size_t>(row) * width + column]);
  return result;
}

std::vector<std::size_t> all_columns(std::size_t count) {
  std::vector<std::size_t> columns(count);
  for (std::size_t i = 0; i < count; ++i) columns[i] = i;
  return columns;
}

struct ObservedTable {
  Context context;
  std::vector<std::string> y_names;
};

/// The columns that the targets have are x, in the targets' order; the others are y, in the table's own order.
ObservedTable read_context(const std::filesystem::path& path, const std::vector<std::string>& x_names,
                           std::int64_t dim_y) {
  CsvReader reader(path);
  std::vector<std::size_t> x_columns, y_columns;
  for (const std::string& name : x_names) x_columns.push_back(reader.column(name));
  ObservedTable table;
  for (std::size_t i = 0; i < reader.header().size(); ++i) {
    if (std::ranges::find(x_columns, i) != x_columns.end()) continue;
    y_columns.push_back(i);
    table.y_names.push_back(reader.header()[i]);
  }
  check(static_cast<std::int64_t>(y_columns.size()) == dim_y,
        "[predict] {}: {} columns besides those of the targets, expected {} (the values that the model predicts)",
        path.string(), y_columns.size(), dim_y);
  std::vector<double> rows;
  while (reader.read(kRowsPerRead, rows) == kRowsPerRead) {
  }
  table.context.xc = to_tensor(rows, reader.header().size(), x_columns);
  table.context.yc = to_tensor(rows, reader.header().size(), y_columns);
  return table;
}

std::vector<std::string> output_header(const std::vector<std::string>& x_names,
                                       const std::vector<std::string>& y_names) {
  std::vector<std::string> header = x_names;
  for (const char* prefix : {"mean_", "std_"})
    for (const std::string& name : y_names) header.push_back(prefix + name);
  return header;
}

/// The double with the fewest digits that rounds to `value`: float32 results carry no more.
double fewest_digits(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

/// Interleaves x, mean and std of each target into rows.
std::vector<double> output_rows(const std::vector<double>& x, std::size_t dim_x, const Prediction& p) {
  const auto dim_y = static_cast<std::size_t>(p.mean.dim(-1));
  const auto mean = p.mean.values<float>(), std = p.std.values<float>();
  std::vector<double> rows;
  rows.reserve(x.size() / dim_x * (dim_x + 2 * dim_y));
  for (std::size_t i = 0; i * dim_x < x.size(); ++i) {
    for (double value : std::span(x).subspan(i * dim_x, dim_x)) rows.push_back(value);
    for (const auto& values : {mean, std})
      for (float value : values.subspan(i * dim_y, dim_y)) rows.push_back(fewest_digits(value));
  }
  return rows;
}

}  // namespace

int run_command(const PredictCommand& c) {
  apply(c.common);
  NoGrad off;
  const auto model = restore_model(load_checkpoint(c.checkpoint));
  CsvReader targets(c.targets);
  const std::vector<std::string>& x_names = targets.header();
  check(static_cast<std::int64_t>(x_names.size()) == model->dim_x(),
        "[predict] {}: {} columns, the model takes {} inputs", c.targets.string(), x_names.size(), model->dim_x());
  const ObservedTable observed = read_context(c.context, x_names, model->dim_y());
  const auto state = model->condition(observed.context);

  CsvWriter out(c.out, output_header(x_names, observed.y_names));
  InterruptGuard interrupt;
  Progress progress("predict", 0, {.unit = "rows"});
  std::int64_t done = 0;
  std::vector<double> x;
  while (targets.read(c.chunk, x) > 0) {
    if (interrupt.requested()) return kInterruptedExit;
    const Prediction prediction = model->query(*state, to_tensor(x, x_names.size(), all_columns(x_names.size())));
    out.write(output_rows(x, x_names.size(), prediction));
    done += static_cast<std::int64_t>(x.size() / x_names.size());
    progress.update(done);
    x.clear();
  }
  out.commit();
  progress.finish();
  if (c.common.json)
    print_json({{"rows", done}, {"context_rows", observed.context.xc.dim(1)}, {"out", c.out.string()}});
  return 0;
}

}  // namespace npzoo
