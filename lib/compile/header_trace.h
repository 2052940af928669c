#ifndef TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_
#define TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_

#include <optional>
#include <string>
#include <vector>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the headers that NVRTC read, under NVRTC's names for them, from the time trace that it wrote
/// (--fdevice-time-trace). NVRTC has no option that lists them, but the trace has an event for each header, however
/// short (compared with the files that NVRTC opened: 610 of 610 for CUB's block reduction).
///
/// The result leaves out NVRTC's own built-in header, which each compile reads first. A trace that does not name that
/// header has no header events (CUDA 12.8 and 12.9), or has lost the first of them (CUDA 13.0, for the rest of the
/// process once a header of some source had an error). Returns nullopt for such a trace and for a text that is not a
/// trace, because the headers are unknown then.
TUNEONCE_API std::optional<std::vector<std::string>> HeadersInTrace(const std::string& trace);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_
