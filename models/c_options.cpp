// The options of the C interface, which are flags of `npzoo predict`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "npzoo/engine/io/parse_number.h"
#include "npzoo/models/c_calls.h"
#include "npzoo/models/c_question.h"

namespace npzoo {

namespace {

double real_of(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = parse_number(text, value);
  check(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
        "--{} '{}' found, expected a number", option, text);
  return value;
}

template <class T>
T whole_of(const std::string& option, const std::string& text, T least) {
  T value = 0;
  const auto [end, error] = parse_number(text, value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least,
        "--{} '{}' found, expected a whole number from {} on", option, text, least);
  return value;
}

bool switch_of(const std::string& option, const std::string& text) {
  check(text == "yes" || text == "no", "--{} '{}' found, expected yes or no", option, text);
  return text == "yes";
}

const std::string& word_of(const std::string& option, const std::string& text,
                           std::initializer_list<const char*> words) {
  check(std::ranges::find(words, text) != words.end(), "--{} '{}' found, expected one of {}", option, text,
        fmt::join(words, ", "));
  return text;
}

DateOrder order_of(const std::string& text) {
  word_of("dates", text, {"dmy", "mdy", "ymd"});
  return date_order_named(text);
}

double probability_of(const std::string& text) {
  const double p = real_of("quantiles", text);
  check(p > 0 && p < 1, "--quantiles {} found, expected numbers above 0 and below 1", text);
  return p;
}

/// Options that are lists: a value is added.
bool add_to_list(npzoo_question& q, const std::string& option, const std::string& value) {
  if (option == "inputs") return q.columns.inputs.push_back(value), true;
  if (option == "values") return q.columns.values.push_back(value), true;
  if (option == "covariates") return q.columns.covariates.push_back(value), true;
  if (option == "missing") return q.cells.missing.push_back(value), true;
  if (option == "period") return q.options.periods.push_back(value), true;
  if (option == "quantiles") return q.options.quantiles.push_back(probability_of(value)), true;
  return false;
}

bool set_switch(npzoo_question& q, const std::string& option, const std::string& value) {
  if (option == "lonlat") return q.lonlat = switch_of(option, value), true;
  if (option == "linear-mean")
    return q.options.gp.mean = switch_of(option, value) ? GpMean::linear : GpMean::constant, true;
  if (option == "counts") return q.options.transform.counts = switch_of(option, value), true;
  if (option == "columns-apart") return q.options.columns_help = !switch_of(option, value), true;
  if (option == "autoregressive") return q.options.autoregressive = switch_of(option, value), true;
  if (option == "add-rows") return q.added.absent = switch_of(option, value), true;
  if (option == "no-standardise") return q.options.standardise = !switch_of(option, value), true;
  if (option == "no-turn") return q.options.turn = !switch_of(option, value), true;
  return false;
}

bool set_text(npzoo_question& q, const std::string& option, const std::string& value) {
  if (option == "group") return q.columns.group = value, true;
  if (option == "checkpoint") return q.checkpoint = value, true;
  if (option == "model") return q.model = word_of(option, value, {"auto", "weights", "gp"}), true;
  if (option == "kernel") return q.options.gp.kernel = GpKernel::parse(value).text(), true;
  if (option == "transform") return q.transform = value, true;
  if (option == "bounds") return q.bounds = value, true;
  if (option == "dates") return q.cells.dates = order_of(value), true;
  if (option == "ends")
    return q.options.combine_ends = word_of(option, value, {"combined", "weights"}) == "combined", true;
  if (option == "grid") return q.added.grid = parse_grid(value), true;
  if (option == "horizon") return q.added.horizon = whole_of<std::int64_t>(option, value, 1), true;
  if (option == "samples") return q.options.samples = whole_of<std::int64_t>(option, value, 0), true;
  if (option == "neighbours") return q.options.neighbours = whole_of<std::int64_t>(option, value, 0), true;
  if (option == "seed") return q.options.seed = whole_of<std::uint64_t>(option, value, 0), true;
  return false;
}

}  // namespace

extern "C" {

npzoo_status npzoo_set(npzoo_question* question, const char* option, const char* value) {
  return guarded([&] {
    check_given(question, "question");
    check_given(option, "option");
    check_given(value, "value");
    check(add_to_list(*question, option, value) || set_switch(*question, option, value) ||
              set_text(*question, option, value),
          "[c] there is no option '{}'", option);
  });
}

}  // extern "C"

}  // namespace npzoo

npzoo::TransformOptions npzoo_question::transform_options() const {
  using namespace npzoo;
  TransformOptions t = options.transform;
  t.automatic = transform == "auto";
  if (!transform.empty() && !t.automatic) t.kind = transform_kind(transform);
  const std::size_t comma = bounds.find(',');
  const std::string low = bounds.substr(0, comma), high = comma < bounds.size() ? bounds.substr(comma + 1) : "";
  if (!low.empty()) t.low = npzoo::real_of("bounds", low);
  if (!high.empty()) t.high = npzoo::real_of("bounds", high);
  check(t.low < t.high, "--bounds {} found, expected a lower bound and a higher one", bounds);
  check(t.kind != ValueTransform::Kind::logit || (std::isfinite(t.low) && std::isfinite(t.high)),
        "--transform logit found without --bounds LOW,HIGH, expected both");
  return t;
}
