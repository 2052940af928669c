// The table of what driver calls do to other threads (measured on an H200, 2026-11-21): both drivers must follow it.
#include <functional>
#include <thread>
#include <vector>

#include "driver_under_test.h"

namespace tuneonce::conformance {
namespace {

/// Objects for the calls of the tables below; made before any capture begins.
struct Objects {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUkernel fresh_kernel = nullptr;  // Never used yet.
  CUdeviceptr memory = 0;
  void* host = nullptr;
  void* second_host = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr result_pointer = 0;
  CUdeviceptr ordered_pointer = 0;
};

CUresult FreeHost(const DriverTable& driver, Objects& objects) {
  CUresult result = driver.MemFreeHost(objects.host);
  if (result == CUDA_SUCCESS) objects.host = nullptr;
  return result;
}

struct Call {
  const char* name;
  std::function<CUresult(const DriverTable&, Objects&)> make;
};

class RulesTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    const char* image = KernelImage().data();
    ASSERT_CUDA(driver_.StreamCreate(&objects_.stream, CU_STREAM_NON_BLOCKING));
    ASSERT_CUDA(driver_.EventCreate(&objects_.event, CU_EVENT_DEFAULT));
    ASSERT_CUDA(driver_.EventRecord(objects_.event, objects_.stream));
    ASSERT_CUDA(driver_.ModuleLoadData(&objects_.module, image));
    ASSERT_CUDA(driver_.LibraryLoadData(&objects_.library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ASSERT_CUDA(driver_.LibraryGetKernel(&objects_.fresh_kernel, objects_.library, "mixed"));
    ASSERT_CUDA(driver_.MemAlloc(&objects_.memory, 1024));
    ASSERT_CUDA(driver_.MemHostAlloc(&objects_.host, 1024, 0));
    // The pool's first allocation takes milliseconds.
    CUdeviceptr first = 0;
    ASSERT_CUDA(driver_.MemAllocAsync(&first, 64, objects_.stream));
    ASSERT_CUDA(driver_.MemFreeAsync(first, objects_.stream));
    CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_RELAXED);
    ASSERT_CUDA(Fill(memory_, 1, 1, capturing));
    ASSERT_CUDA(driver_.StreamEndCapture(capturing, &objects_.graph));
    ASSERT_CUDA(driver_.GraphInstantiateWithFlags(&objects_.exec, objects_.graph, 0));
    ASSERT_CUDA(driver_.StreamDestroy(capturing));
    ASSERT_CUDA(driver_.StreamSynchronize(objects_.stream));
  }

  void TearDown() override {
    for (void* host : {objects_.host, objects_.second_host}) {
      if (host == nullptr) continue;
      EXPECT_CUDA(CUDA_SUCCESS, driver_.MemFreeHost(host));
    }
    DriverTest::TearDown();
  }

  // What else a call leaves behind goes with the process.
  Objects objects_;
};

/// What a call from a thread in default mode, or in RELAXED mode, does to another thread's GLOBAL capture.
enum class Effect { kFine, kSpoils };

struct CaptureCase {
  Call call;
  Effect by_default;
  Effect relaxed;
};

std::vector<CaptureCase> CaptureCases() {
  auto kFine = Effect::kFine;
  auto kSpoils = Effect::kSpoils;
  return {
      {{"cuMemAlloc", [](auto& d, auto& o) { return d.MemAlloc(&o.result_pointer, 64); }}, kSpoils, kFine},
      {{"cuMemFree", [](auto& d, auto& o) { return d.MemFree(o.memory); }}, kSpoils, kFine},
      {{"cuMemAllocAsync", [](auto& d, auto& o) { return d.MemAllocAsync(&o.ordered_pointer, 64, o.stream); }},
       kSpoils,
       kFine},
      {{"cuMemHostAlloc", [](auto& d, auto& o) { return d.MemHostAlloc(&o.second_host, 64, 0); }}, kSpoils, kFine},
      {{"cuMemFreeHost", [](auto& d, auto& o) { return FreeHost(d, o); }}, kSpoils, kFine},
      {{"cuModuleUnload", [](auto& d, auto& o) { return d.ModuleUnload(o.module); }}, kSpoils, kFine},
      {{"cuLibraryUnload", [](auto& d, auto& o) { return d.LibraryUnload(o.library); }}, kSpoils, kFine},
      {{"cuStreamSynchronize", [](auto& d, auto& o) { return d.StreamSynchronize(o.stream); }}, kSpoils, kFine},
      {{"cuEventSynchronize", [](auto& d, auto& o) { return d.EventSynchronize(o.event); }}, kSpoils, kFine},
      {{"cuEventQuery", [](auto& d, auto& o) { return d.EventQuery(o.event); }}, kSpoils, kFine},
      {{"cuGraphInstantiate", [](auto& d, auto& o) { return d.GraphInstantiateWithFlags(&o.exec, o.graph, 0); }},
       kSpoils,
       kFine},
      {{"cuGraphExecDestroy", [](auto& d, auto& o) { return d.GraphExecDestroy(o.exec); }}, kSpoils, kFine},
      {{"cuCtxSynchronize", [](auto& d, auto&) { return d.CtxSynchronize(); }}, kSpoils, kSpoils},
      {{"cuMemcpyHtoD",
        [](auto& d, auto& o) {
          int word = 1;
          return d.MemcpyHtoD(o.memory, &word, 4);
        }},
       kFine,
       kFine},
      {{"cuMemsetD8", [](auto& d, auto& o) { return d.MemsetD8(o.memory, 1, 4); }}, kFine, kFine},
      {{"cuModuleLoadData", [](auto& d, auto& o) { return d.ModuleLoadData(&o.module, KernelImage().data()); }},
       kFine,
       kFine},
      {{"cuLibraryLoadData",
        [](auto& d, auto& o) {
          return d.LibraryLoadData(&o.library, KernelImage().data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
        }},
       kFine,
       kFine},
      {{"cuKernelGetFunction",
        [](auto& d, auto& o) {
          CUfunction f;
          return d.KernelGetFunction(&f, o.fresh_kernel);
        }},
       kFine,
       kFine},
      {{"cuModuleGetFunction",
        [](auto& d, auto& o) {
          CUfunction f;
          return d.ModuleGetFunction(&f, o.module, "spin");
        }},
       kFine,
       kFine},
      {{"cuStreamCreate", [](auto& d, auto& o) { return d.StreamCreate(&o.stream, CU_STREAM_NON_BLOCKING); }},
       kFine,
       kFine},
      {{"cuEventCreate", [](auto& d, auto& o) { return d.EventCreate(&o.event, CU_EVENT_DEFAULT); }}, kFine, kFine},
      {{"cuEventRecord", [](auto& d, auto& o) { return d.EventRecord(o.event, o.stream); }}, kFine, kFine},
      {{"cuMemcpyDtoDAsync", [](auto& d, auto& o) { return d.MemcpyDtoDAsync(o.memory, o.memory + 64, 4, o.stream); }},
       kFine,
       kFine},
      {{"cuMemsetD8Async", [](auto& d, auto& o) { return d.MemsetD8Async(o.memory, 1, 4, o.stream); }}, kFine, kFine},
      {{"cuLaunchHostFunc",
        [](auto& d, auto& o) {
          return d.LaunchHostFunc(
              o.stream, [](void*) {}, nullptr);
        }},
       kFine,
       kFine},
      {{"cuGraphLaunch", [](auto& d, auto& o) { return d.GraphLaunch(o.exec, o.stream); }}, kFine, kFine},
      {{"cuMemGetInfo",
        [](auto& d, auto&) {
          std::size_t f, t;
          return d.MemGetInfo(&f, &t);
        }},
       kFine,
       kFine},
      {{"cuPointerGetAttribute",
        [](auto& d, auto& o) {
          unsigned type;
          return d.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, o.memory);
        }},
       kFine,
       kFine},
  };
}

class CaptureRules : public RulesTest, public ::testing::WithParamInterface<int> {
 protected:
  /// Makes the call on another thread while this one captures in GLOBAL mode.
  void Check(const Call& call, bool relaxed, Effect expected) {
    CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      driver_.CtxSetCurrent(context_);
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      if (relaxed) driver_.ThreadExchangeStreamCaptureMode(&mode);
      result = call.make(driver_, objects_);
    }).join();
    CUgraph graph = nullptr;
    CUresult ended = driver_.StreamEndCapture(capturing, &graph);
    if (expected == Effect::kFine) {
      EXPECT_CUDA(CUDA_SUCCESS, result) << call.name;
      EXPECT_CUDA(CUDA_SUCCESS, ended) << call.name;
    } else {
      EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, result) << call.name;
      EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, ended) << call.name;
    }
  }
};

TEST_P(CaptureRules, FromAThreadInDefaultMode) {
  CaptureCase rule = CaptureCases()[static_cast<std::size_t>(GetParam())];
  Check(rule.call, /*relaxed=*/false, rule.by_default);
}

TEST_P(CaptureRules, FromAThreadInRelaxedMode) {
  CaptureCase rule = CaptureCases()[static_cast<std::size_t>(GetParam())];
  Check(rule.call, /*relaxed=*/true, rule.relaxed);
}

INSTANTIATE_TEST_SUITE_P(Table, CaptureRules, ::testing::Range(0, static_cast<int>(CaptureCases().size())),
                         [](const auto& param) {
                           return CaptureCases()[static_cast<std::size_t>(param.param)].call.name;
                         });

TEST_F(RulesTest, ASynchronousCopySpoilsACaptureOfABlockingStream) {
  CUstream capturing = BeginCapture(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_DEFAULT);
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    driver_.CtxSetCurrent(context_);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_.ThreadExchangeStreamCaptureMode(&mode);
    int word = 1;
    result = driver_.MemcpyHtoD(objects_.memory, &word, 4);
  }).join();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, result);
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.StreamEndCapture(capturing, &graph));
}

/// Which calls wait for a kernel that runs in another stream.
struct WaitCase {
  Call call;
  bool waits;
};

std::vector<WaitCase> WaitCases() {
  return {
      {{"cuMemFree", [](auto& d, auto& o) { return d.MemFree(o.memory); }}, true},
      {{"cuMemFreeHost", [](auto& d, auto& o) { return FreeHost(d, o); }}, true},
      {{"cuModuleLoadData", [](auto& d, auto& o) { return d.ModuleLoadData(&o.module, KernelImage().data()); }}, true},
      {{"cuModuleUnload", [](auto& d, auto& o) { return d.ModuleUnload(o.module); }}, true},
      {{"cuKernelGetFunction",
        [](auto& d, auto& o) {
          CUfunction f;
          return d.KernelGetFunction(&f, o.fresh_kernel);
        }},
       true},
      {{"cuCtxSynchronize", [](auto& d, auto&) { return d.CtxSynchronize(); }}, true},
      {{"cuMemAlloc", [](auto& d, auto& o) { return d.MemAlloc(&o.result_pointer, 64); }}, false},
      {{"cuMemAllocAsync", [](auto& d, auto& o) { return d.MemAllocAsync(&o.ordered_pointer, 64, o.stream); }}, false},
      {{"cuMemHostAlloc", [](auto& d, auto& o) { return d.MemHostAlloc(&o.second_host, 64, 0); }}, false},
      {{"cuLibraryLoadData",
        [](auto& d, auto& o) {
          return d.LibraryLoadData(&o.library, KernelImage().data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
        }},
       false},
      {{"cuLibraryUnload", [](auto& d, auto& o) { return d.LibraryUnload(o.library); }}, false},
      {{"cuGraphInstantiate", [](auto& d, auto& o) { return d.GraphInstantiateWithFlags(&o.exec, o.graph, 0); }},
       false},
      {{"cuLaunchHostFunc",
        [](auto& d, auto& o) {
          return d.LaunchHostFunc(
              o.stream, [](void*) {}, nullptr);
        }},
       false},
      {{"cuGraphLaunch", [](auto& d, auto& o) { return d.GraphLaunch(o.exec, o.stream); }}, false},
      {{"cuStreamCreate", [](auto& d, auto& o) { return d.StreamCreate(&o.stream, CU_STREAM_NON_BLOCKING); }}, false},
  };
}

class WaitRules : public RulesTest, public ::testing::WithParamInterface<int> {};

TEST_P(WaitRules, WhileAKernelRunsInAnotherStream) {
  WaitCase rule = WaitCases()[static_cast<std::size_t>(GetParam())];
  ASSERT_CUDA(Spin(300, stream_));
  ASSERT_CUDA(rule.call.make(driver_, objects_));
  // If the call waited, the kernel is over now; if not, it cannot be.
  EXPECT_CUDA(rule.waits ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY, driver_.StreamQuery(stream_)) << rule.call.name;
}

INSTANTIATE_TEST_SUITE_P(Table, WaitRules, ::testing::Range(0, static_cast<int>(WaitCases().size())),
                         [](const auto& param) {
                           return WaitCases()[static_cast<std::size_t>(param.param)].call.name;
                         });

}  // namespace
}  // namespace tuneonce::conformance
