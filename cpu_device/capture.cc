#include "capture.h"

#include <algorithm>

#include "base/mutex.h"
#include "context.h"

namespace tuneonce::cpu_device {
namespace {

std::vector<std::shared_ptr<Capture>>& ActiveCaptures() TUNEONCE_REQUIRES(capture_mutex) {
  static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

/// Invalidates the captures that `matches` picks; true if there was one.
template <typename Predicate>
bool Invalidate(Predicate matches) TUNEONCE_REQUIRES(capture_mutex) {
  bool any = false;
  for (const auto& capture : ActiveCaptures()) {
    if (!matches(*capture)) continue;
    capture->invalidated = true;
    any = true;
  }
  return any;
}

/// Returns what must precede a command of `stream`: the legacy stream waits for all blocking streams of its context,
/// and they wait for it.
std::function<void()> ImplicitOrder(const std::shared_ptr<Stream>& stream) {
  if (!stream->is_blocking()) return nullptr;
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> waits;
  std::shared_ptr<Stream> legacy = stream->context()->LegacyStreamIfUsed();
  if (legacy == stream) {
    for (const auto& other : stream->context()->Streams()) {
      if (other != stream && other->is_blocking()) waits.emplace_back(other, other->last_pushed());
    }
  } else if (legacy != nullptr) {
    waits.emplace_back(legacy, legacy->last_pushed());
  }
  if (waits.empty()) return nullptr;
  return [waits = std::move(waits)] {
    for (const auto& [other, number] : waits) other->WaitFor(number);
  };
}

}  // namespace

CUstreamCaptureMode& ThreadCaptureMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUresult CheckUnsafeCall() {
  CUstreamCaptureMode mode = ThreadCaptureMode();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  MutexLock lock(capture_mutex);
  bool spoiled = Invalidate([&](const Capture& capture) {
    if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    bool own = capture.owner == std::this_thread::get_id();
    return own || (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  });
  return spoiled ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult CheckContextSynchronize(const Context* context) {
  MutexLock lock(capture_mutex);
  bool spoiled = Invalidate([&](const Capture& capture) { return capture.context == context; });
  return spoiled ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult CheckLegacyStream(const Context* context) {
  MutexLock lock(capture_mutex);
  bool spoiled = Invalidate([&](const Capture& capture) TUNEONCE_REQUIRES(capture_mutex) {
    return capture.context == context && capture.touches_blocking_stream;
  });
  return spoiled ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult BeginCapture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  MutexLock lock(capture_mutex);
  if (stream == stream->context()->LegacyStreamIfUsed()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->context = stream->context().get();
  JoinCapture(stream, capture);
  ActiveCaptures().push_back(capture);
  return CUDA_SUCCESS;
}

void JoinCapture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture) {
  stream->capture = capture;
  capture->streams.push_back(stream);
  capture->touches_blocking_stream |= stream->is_blocking();
}

CUresult EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  MutexLock lock(capture_mutex);
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->owner != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  for (const auto& weak : capture->streams) {
    if (auto member = weak.lock(); member != nullptr && member->capture == capture) member->capture = nullptr;
  }
  auto& active = ActiveCaptures();
  active.erase(std::remove(active.begin(), active.end(), capture), active.end());
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = capture->graph;
  return CUDA_SUCCESS;
}

CUresult Submit(const std::shared_ptr<Stream>& stream, std::vector<std::shared_ptr<const Command>> commands) {
  if (stream == stream->context()->LegacyStreamIfUsed()) {
    if (CUresult result = CheckLegacyStream(stream->context().get()); result != CUDA_SUCCESS) return result;
  }
  {
    MutexLock lock(capture_mutex);
    if (stream->capture != nullptr) {
      if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      auto& nodes = stream->capture->graph->nodes;
      nodes.insert(nodes.end(), commands.begin(), commands.end());
      return CUDA_SUCCESS;
    }
  }
  stream->Push(std::move(commands), ImplicitOrder(stream));
  return CUDA_SUCCESS;
}

}  // namespace tuneonce::cpu_device
