#ifndef TUNEONCE_LIB_BASE_SPAN_H_
#define TUNEONCE_LIB_BASE_SPAN_H_

#include <string>
#include <utility>

#include "base/trace.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A piece of work on the calling thread, for its lifetime: a range in a profiler's timeline (NVTX, domain "tuneonce"),
/// and an event of a trace that is on. Without a profiler, or in builds without NVTX (TUNEONCE_WITH_NVTX=OFF), and
/// without a trace it costs its name. Never on a hit. One thread makes, uses and destroys it.
class Span {
 public:
  /// `trace` may be null. `category`: a literal: tune, search, compile, load, warm-up, verify, race, store, wait.
  Span(Trace* trace, const char* category, std::string name);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// Adds the outcome, which is shown with the event.
  template <typename Value>
  void Note(const char* name, Value value) {
    if (trace_ != nullptr) event_.arguments.emplace_back(name, std::move(value));
  }

 private:
  Trace* trace_;  // Null if it is off.
  Trace::Event event_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_SPAN_H_
