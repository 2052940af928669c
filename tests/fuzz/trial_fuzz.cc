// The messages of an isolated search with any content: what a host reads of its worker's answers, and what a worker
// makes of a candidate. The first byte says which.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "search/trial_description.h"
#include "search/trial_messages.h"
#include "tuneonce/device.h"

namespace {

/// What could be read is written again as the same bytes.
template <typename Message>
tuneonce::Result<Message> Read(std::string_view body) {
  tuneonce::Result<Message> message = tuneonce::DecodeMessage<Message>(body);
  if (!message.ok()) return message;
  const std::string again = tuneonce::EncodeMessage(*message);
  tuneonce::Result<Message> twice = tuneonce::DecodeMessage<Message>(again);
  if (!twice.ok() || tuneonce::EncodeMessage(*twice) != again) {
    std::fprintf(stderr, "a message is not what was written of it\n");
    std::abort();
  }
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    (void)Read<tuneonce::TrialReply>(body);
    return 0;
  }
  tuneonce::Result<tuneonce::PrepareRequest> request = Read<tuneonce::PrepareRequest>(body);
  if (request.ok()) (void)tuneonce::DescribedTrial::Create(std::move(request->trial), tuneonce::Target());
  return 0;
}
