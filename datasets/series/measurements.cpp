#include "npzoo/datasets/series/measurements.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_stream.h"
#include "npzoo/engine/io/parse_number.h"

namespace npzoo {

namespace {

constexpr std::int64_t kExchangeRates = 8;

/// Rates of the working days of 26 years, without header and dates: days are counted.
std::vector<double> read_rates(const std::filesystem::path& path) {
  ByteStream file(path);
  std::string text;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t count = file.read(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), count);
  std::vector<double> rates;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    const auto [next, error] = parse_number({at, end}, rates.emplace_back());
    const bool line_ends = std::ssize(rates) % kExchangeRates == 0;
    check(error == std::errc() && next < end && *next == (line_ends ? '\n' : ','),
          "[forecast] {}: line {}: expected {} numbers with commas between them", file.name(),
          (std::ssize(rates) - 1) / kExchangeRates + 1, kExchangeRates);
    at = next + 1;
  }
  return rates;
}

Measurements read_exchange_rates(const std::filesystem::path& path, std::span<const std::string> values) {
  constexpr std::int64_t kFirstDay = 7305;  // 1990-01-01, as later versions of the file have it
  const std::vector<double> rates = read_rates(path);
  Measurements m{.time_form = {.kind = ColumnForm::Kind::time, .epoch = kFirstDay}};
  for (std::int64_t row = 0; row < std::ssize(rates) / kExchangeRates; ++row) {
    m.time.push_back(static_cast<double>(row));
    for (const std::string& name : values) {
      const std::int64_t column = name == "OT" ? kExchangeRates - 1 : name[0] - '0';
      m.y.push_back(rates[static_cast<std::size_t>(row * kExchangeRates + column)]);
    }
  }
  return m;
}

Measurements read_transformer(const std::filesystem::path& path, std::span<const std::string> values) {
  return read_measurements(path, "date", values);
}

/// Dates and hours stand in two columns, and the last row, of a quarter of an hour alone, is dropped.
Measurements read_client(const std::filesystem::path& path, std::span<const std::string> values) {
  Measurements m = read_measurements(path, "date", values);
  const std::string hour = "hour";
  const Measurements hours = read_measurements(path, "date", {&hour, 1});
  for (std::size_t row = 0; row < m.time.size(); ++row) m.time[row] += hours.y[row] / 24;
  m.time.pop_back();
  m.y.resize(m.time.size() * values.size());
  return m;
}

constexpr std::string_view kTransformerColumns = "HUFL,HULL,MUFL,MULL,LUFL,LULL,OT";
constexpr std::string_view kTransformers = "download it from https://github.com/zhouhaoyi/ETDataset (ETT-small)";

constexpr KnownSeries kSeries[] = {
    {"etth1", "ett/ETTh1.csv", kTransformerColumns, kTransformers, read_transformer},
    {"etth2", "ett/ETTh2.csv", kTransformerColumns, kTransformers, read_transformer},
    {"ettm1", "ett/ETTm1.csv", kTransformerColumns, kTransformers, read_transformer},
    {"ettm2", "ett/ETTm2.csv", kTransformerColumns, kTransformers, read_transformer},
    {"exchange", "exchange_rate/exchange_rate.txt", "0,1,2,3,4,5,6,OT",
     "download it from https://github.com/laiguokun/multivariate-time-series-data", read_exchange_rates},
    {"electricity-mt200", "electricity/LD_MT200_hour.csv", "MT_200",
     "it is the client MT_200 of https://archive.ics.uci.edu/dataset/321, hour by hour", read_client},
};

}  // namespace

Measurements read_measurements(const std::filesystem::path& path, const std::string& time,
                               std::span<const std::string> values) {
  Table table = Table::read(path);
  std::vector<std::size_t> indices{table.format().column(time)};
  for (const std::string& name : values) indices.push_back(table.format().column(name));
  std::vector<ColumnForm> forms = table.input_forms(std::span(indices).first(1));
  forms.resize(indices.size());
  const std::vector<NumberColumn> columns = table.numbers(indices, forms);
  Measurements m{.time_form = columns[0].form};
  for (std::size_t row = 0; row < columns[0].values.size(); ++row) {
    if (std::isnan(columns[0].values[row])) continue;
    m.time.push_back(columns[0].values[row]);
    for (std::size_t c = 1; c < columns.size(); ++c) m.y.push_back(columns[c].values[row]);
  }
  return m;
}

Measurements KnownSeries::measurements(std::span<const std::string> values) const {
  return read(data_file("forecast", {std::string(file)}, obtained), values);
}

std::span<const KnownSeries> known_series() { return kSeries; }

}  // namespace npzoo
