#include "measure/held_stream.h"

#include <chrono>
#include <thread>
#include <utility>

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

void HeldStream::Wait(void* gate) {
  const std::unique_ptr<std::shared_ptr<Gate>> is_open(static_cast<std::shared_ptr<Gate>*>(gate));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLongestMs);
  while (!**is_open && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

Result<HeldStream> HeldStream::Hold(StreamView stream) {
  auto gate = std::make_shared<Gate>(false);
  auto of_function = std::make_unique<std::shared_ptr<Gate>>(gate);  // The driver may call it after the object's end.
  TUNEONCE_RETURN_IF_ERROR(
      TUNEONCE_CUDA_STATUS(stream.api(), LaunchHostFunc(stream.get(), &HeldStream::Wait, of_function.get())));
  of_function.release();  // NOLINT(bugprone-unused-return-value): the function owns it.
  return HeldStream(std::move(gate));
}

HeldStream::~HeldStream() {
  if (gate_ != nullptr) *gate_ = true;
}

}  // namespace v0
}  // namespace tuneonce
