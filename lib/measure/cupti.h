#ifndef TUNEONCE_LIB_MEASURE_CUPTI_H_
#define TUNEONCE_LIB_MEASURE_CUPTI_H_

#include <memory>

#include "base/environment.h"
#include "cuda/cupti_api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class CuptiSession;
class DriverApi;

/// Which CUPTI to use, and whether it may be used, according to an environment. It loads and claims nothing before
/// Claim. A value. Thread rule: immutable.
class TUNEONCE_API Cupti {
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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_CUPTI_H_
