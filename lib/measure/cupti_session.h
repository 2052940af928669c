#ifndef TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_
#define TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_

#include <memory>
#include <utility>
#include <vector>

#include "cuda/cupti_api.h"
#include "cuda/driver_api.h"
#include "tuneonce/stream.h"

namespace tuneonce {

/// CUPTI, claimed for this process: from the first Claim until its last owner is gone, when it is finalized, so that
/// later launches cost what they did before. CUPTI serves one owner per process; so there is one session at a time, and
/// everybody who claims meanwhile shares it. Thread-safe.
class CuptiSession {
 public:
  /// Errors: Unavailable, saying who else has CUPTI or what failed.
  static Result<std::shared_ptr<CuptiSession>> Claim(const CuptiApi& cupti, const DriverApi& driver);
  ~CuptiSession();
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;

  /// A stream whose kernels are recorded, by CUPTI's numbers.
  using StreamId = std::pair<std::uint32_t, std::uint32_t>;

  /// Records the kernels of `stream`, of the current context, until Unwatch. Errors: Unavailable.
  Result<StreamId> Watch(StreamView stream);
  void Unwatch(StreamId stream);

  /// How long the kernels took that ran in a watched stream since the last call, in microseconds, in the order of their
  /// starts. REQUIRES: the stream was synchronized. Errors: Unavailable if a record makes no sense.
  Result<std::vector<double>> Take(StreamId stream);

 private:
  CuptiSession(const CuptiApi& cupti, const DriverApi& driver) : cupti_(cupti), driver_(driver) {}
  Status Start();
  Status Check(int result, const char* call) const;

  const CuptiApi& cupti_;
  const DriverApi& driver_;
  CuptiApi::Subscriber subscriber_ = nullptr;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_
