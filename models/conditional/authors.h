#pragma once

#include "npzoo/models/parity/authors.h"

// Places of the encoders' and decoders' parameters in the authors' code of the conditional models. `words` are the
// names within ours.

namespace npzoo {

/// TNP-pytorch's PoolingEncoder. With self-attention its first network is one of a sequence.
AuthorsPlace tnp_pooling(const std::string& name, Words words, bool attending = false);
/// Its CrossAttnEncoder.
AuthorsPlace tnp_attending(const std::string& name, Words words);
/// Its Decoder; `words` are layers.L.weight.
AuthorsPlace tnp_decoder(Words words);

/// Decoders of the bootstrapping models of both codes; `words` are context.weight or decoder.layers.L.weight.
AuthorsPlace tnp_bootstrap(Words words);
AuthorsPlace dl4bi_bootstrap(Words words);
/// Constructor parameters of these models.
ModelConfig tnp_bootstrap_config(ModelConfig theirs);
ModelConfig dl4bi_bootstrap_config(ModelConfig theirs);

/// The path of dl4bi's models in which targets attend to the context, and the one that leads to latent variables.
AuthorsPlace dl4bi_attending(Words words);
AuthorsPlace dl4bi_latent(Words words);
/// Constructor parameters of dl4bi's models.
ModelConfig dl4bi_conditional(ModelConfig theirs);

}  // namespace npzoo
