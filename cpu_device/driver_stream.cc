// Streams and their capture; events.
#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

/// 900 if this very stream captures, which the call would have to wait for; the capture is lost then.
CUresult CheckNotCapturing(const std::shared_ptr<Stream>& stream) {
  MutexLock lock(capture_mutex);
  if (stream->capture == nullptr) return CUDA_SUCCESS;
  stream->capture->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/// 907 if the event was last recorded in a capturing stream, where no time will ever pass it.
CUresult CheckNotCaptured(const std::shared_ptr<Event>& event) {
  MutexLock lock(capture_mutex);
  if (event->capture == nullptr) return CUDA_SUCCESS;
  event->capture->invalidated = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

CUresult StreamCreate(CUstream* handle, unsigned int flags) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  if ((flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream = Stream::Create(context, (flags & CU_STREAM_NON_BLOCKING) == 0);
  context->AddStream(stream);
  *handle = Driver::Get().streams.Add<CUstream>(stream);
  return CUDA_SUCCESS;
}

CUresult StreamDestroy(CUstream handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Stream> stream = Driver::Get().streams.Remove(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CheckNotCapturing(stream);
  stream->Close();
  return CUDA_SUCCESS;
}

CUresult StreamSynchronize(CUstream handle) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckNotCapturing(stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  stream->WaitIdle();
  return static_cast<CUresult>(stream->context()->sticky.load());
}

CUresult StreamQuery(CUstream handle) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckNotCapturing(stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  return stream->IsIdle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult StreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned int) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(event_handle, &event));
  {
    MutexLock lock(capture_mutex);
    if (event->capture != nullptr) {
      if (stream->capture == event->capture) return CUDA_SUCCESS;  // A graph here is one ordered list anyway.
      if (stream->capture != nullptr) {
        stream->capture->invalidated = true;
        event->capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
      }
      JoinCapture(stream, event->capture);
      return CUDA_SUCCESS;
    }
    if (stream->capture != nullptr) {
      // The graph would depend on work outside it.
      stream->capture->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
  }
  auto command = std::make_shared<Command>();
  command->run = [event, number = event->last_issued()] {
    event->Wait(number);
    return CUDA_SUCCESS;
  };
  return Submit(stream, {command});
}

CUresult StreamGetCtx(CUstream handle, CUcontext* context) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  *context = reinterpret_cast<CUcontext>(stream->context().get());
  return CUDA_SUCCESS;
}

CUresult StreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  MutexLock lock(capture_mutex);
  *status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return BeginCapture(stream, mode);
}

CUresult StreamEndCapture(CUstream handle, CUgraph* graph) {
  std::shared_ptr<Stream> stream;
  *graph = nullptr;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  std::shared_ptr<Graph> captured;
  TUNEONCE_CPU_RETURN_IF_ERROR(EndCapture(stream, &captured));
  *graph = Driver::Get().graphs.Add<CUgraph>(captured);
  return CUDA_SUCCESS;
}

CUresult LaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_HOST;
  command->run = [=] {
    const HostFunctionScope scope;
    function(data);
    return CUDA_SUCCESS;
  };
  return Submit(stream, {std::move(command)});
}

CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, ThreadCaptureMode());
  return CUDA_SUCCESS;
}

CUresult EventCreate(CUevent* handle, unsigned int flags) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  auto event = std::make_shared<Event>(context, (flags & CU_EVENT_DISABLE_TIMING) == 0);
  *handle = Driver::Get().events.Add<CUevent>(event);
  return CUDA_SUCCESS;
}

CUresult EventDestroy(CUevent handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  return Driver::Get().events.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult EventRecord(CUevent event, CUstream stream) {
  return EventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult EventRecordWithFlags(CUevent event_handle, CUstream stream_handle, unsigned int flags) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(event_handle, &event));
  if (stream->context() != event->context()) return CUDA_ERROR_INVALID_HANDLE;
  {
    MutexLock lock(capture_mutex);
    if (stream->capture != nullptr && (flags & CU_EVENT_RECORD_EXTERNAL) == 0) {
      event->capture = stream->capture;  // Marks a place in the capture; no time is taken.
      return CUDA_SUCCESS;
    }
    event->capture = nullptr;
  }
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  command->record = event;
  return Submit(stream, {command});
}

CUresult EventQuery(CUevent handle) {
  std::shared_ptr<Event> event;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(handle, &event));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckNotCaptured(event));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  return event->IsComplete() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult EventSynchronize(CUevent handle) {
  std::shared_ptr<Event> event;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(handle, &event));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckNotCaptured(event));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  event->Wait();
  return static_cast<CUresult>(event->context()->sticky.load());
}

CUresult EventElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  std::shared_ptr<Event> start;
  std::shared_ptr<Event> end;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(start_handle, &start));
  TUNEONCE_CPU_RETURN_IF_ERROR(FindEvent(end_handle, &end));
  bool usable = start->has_timing() && end->has_timing() && start->last_issued() > 0 && end->last_issued() > 0;
  if (!usable) return CUDA_ERROR_INVALID_HANDLE;
  if (!start->IsComplete() || !end->IsComplete()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time() - start->time()).count();
  return CUDA_SUCCESS;
}

}  // namespace tuneonce::cpu_device::driver
