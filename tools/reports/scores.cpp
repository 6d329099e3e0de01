#include "tools/reports/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/json.h"

namespace npzoo::tools {

using nlohmann::json;

namespace {

/// Under which name a row has its first figure; those of old have log-likelihoods alone.
std::string headline_of(const json& row) {
  const json name = row.is_object() ? row.value("headline", json()) : json();
  return name.is_string() ? name.get<std::string>() : "log_likelihood";
}

}  // namespace

std::string read_scores(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const TrainingRun& run = checkpoint.run;
  const std::string weights = weights_checksum(checkpoint);
  const json content = parse_json_or_discard(read_text(path));
  const json scores = content.is_object() ? content.value("results", json()) : content;
  check(scores.is_array() && !scores.empty(), "[export] {}: expected the scores that npzoo eval --json prints",
        path.string());
  for (const json& row : scores) {
    const bool complete = row.is_object() && row.contains("model") && row.contains("protocol") &&
                          row.contains("test") && row.contains(headline_of(row)) && row.contains("standard_error");
    check(complete && row["model"] == run.spec.name && row["protocol"] == run.protocol.name,
          "[export] {}: a score of {} under {} found, expected {} under {}", path.string(),
          complete ? row["model"].dump() : "unknown", complete ? row["protocol"].dump() : "unknown", run.spec.name,
          run.protocol.name);
    check(row.value("weights", json()) == weights,
          "[export] {}: its scores are not of these weights; npzoo eval --checkpoint computes new ones", path.string());
  }
  return scores.dump();
}

bool is_reproduced(const std::filesystem::path& path, const std::string& weights) {
  const json found = parse_json_or_discard(read_text(path));
  const json scores = found.is_object() && found.contains("subject") ? found.value("results", json()) : json();
  return scores.is_array() && std::ranges::all_of(scores, [&](const json& row) {
           return row.is_object() && row.value("weights", json()) == weights;
         });
}

std::vector<TestScore> scores_of(const Provenance& weights) {
  const json evaluation = parse_json(weights.evaluation, "the scores");
  check(evaluation.is_array(), "the scores are not an array");
  std::vector<TestScore> scores;
  for (const json& row : evaluation) {
    const auto member = [&row](const char* key) { return row.is_object() ? row.value(key, json()) : json(); };
    const json test = member("test"), score = member(headline_of(row).c_str()), error = member("standard_error");
    check(test.is_string() && score.is_number() && (error.is_number() || error.is_null()),
          "the score of test {} is {} ± {}, expected a name and numbers", test.dump(), score.dump(), error.dump());
    scores.push_back(
        {test, headline_of(row), score, error.is_null() ? std::nullopt : std::optional(error.get<double>())});
  }
  return scores;
}

std::string in_words(const std::vector<TestScore>& scores) {
  std::string words, figure;
  for (const TestScore& score : scores) {
    words += words.empty() ? "" : ", ";
    if (std::exchange(figure, score.figure) != score.figure) {
      std::string name = score.figure;
      std::ranges::replace(name, '_', '-');
      words += name + ": ";
    }
    words += fmt::format("{} {:.3f}", score.test, score.value);
    if (score.standard_error) words += fmt::format(" ± {:.3f}", *score.standard_error);
  }
  return words;
}

}  // namespace npzoo::tools
