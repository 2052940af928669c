// Capture and replay.
#include <cudaTypedefs.h>

#include <atomic>
#include <thread>

#include "driver_under_test.h"

namespace tuneonce::conformance {
namespace {

TEST_F(DriverTest, ACaptureRunsNothingAndItsReplayDoes) {
  CUdeviceptr scratch = memory_ + 512;
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_GLOBAL);
  ASSERT_CUDA(Fill(memory_, 1, 4, capturing));
  ASSERT_CUDA(driver_.MemsetD32Async(scratch, 0x40400000, 4, capturing));
  ASSERT_CUDA(driver_.MemcpyDtoDAsync(memory_ + 4, scratch, 4, capturing));
  CUgraph graph = nullptr;
  ASSERT_CUDA(driver_.StreamEndCapture(capturing, &graph));
  EXPECT_EQ(ReadFloat(memory_), 0) << "nothing ran yet";
  std::size_t nodes = 0;
  ASSERT_CUDA(driver_.GraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u);
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(driver_.GraphDestroy(graph));
  for (int i = 0; i < 3; ++i) {
    ASSERT_CUDA(driver_.MemsetD8Async(memory_, 0, 16, stream_));
    ASSERT_CUDA(driver_.GraphLaunch(exec, stream_));
    EXPECT_EQ(ReadFloat(memory_), 1);
    EXPECT_EQ(ReadFloat(memory_ + 4), 3);
  }
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphExecDestroy(exec));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(capturing));
}

TEST_F(DriverTest, AHostFunctionRunsInStreamOrderAndAtEachReplay) {
  void* address = nullptr;
  ASSERT_CUDA(driver_.GetProcAddress("cuLaunchHostFunc", &address, 10000, CU_GET_PROC_ADDRESS_DEFAULT));
  auto launch_host_function = reinterpret_cast<PFN_cuLaunchHostFunc_v10000>(address);
  struct Runs {
    std::atomic<int> count{0};
    std::thread::id thread;
  } runs;
  auto count = [](void* data) {
    auto* to = static_cast<Runs*>(data);
    to->thread = std::this_thread::get_id();
    ++to->count;
  };
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch_host_function(stream_, nullptr, &runs));
  std::atomic<bool> goes_on{false};
  auto wait = [](void* data) {
    while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
  };
  ASSERT_CUDA(launch_host_function(stream_, wait, &goes_on));
  ASSERT_CUDA(launch_host_function(stream_, count, &runs));
  EXPECT_EQ(runs.count, 0) << "the stream is still busy";
  goes_on = true;
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
  EXPECT_EQ(runs.count, 1);
  EXPECT_NE(runs.thread, std::this_thread::get_id());

  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_GLOBAL);
  ASSERT_CUDA(launch_host_function(capturing, count, &runs));
  CUgraph graph = nullptr;
  ASSERT_CUDA(driver_.StreamEndCapture(capturing, &graph));
  std::size_t nodes = 0;
  ASSERT_CUDA(driver_.GraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(runs.count, 1) << "it is captured, and did not run";
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&exec, graph, 0));
  for (int replay = 1; replay <= 3; ++replay) {
    ASSERT_CUDA(driver_.GraphLaunch(exec, stream_));
    ASSERT_CUDA(driver_.StreamSynchronize(stream_));
    EXPECT_EQ(runs.count, 1 + replay);
  }
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphExecDestroy(exec));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphDestroy(graph));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(capturing));
}

TEST_F(DriverTest, ExternalEventRecordsInAGraphTakeTimesAtEachReplay) {
  CUevent start = nullptr;
  CUevent end = nullptr;
  ASSERT_CUDA(driver_.EventCreate(&start, CU_EVENT_DEFAULT));
  ASSERT_CUDA(driver_.EventCreate(&end, CU_EVENT_DEFAULT));
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_CUDA(driver_.EventRecordWithFlags(start, capturing, CU_EVENT_RECORD_EXTERNAL));
  ASSERT_CUDA(Spin(10, capturing));
  ASSERT_CUDA(driver_.EventRecordWithFlags(end, capturing, CU_EVENT_RECORD_EXTERNAL));
  CUgraph graph = nullptr;
  ASSERT_CUDA(driver_.StreamEndCapture(capturing, &graph));
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    ASSERT_CUDA(driver_.GraphLaunch(exec, stream_));
    ASSERT_CUDA(driver_.EventSynchronize(end));
    float ms = 0;
    ASSERT_CUDA(driver_.EventElapsedTime(&ms, start, end));
    EXPECT_GE(ms, 9.5f);
  }
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphExecDestroy(exec));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphDestroy(graph));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(capturing));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.EventDestroy(start));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.EventDestroy(end));
}

TEST_F(DriverTest, AnotherStreamJoinsACaptureThroughAnEvent) {
  CUstream other = nullptr;
  CUevent fork = nullptr;
  CUevent join = nullptr;
  ASSERT_CUDA(driver_.StreamCreate(&other, CU_STREAM_NON_BLOCKING));
  ASSERT_CUDA(driver_.EventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  ASSERT_CUDA(driver_.EventCreate(&join, CU_EVENT_DISABLE_TIMING));
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_GLOBAL);
  ASSERT_CUDA(driver_.EventRecord(fork, capturing));
  ASSERT_CUDA(driver_.StreamWaitEvent(other, fork, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  ASSERT_CUDA(driver_.StreamIsCapturing(other, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_CUDA(Fill(memory_, 6, 1, other));
  ASSERT_CUDA(driver_.EventRecord(join, other));
  ASSERT_CUDA(driver_.StreamWaitEvent(capturing, join, 0));
  CUgraph graph = nullptr;
  ASSERT_CUDA(driver_.StreamEndCapture(capturing, &graph));
  ASSERT_CUDA(driver_.StreamIsCapturing(other, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(driver_.GraphLaunch(exec, stream_));
  EXPECT_EQ(ReadFloat(memory_), 6);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphExecDestroy(exec));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphDestroy(graph));
  for (CUstream stream : {other, capturing}) EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(stream));
  for (CUevent event : {fork, join}) EXPECT_CUDA(CUDA_SUCCESS, driver_.EventDestroy(event));
}

TEST_F(DriverTest, AnInstantiatedGraphReplaysAfterItsCodeWasUnloaded) {
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  ASSERT_CUDA(driver_.ModuleLoadData(&module, KernelImage().data()));
  ASSERT_CUDA(driver_.ModuleGetFunction(&fill, module, "fill"));
  float value = 7;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_CUDA(Launch(fill, capturing, 1, parameters));
  CUgraph graph = nullptr;
  ASSERT_CUDA(driver_.StreamEndCapture(capturing, &graph));
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(driver_.ModuleUnload(module));
  ASSERT_CUDA(driver_.GraphLaunch(exec, stream_));
  EXPECT_EQ(ReadFloat(memory_), 7);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphExecDestroy(exec));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.GraphDestroy(graph));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(capturing));
}

TEST_F(DriverTest, WrongUsesOfACaptureAreErrors) {
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              driver_.StreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.StreamEndCapture(stream_, &graph));
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.StreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
  // Waiting for a capturing stream loses the capture.
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver_.StreamSynchronize(capturing));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.StreamEndCapture(capturing, &graph));
  EXPECT_EQ(graph, nullptr);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(capturing));
}

}  // namespace
}  // namespace tuneonce::conformance
