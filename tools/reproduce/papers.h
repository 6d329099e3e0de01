#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/cli/json_value.h"
#include "tools/reproduce/table.h"

namespace npzoo::tools {

/// A paper, and the protocols of its tables and figures.
struct Paper {
  const char* name;  // as --paper takes it
  const char* title;
  std::vector<const char*> protocols, models;
};

const std::vector<Paper>& papers();
/// Returns the names of all papers with ", " between them.
std::string paper_names();
/// Throws Error for another name.
const Paper& find_paper(const std::string& name);

/// Returns the models of the paper that have a preset in the protocol. If `asked` is not empty, keeps only those in it.
std::vector<std::string> models_of(const Paper& paper, const Protocol& protocol, const std::vector<std::string>& asked);

/// Returns why tasks of the protocol cannot be drawn here, in one line; empty if they can.
std::string missing_data(const Protocol& protocol);

/// State of one model under one protocol.
enum class RowState : std::uint8_t {
  done,        // all updates, scored
  running,     // by another process
  begun,       // a part of the updates
  failed,      // the last try
  owed,        // nothing yet
  impossible,  // data or a preset are not here
};
const char* to_string(RowState state);

/// A row of a paper's matrix. The note has seeds, updates or a reason.
struct MatrixRow {
  std::string protocol, model;
  RowState state = RowState::owed;
  std::string note{};
};

/// Returns a row for each of `options.models` under the protocol `options.table`. `missing` is the result of
/// `missing_data`.
std::vector<MatrixRow> matrix_rows(const ReproduceOptions& options, const std::string& missing);

void print_matrix(const Paper& paper, std::span<const MatrixRow> rows);
JsonValue to_json(std::span<const MatrixRow> rows);

}  // namespace npzoo::tools
