#include "npzoo/models/applications/tables/table_method.h"

#include "npzoo/engine/error.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

TableMethod::Wish TableMethod::wish_of(std::string_view name) {
  return name == "auto" ? Wish::automatic : name == kGaussianProcess ? Wish::gp : Wish::weights;
}

TableMethod::TableMethod(const FillTables& tables, Wish wish, const TrainedModel* named) : trained_(named) {
  if (!tables.has_inputs()) {
    check(wish == Wish::automatic && !named,
          "[predict] --model {} found, and {} has rows without an input, expected --inputs",
          wish == Wish::gp ? kGaussianProcess : "weights", tables.table.format().name());
    return;
  }
  const FillData data = tables.data();
  if (!named && wish != Wish::gp) {
    const std::string name =
        wish == Wish::automatic ? usual_weights(data) : default_weights(data.dim_x - data.covariates);
    if (name != kGaussianProcess) trained_ = &usual_.emplace(load_model(name));
  }
  if (trained_ && trained_->model->dim_x() != data.dim_x)
    check_fits(*trained_, tables.columns.inputs, tables.columns.values);
  compares_ = wish == Wish::automatic && usual_ && compares_with_gp(trained_->model->dim_x());
}

FillResult TableMethod::fill(const FillTables& tables, FillOptions options) const {
  options.compare_gp = compares_;
  if (!tables.has_inputs()) return fill_tables_of_rows(tables, options);
  return trained_ ? fill_tables(*trained_, tables, options) : fill_tables_with_gp(tables, options);
}

}  // namespace npzoo
