#pragma once

#include "npzoo/models/events/hawkes_encoder.h"

namespace npzoo {

/// THP+, the transformer Hawkes process whose intensity is that of a mixture of log-normal gaps: the baseline of Bae et
/// al., "Meta temporal point processes", ICLR 2023, github.com/BorealisAI/meta-tpp @a930b18, `TransformerMix`. No
/// recurrent layer comes after the encoder.
///
/// Corrected: the gap that sequences are observed for after their last event counts as such an end, and the mark of the
/// last event is not given a second time; losses are not penalised (for their objective see thp_plus_authors.h). Times
/// are encoded from the start of the sequence or, as theirs may have been, gaps. The first event of an empty context is
/// predicted from a history of zeros.
class ThpPlus final : public LogNormalEventModel {
 public:
  ThpPlus(const EventModelConfig& config, std::int64_t components, const HawkesEncoderConfig& encoder_config,
          Initializer& init);

  std::shared_ptr<const EventModel> copy() const override { return std::make_shared<const ThpPlus>(*this); }
  void visit(ModuleVisitor& visitor) override;

  HawkesEncoder encoder;

 protected:
  std::unique_ptr<EventState> begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const override;
  Tensor histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const override;
  std::unique_ptr<EventState> absorb(const EventState& state, const EmbeddedEvents& events,
                                     Draws& draws) const override;
};

}  // namespace npzoo
