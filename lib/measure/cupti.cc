#include "measure/cupti.h"

#include "cuda/driver_api.h"
#include "measure/cupti_session.h"

namespace tuneonce {
inline namespace v0 {

Result<std::shared_ptr<CuptiSession>> Cupti::Claim(const DriverApi& driver) const {
  if (api_ != nullptr) return CuptiSession::Claim(*api_, driver);
  if (driver.is_cpu_device()) return UnavailableError("CUPTI cannot time the CPU device");
  if (!environment_.profiler.empty()) {
    return UnavailableError("a profiler is loaded into this process (" + environment_.profiler + ")");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const CuptiApi* api, LoadCupti(environment_));
  return CuptiSession::Claim(*api, driver);
}

}  // namespace v0
}  // namespace tuneonce
