#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "datasets/protocol.h"

namespace npzoo {

// What `npzoo reproduce` keeps: a file for each protocol, with every run under its rules and what they say together.
//
//     {protocol, source, metric,
//      runs: [{model, seed, steps, batch_size, lr, parameters, seconds, training_commit, commit, machine,
//              results: [npzoo eval --json]}],
//      rows: [{model, test, seeds, ours, standard_error, published, published_error, published_decimals,
//              oracle, oracle_error, oracle_kind, difference, verdict}],
//      not_run: [{model, test, published, published_error, published_decimals, oracle, oracle_error, oracle_kind}]}
//
// Figures of rows are in the metric of the protocol, `difference` is ours minus published; what there is none of is
// null. `oracle_kind` is "bayes_diagonal" or "known_marginal". Results are log-likelihoods whatever the metric. Commit
// and machine are those of the evaluation.

/// DIRECTORY/tnp-gp-rbf.json for tnp/gp-rbf.
std::filesystem::path results_path(const std::filesystem::path& directory, const Protocol& protocol);

/// The runs of a store, none where the file is missing. Throws Error for a file that is no store of this protocol.
nlohmann::json load_runs(const std::filesystem::path& path, const Protocol& protocol);

/// `added` in the place of the runs that have the same model, seed and steps; sorted by these.
nlohmann::json merge_runs(const nlohmann::json& runs, const nlohmann::json& added);

/// The whole store. Rows are of the runs of so many steps as the protocol has, and of its batch size and learning rate;
/// in the order of its tests, and of the models in the registry. Published rows without a run are in `not_run`.
nlohmann::json make_store(const Protocol& protocol, const nlohmann::json& runs);

/// Writes a store as it is, durably, unless the file holds just that.
void save_store(const std::filesystem::path& path, const nlohmann::json& store);

/// Prints the rows of a store, beside them those that were not run or, of the models in `failed`, did.
void print_table(const nlohmann::json& store, const std::vector<std::string>& failed);

/// What is wrong with rows above their oracle, a sentence for each.
std::vector<std::string> leaks(const nlohmann::json& store);

}  // namespace npzoo
