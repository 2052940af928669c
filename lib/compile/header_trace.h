#ifndef TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_
#define TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_

#include <optional>
#include <string>
#include <vector>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// The headers that NVRTC read, by the names that it has for them, from the time trace that it wrote
/// (--fdevice-time-trace): NVRTC has no option that lists them, but the trace has an event for each, however short
/// (seen against what it opens: 610 of 610 of CUB's block reduction). Without NVRTC's own built-in header, which each
/// compile reads first: a trace that does not name it has no events of headers (those of CUDA 12.8 and 12.9). Nothing
/// for such a one, and if the text is no trace: then nobody knows.
TUNEONCE_API std::optional<std::vector<std::string>> HeadersInTrace(const std::string& trace);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_HEADER_TRACE_H_
