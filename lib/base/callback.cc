#include "tuneonce/base/callback.h"

namespace tuneonce {
namespace {

thread_local bool inside_callback = false;

}  // namespace

bool InsideCallback() { return inside_callback; }

CallbackScope::CallbackScope() : outer_(std::exchange(inside_callback, true)) {}

CallbackScope::~CallbackScope() { inside_callback = outer_; }

}  // namespace tuneonce
