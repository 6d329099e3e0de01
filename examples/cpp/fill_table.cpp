// Fills the gaps of one column of numbers: a noisy wave of which a third of the values is missing.
//   c++ -std=c++20 fill_table.cpp $(pkg-config --cflags --libs npzoo)
#include <npzoo/models/applications/tables/fill.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

int main() {
  std::vector<double> time, temperature;  // NaN where a value is missing
  for (int hour = 0; hour < 48; ++hour) {
    const bool missing = hour % 24 >= 8 && hour % 24 < 16;
    time.push_back(hour);
    temperature.push_back(missing ? std::numeric_limits<double>::quiet_NaN() : 12 + 4 * std::sin(hour / 24. * 6.2832));
  }
  npzoo::FillData data;
  data.x = time;
  data.values = {temperature};
  // Without a name: the weights for tables of one input, which come with npzoo.
  const npzoo::FillResult filled = npzoo::fill("", data, {.quantiles = {0.05, 0.95}});
  const npzoo::PredictedColumn& column = filled.columns[0];
  for (std::size_t i = 8; i < 16; ++i)
    std::printf("%2.0f h  %5.1f ± %.1f  (90 %%: %.1f to %.1f)\n", time[i], column.mean[i], column.std[i],
                column.quantiles[2 * i], column.quantiles[2 * i + 1]);
  for (const npzoo::Warning& warning : filled.warnings) std::printf("%s\n", warning.text.c_str());
}
