#include "npzoo/models/blocks/attention_listener.h"

namespace npzoo {

namespace {

thread_local AttentionListener* latest_listener = nullptr;

}  // namespace

AttentionListener::AttentionListener() : before_(std::exchange(latest_listener, this)) {}
AttentionListener::~AttentionListener() { latest_listener = before_; }
AttentionListener* AttentionListener::current() { return latest_listener; }

}  // namespace npzoo
