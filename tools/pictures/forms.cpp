#include "tools/pictures/forms.h"

#include <algorithm>
#include <iterator>

#include "npzoo/datasets/series/series_tasks.h"
#include "tools/pictures/events.h"
#include "tools/pictures/forecasts.h"
#include "tools/pictures/images.h"

namespace npzoo::tools {

namespace {

using Models = std::vector<Shown>;
using Counts = std::vector<std::int64_t>;

/// One row a form.
constexpr PictureForm kForms[] = {
    {.suits = [](const TaskConfig& data) { return data.image_format().has_value(); },
     .any_values = true,
     .takes_contexts = true,
     .draw =
         [](const TaskPicture& drawn, const Counts& contexts, const Models& models, const TaskConfig& data) {
           return draw_images({drawn.tasks, drawn.samples, contexts, drawn.seed}, models, *data.image_format(),
                              data.picture(drawn.tasks, drawn.seed));
         }},
    {.suits = [](const TaskConfig& data) { return data.as_series() != nullptr; },
     .any_inputs = true,
     .draw =
         [](const TaskPicture& drawn, const Counts&, const Models& models, const TaskConfig& data) {
           return draw_forecasts(drawn, models, *data.as_series(), data.picture(drawn.tasks, drawn.seed));
         }},
    {.suits = [](const TaskConfig& data) { return data.as_events() != nullptr; },
     .any_values = true,
     .draw = [](const TaskPicture& drawn, const Counts&, const Models& models,
                const TaskConfig& data) { return draw_events(drawn, models, *data.as_events()); }},
    {.suits = [](const TaskConfig& data) { return data.dim_x() == 1; },
     .draw =
         [](const TaskPicture& drawn, const Counts&, const Models& models, const TaskConfig& data) {
           return draw_curves(drawn, models, data, data.picture(drawn.tasks, drawn.seed));
         }},
    {.suits = [](const TaskConfig&) { return true; },
     .draw =
         [](const TaskPicture& drawn, const Counts&, const Models& models, const TaskConfig& data) {
           return draw_maps(drawn, models, data, data.picture(drawn.tasks, drawn.seed));
         }},
};

}  // namespace

const PictureForm& picture_form(const TaskConfig& data) {
  return *std::ranges::find_if(kForms, [&data](const PictureForm& form) { return form.suits(data); });
}

}  // namespace npzoo::tools
