#ifndef TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_
#define TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_

#include <memory>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "cuda/cupti_api.h"
#include "cuda/driver_api.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class CuptiSession;
class DriverApi;

/// Which CUPTI to use, and whether it may be used, according to an environment. It loads and claims nothing before
/// Claim. A value. Thread rule: immutable.
class Cupti {
 public:
  explicit Cupti(const Environment& environment) : environment_(environment) {}
  /// For tests: `api` outlives it, and serves every driver.
  explicit Cupti(const CuptiApi& api) : api_(&api) {}

  /// Claims CUPTI for kernels of `driver` while the session lives. Errors: Unavailable on the CPU device, and if a
  /// profiler is loaded, because one that attaches later would fail to claim CUPTI; those of LoadCupti and
  /// CuptiSession::Claim.
  Result<std::shared_ptr<CuptiSession>> Claim(const DriverApi& driver) const;

 private:
  Environment environment_;
  const CuptiApi* api_ = nullptr;
};

/// The ownership of CUPTI, which has one owner per process, so all users of this library share one claim. It lasts from
/// the first CuptiSession until the last one is destroyed. CUPTI is finalized then, so that later launches cost as much
/// as before. Thread-safe.
class CuptiClaim;

/// One user's share in the claim of CUPTI. Copies of the pointer are the same user. Thread-safe.
class CuptiSession {
 public:
  /// Claims `cupti`, or joins the existing claim. Calls of `driver` complete CUPTI's records. Errors: Unavailable,
  /// naming the other owner of CUPTI (another profiler, or another CUPTI library that this process claimed) or the
  /// failed call.
  static Result<std::shared_ptr<CuptiSession>> Claim(const CuptiApi& cupti, const DriverApi& driver);
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
  CuptiSession(std::shared_ptr<CuptiClaim> claim, const DriverApi& driver)
      : claim_(std::move(claim)), driver_(driver) {}

  const std::shared_ptr<CuptiClaim> claim_;
  const DriverApi& driver_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_CUPTI_SESSION_H_
