#include "npzoo/datasets/tables/series_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;

/// Rows that are alike in some columns have one number, from 0 on.
struct RowNumbers {
  std::vector<std::uint32_t> of_rows;
  std::size_t count = 0;
};

/// Numbers rows by two numberings together.
RowNumbers together(const RowNumbers& a, const RowNumbers& b) {
  std::vector<std::uint64_t> keys(a.of_rows.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = std::uint64_t{a.of_rows[i]} * b.count + b.of_rows[i];
  std::vector<std::uint64_t> different = keys;
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  RowNumbers both{std::vector<std::uint32_t>(keys.size()), different.size()};
  for (std::size_t i = 0; i < keys.size(); ++i)
    both.of_rows[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(different, keys[i]) - different.begin());
  return both;
}

/// How many rows share their number with another one.
std::int64_t shared_rows(const RowNumbers& rows) {
  std::vector<std::uint32_t> counts(rows.count);
  for (const std::uint32_t number : rows.of_rows) ++counts[number];
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t sum, std::uint32_t count) { return sum + (count > 1 ? count : 0); });
}

RowNumbers numbers_of_places(const RowKeys& rows, std::size_t width) {
  const std::size_t count = rows.x.size() / width;
  RowNumbers all{std::vector<std::uint32_t>(count), 1};
  for (std::size_t d = 0; d < width; ++d) {
    std::vector<double> different;
    for (std::size_t i = 0; i < count; ++i) different.push_back(rows.x[i * width + d] + 0.0);  // −0 is 0
    std::ranges::sort(different);
    different.erase(std::unique(different.begin(), different.end()), different.end());
    RowNumbers one{std::vector<std::uint32_t>(count), different.size()};
    for (std::size_t i = 0; i < count; ++i)
      one.of_rows[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(different, rows.x[i * width + d] + 0.0) -
                                                  different.begin());
    all = together(all, one);
  }
  if (!rows.of_rows.empty()) all = together(all, {{rows.of_rows.begin(), rows.of_rows.end()}, rows.groups.size()});
  return all;
}

bool are_whole_numbers(const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  });
}

struct Candidate {
  std::string name;
  RowNumbers rows;
  Kind kind;
  bool whole;  // whole numbers
};

/// Looks for columns that tell rows apart.
class SeriesFinder {
 public:
  SeriesFinder(RowNumbers places, std::vector<Candidate> candidates)
      : places_(std::move(places)), candidates_(std::move(candidates)), shared_(shared_rows(places_)) {}

  std::vector<std::string> find() const {
    if (auto one = find_one(Kind::text); !one.empty()) return one;
    if (auto places = find_coordinates(); !places.empty()) return places;
    for (const Kind kind : {Kind::number, Kind::time})
      if (auto one = find_one(kind); !one.empty()) return one;
    for (const std::size_t most : {std::size_t{2}, std::size_t{3}})
      if (auto names = find_several(most, {}, 0, nullptr, false); !names.empty()) return names;
    return {};
  }

 private:
  /// How columns that are no texts are judged.
  struct Caution {
    bool numbers;       // or dates are among them
    bool sure = false;  // a column of whole numbers
  };
  bool tells_apart(const RowNumbers& series, Caution caution) const {
    constexpr std::int64_t kLeft = 20;   // one repeated row of so many may stay repeated
    constexpr std::size_t kCrossed = 4;  // of so many pairs of a series and a place one has a row
    const std::size_t rows = series.of_rows.size();
    if (series.count < 2 || 2 * series.count > rows) return false;
    if (caution.numbers && 2 * shared_ < static_cast<std::int64_t>(rows)) return false;
    if (caution.numbers && !caution.sure && kCrossed * rows < series.count * places_.count) return false;
    return kLeft * shared_rows(together(places_, series)) <= shared_;
  }

  std::vector<std::string> find_several(std::size_t more, std::vector<std::string> names, std::size_t from,
                                        const RowNumbers* so_far, bool numbers) const {
    for (std::size_t i = from; i < candidates_.size(); ++i) {
      const Candidate& next = candidates_[i];
      if (next.kind == Kind::time) continue;
      const RowNumbers both = so_far == nullptr ? next.rows : together(*so_far, next.rows);
      const bool any_numbers = numbers || next.kind == Kind::number;
      std::vector<std::string> all = names;
      all.push_back(next.name);
      if (more == 1) {
        if (tells_apart(both, {any_numbers})) return all;
      } else if (auto found = find_several(more - 1, std::move(all), i + 1, &both, any_numbers); !found.empty()) {
        return found;
      }
    }
    return {};
  }

  std::vector<std::string> find_one(Kind kind) const {
    for (const Candidate& one : candidates_)
      if (one.kind == kind && tells_apart(one.rows, {kind != Kind::text, kind == Kind::number && one.whole}))
        return {one.name};
    return {};
  }

  /// A latitude names a place with its longitude.
  std::vector<std::string> find_coordinates() const {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      for (std::size_t j = i + 1; j < candidates_.size(); ++j) {
        const std::vector<std::string> pair{candidates_[i].name, candidates_[j].name};
        if (are_coordinates(pair) && tells_apart(together(candidates_[i].rows, candidates_[j].rows), {true}))
          return pair;
      }
    return {};
  }

  RowNumbers places_;
  std::vector<Candidate> candidates_;
  std::int64_t shared_;
};

}  // namespace

std::string SeriesColumns::text(bool dates) const {
  const std::string times = found.most != found.fewest ? "more than once"
                            : found.most == 2          ? "twice"
                                                       : fmt::format("{} times", found.most);
  const char* what = found.places == 1 ? (dates ? "date" : "place") : (dates ? "dates" : "places");
  return fmt::format("{} {} {}", found.places, what, times);
}

std::optional<std::string> column_of_runs(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                          const RowKeys& rows,
                                          const std::function<Table::Labels(std::size_t)>& labels) {
  if (choice.inputs.size() != 1 || !choice.group.empty() || !choice.covariates.empty()) return {};
  std::vector<std::size_t> falls;
  for (std::size_t i = 1; i < rows.x.size(); ++i)
    if (rows.x[i] < rows.x[i - 1]) falls.push_back(i);
  if (falls.empty() || 2 * falls.size() > rows.x.size()) return {};  // sorted, or backwards
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnFacts& column = columns[c];
    if (column.kind != Kind::text || column.missing > 0 || column.name.empty()) continue;
    const Table::Labels named = labels(c);
    if (named.names.size() < 2 || 2 * named.names.size() > rows.x.size()) continue;
    const auto begins = [&](std::size_t i) { return named.of_rows[i] != named.of_rows[i - 1]; };
    std::size_t changes = 0;
    for (std::size_t i = 1; i < rows.x.size(); ++i) changes += begins(i) ? 1 : 0;
    if (changes + 1 == named.names.size() && 2 * falls.size() > changes && std::ranges::all_of(falls, begins))
      return column.name;
  }
  return {};
}

std::optional<SeriesColumns> series_columns(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                            const RowKeys& rows,
                                            const std::function<Table::Labels(std::size_t)>& labels) {
  constexpr int kLooked = 64;
  constexpr std::size_t kMost = 12, kMostOfMany = 5, kMany = 200'000;
  if (choice.inputs.empty() || rows.x.empty()) return {};
  const std::size_t width = choice.inputs.size(), count = rows.x.size() / width;
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  SeriesColumns series{{}, repeated_inputs(rows, static_cast<std::int64_t>(width), all)};
  if (series.found.places < 2) return {};
  RowNumbers places = numbers_of_places(rows, width);
  const std::vector<std::string> groups = group_names(choice.group, [&](const std::string& name) {
    return std::ranges::find(columns, name, &ColumnFacts::name) != columns.end();
  });
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<Candidate> candidates;
  int left = kLooked;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnFacts& column = columns[c];
    const bool covariate = is_in(choice.covariates, column.name);
    const bool used = is_in(choice.inputs, column.name) || is_in(choice.values, column.name) ||
                      is_in(choice.date, column.name) || is_in(groups, column.name);
    if (column.name.empty() || used || column.missing > 0 || column.kind == Kind::empty || --left < 0) continue;
    Table::Labels named = labels(c);
    const bool few = 2 * named.names.size() <= count;
    RowNumbers numbers{std::move(named.of_rows), named.names.size()};
    if (covariate)
      places = together(places, numbers);
    else if (few && named.names.size() > 1 && candidates.size() < (count > kMany ? kMostOfMany : kMost))
      candidates.push_back({column.name, std::move(numbers), column.kind, are_whole_numbers(named.names)});
  }
  series.names = SeriesFinder(std::move(places), std::move(candidates)).find();
  return series.names.empty() ? std::nullopt : std::optional(series);
}

}  // namespace npzoo
