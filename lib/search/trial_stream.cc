#include "search/trial_stream.h"

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Result<Stream> MakeTrialStream(StreamView caller) {
  if (InsideCallback())
    return FailedPreconditionError(
        "a search cannot be started from inside a callback of this library: start it after the callback returns");
  if (InsideTrial())
    return FailedPreconditionError(
        "a search cannot be started from a launcher that another search is timing: warm up this kernel before that "
        "search");
  const DriverApi& api = caller.api();
  TUNEONCE_ASSIGN_OR_RETURN(ContextView current, ContextView::Current(api));
  TUNEONCE_ASSIGN_OR_RETURN(CUcontext owner, caller.Context());
  if (owner != current.get()) {
    return InvalidArgumentError(
        "the stream belongs to another CUDA context than the thread's current one: make the stream's context current");
  }
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, caller.IsCapturing());
  if (capturing) return FailedPreconditionError("the stream is capturing: tune before the capture begins");
  TUNEONCE_ASSIGN_OR_RETURN(Event event, Event::Create(api, Event::Timing::kDisabled));
  TUNEONCE_RETURN_IF_ERROR(event.Record(caller.get()));
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Wait(event));
  return stream;
}

Result<Target> CurrentTarget(const DriverApi& api) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  return Target::Of(identity);
}

}  // namespace v0
}  // namespace tuneonce
