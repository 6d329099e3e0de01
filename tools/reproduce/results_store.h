#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

// The results of `npzoo reproduce`: a file for each protocol, with all runs under its rules and their summary.
//
//     {protocol, source, trial, metric, spread: {kind, seeds, tasks, assumed},
//      runs: [{model, seed, steps, batch_size, lr, parameters, seconds, training_commit, commit, machine,
//              results: [npzoo eval --json, and version]}],
//      rows: [{model, test, figure, seeds, runs, ours, standard_error, task_error, controlled, plain, plain_task_error,
//              published, published_error, published_decimals, oracle, oracle_error, oracle_kind, difference,
//              half_interval, collapsed, verdict}],
//      not_run: [{model, test, figure, published, published_error, published_decimals, oracle, oracle_error,
//                 oracle_kind}],
//      other_versions: [{model, seed, test, version}]}
//
// Rows of the trial `likelihood` are of its headline, in the metric of the protocol. Rows of other trials are of each
// published figure and of the headline, in the figure's own unit. A missing number is null. `runs` has the figure of
// each of `seeds`, `difference` is ours minus published, `half_interval` half of its 95 % interval, `collapsed` the
// seeds far below the best one, `spread` what `published_error` is (see docs/verdicts.md). `ours` is the mean on the
// test tasks or, if `controlled`, the expectation of the exact posterior minus the distance of the model from it there;
// `plain` is always the former. `oracle_kind` names the value of the protocol in `oracle`, "bayes_diagonal". Results
// are log-likelihoods whatever the metric. Commit and machine are those of the evaluation.
//
// `version` is the protocol_version that a result was measured under. Rows are of those alone that were measured under
// the protocol as it is; the others are kept and listed in `other_versions`.

/// DIRECTORY/tnp-gp-rbf.json for tnp/gp-rbf.
std::filesystem::path results_path(const std::filesystem::path& directory, const Protocol& protocol);

/// Throws Error for a file that is there and no store of this protocol.
void check_store(const std::filesystem::path& path, const Protocol& protocol);

/// The whole store of these runs. Rows are in the order of the protocol's tests, and of the models in the registry.
/// Published rows without a run are in `not_run`.
JsonValue make_store(const Protocol& protocol, const std::vector<JsonValue>& runs);

/// Merges runs into the store at `path`, which it makes if there is none, and returns all of it. Of results with the
/// same model, seed, steps, test and version the added one stays; runs are sorted by model, seed and steps. The
/// directory is locked meanwhile, so that of several processes none undoes what another has added; the file holds the
/// old store or the new one at any instant, and is left alone where nothing changes.
JsonValue update_store(const std::filesystem::path& path, const Protocol& protocol,
                       const std::vector<JsonValue>& added);

/// Removes verdicts. With fewer batches than the protocol's not even the standard error is well known: they prove no
/// match and no leak.
void drop_verdicts(JsonValue& store);

}  // namespace npzoo::tools
