// The owning handles and their views, on the CPU device.
#include <chrono>
#include <thread>

#include "compile/command_toolchain.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "cuda/graph.h"
#include "cuda/ipc_memory.h"
#include "cuda/library.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/tools.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

using HandlesTest = testing::CpuDeviceTest;

TEST_F(HandlesTest, IdentityIsComplete) {
  Result<DeviceIdentity> identity = device_->Identity();
  ASSERT_OK(identity);
  EXPECT_NE(identity->name.find("tuneonce CPU device"), std::string::npos);
  EXPECT_TRUE(identity->is_cpu_device);
  EXPECT_GE(identity->num_sms, 1);
  EXPECT_GT(identity->memory_bytes, 0u);
  EXPECT_GT(identity->l2_bytes, 0u);
  EXPECT_EQ(identity->driver_version, 13000);
  EXPECT_EQ(identity->UuidString().size(), 4 + 36u);
  EXPECT_EQ(Target::Of(*identity).name(), "cpu");
}

TEST_F(HandlesTest, ContextsNestAndComeBack) {
  Result<Context> own = Context::Create(*device_);
  ASSERT_OK(own);
  EXPECT_EQ(ContextView::Current(api())->get(), context_->get()) << "a new context is not left current";
  {
    ScopedContext scoped(own->view());
    EXPECT_EQ(ContextView::Current(api())->get(), own->get());
    EXPECT_EQ(Device::OfCurrentContext(api())->index(), 0);
  }
  EXPECT_EQ(ContextView::Current(api())->get(), context_->get());
  std::thread([&] {
    EXPECT_ERROR(ContextView::Current(api()), StatusCode::kFailedPrecondition, "no current CUDA context");
    EXPECT_ERROR(Device::OfCurrentContext(api()), StatusCode::kFailedPrecondition, "no current CUDA context");
  }).join();
}

TEST_F(HandlesTest, ADestroyedContextIsReported) {
  std::optional<Context> own(*Context::Create(*device_));
  ContextView view = own->view();
  own.reset();
  EXPECT_FALSE(ScopedContext(view).status().ok());
}

TEST_F(HandlesTest, HandlesMoveAndEndOnce) {
  Result<Stream> first = Stream::Create(api());
  CUstream handle = first->get();
  Stream second = *std::move(first);
  EXPECT_EQ(second.get(), handle);
  Result<Event> event = Event::Create(api(), Event::Timing::kEnabled);
  Event moved = *std::move(event);
  EXPECT_OK(moved.Record(second.get()));
  EXPECT_OK(moved.Synchronize());
  EXPECT_EQ(*moved.MicrosecondsSince(moved), 0.0);
}

TEST_F(HandlesTest, BuffersCheckTheirBounds) {
  DeviceBuffer buffer = Floats({1, 2, 3});
  EXPECT_EQ(Read(buffer), (std::vector<float>{1, 2, 3}));
  float more[4] = {};
  EXPECT_ERROR(buffer.CopyFromHost(more, sizeof(more)), StatusCode::kInvalidArgument, "does not fit");
  EXPECT_ERROR(buffer.CopyToHost(more, sizeof(more)), StatusCode::kInvalidArgument, "does not fit");
  EXPECT_OK(buffer.Fill(0));
  EXPECT_EQ(Read(buffer), (std::vector<float>{0, 0, 0}));
  Result<DeviceBuffer> empty = DeviceBuffer::Allocate(stream_->view(), 0);
  ASSERT_OK(empty);
  EXPECT_EQ(empty->data(), nullptr);
  EXPECT_OK(empty->Fill(1));
  EXPECT_ERROR(DeviceBuffer::Allocate(stream_->view(), std::size_t{1} << 60), StatusCode::kResourceExhausted,
               "1152921504606846976 bytes");
}

TEST_F(HandlesTest, LibrariesAndGraphsWork) {
  KernelSource source = KernelSource::CpuCpp(
      "static void one(const tuneonce_block&, float* y) { *y = 1; }\nTUNEONCE_CPU_KERNEL(one);", "one");
  Result<Artifact> artifact =
      CommandToolchain(kHostCompiler, testing::Tools()).Compile(source, Hints(), Target::Of(*device_->Identity()));
  ASSERT_OK(artifact);
  Result<Library> library = Library::Load(api(), artifact->image);
  ASSERT_OK(library);
  EXPECT_ERROR(library->GetKernel("two"), StatusCode::kNotFound, "kernel 'two'");
  Result<KernelHandle> kernel = library->GetKernel("one");
  ASSERT_OK(kernel);
  EXPECT_EQ(*kernel->ParameterSizes(), std::vector<std::size_t>{8});
  EXPECT_EQ(*kernel->Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);

  DeviceBuffer buffer = Floats({0});
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream) { return buffer.Fill(0x40); });
  ASSERT_OK(graph);
  EXPECT_EQ(Read(buffer), std::vector<float>{0}) << "a capture runs nothing";
  EXPECT_OK(graph->Launch(stream_->get()));
  EXPECT_NE(Read(buffer), std::vector<float>{0});
  EXPECT_ERROR(GraphExec::Capture(stream_->view(), [](CUstream) { return NotFoundError("mine"); }),
               StatusCode::kNotFound, "mine");
  EXPECT_FALSE(*stream_->view().IsCapturing()) << "a failed capture has ended";
}

TEST_F(HandlesTest, WhatIsNoImageIsRefused) {
  EXPECT_ERROR(Library::Load(api(), ""), StatusCode::kInvalidArgument, "empty image");
  EXPECT_ERROR(Library::Load(api(), std::string(1000, 'x')), StatusCode::kInvalidArgument, "INVALID_IMAGE");
}

TEST_F(HandlesTest, NothingOfOursSpoilsAnotherThreadsCapture) {
  Result<Stream> capturing = Stream::Create(api());
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.StreamBeginCapture(capturing->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::thread([&] {
    ScopedContext current(context_->view());
    Result<Stream> stream = Stream::Create(api());
    Result<DeviceBuffer> buffer = DeviceBuffer::Allocate(stream->view(), 64);
    Result<Event> event = Event::Create(api(), Event::Timing::kEnabled);
    EXPECT_OK(buffer->Fill(1));
    EXPECT_OK(event->Record(stream->get()));
    EXPECT_OK(event->Synchronize());
    EXPECT_OK(stream->view().Synchronize());
    EXPECT_OK(GraphExec::Capture(stream->view(), [&](CUstream) { return buffer->Fill(2); }));
    EXPECT_OK(device_->Identity());
  }).join();
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.StreamEndCapture(capturing->get(), &graph), CUDA_SUCCESS);
  driver.GraphDestroy(graph);
}

TEST_F(HandlesTest, TheGuardGivesTheThreadsModeBack) {
  const DriverTable& driver = UnguardedTable(api());
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  driver.ThreadExchangeStreamCaptureMode(&mode);
  {
    RelaxedDriver outer(api());
    RelaxedDriver inner(api());
  }
  driver.ThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST_F(HandlesTest, PlannedFaultsHappenAndAreCounted) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  EXPECT_ERROR(FaultInjection::Create(api()), StatusCode::kFailedPrecondition, "another FaultInjection");
  EXPECT_ERROR((*faults)->Plan({"NoSuchFunction", 1, CUDA_ERROR_UNKNOWN, 0}), StatusCode::kInvalidArgument,
               "NoSuchFunction");
  EXPECT_OK((*faults)->Plan({"EventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY, 0}));
  EXPECT_OK((*faults)->Plan({"EventCreate", 0, CUDA_SUCCESS, 100}));
  const DriverApi& faulty = (*faults)->api();
  EXPECT_OK(Event::Create(faulty, Event::Timing::kEnabled));
  EXPECT_ERROR(Event::Create(faulty, Event::Timing::kEnabled), StatusCode::kResourceExhausted, "cuEventCreate");
  EXPECT_OK(Event::Create(faulty, Event::Timing::kEnabled));
  EXPECT_EQ((*faults)->CallCount("EventCreate"), 3);
  (*faults)->Clear();
  EXPECT_EQ((*faults)->CallCount("EventCreate"), 0);
}

TEST_F(HandlesTest, ABlockForOtherProcessesIsFreedAlsoWhereItHasNoHandle) {
  std::size_t before = 0;
  std::size_t now = 0;
  std::size_t total = 0;
  RelaxedDriver driver(api());
  driver->MemGetInfo(&before, &total);
  {
    Result<ExportedBlock> block = ExportedBlock::Allocate(api(), 3);
    ASSERT_OK(block);
    EXPECT_EQ(block->bytes(), 3u);
    ExportedBlock moved = *std::move(block);
    EXPECT_NE(moved.address(), 0u);
    EXPECT_ERROR(ImportedBlock::Open(api(), moved.handle()), StatusCode::kFailedPrecondition, "cuIpcOpenMemHandle");
    driver->MemGetInfo(&now, &total);
    EXPECT_EQ(before - now, std::size_t{2} << 20);
  }
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  EXPECT_OK((*faults)->Plan({"IpcGetMemHandle", 1, CUDA_ERROR_NOT_SUPPORTED, 0}));
  EXPECT_ERROR(ExportedBlock::Allocate((*faults)->api(), 3), StatusCode::kUnimplemented, "cuIpcGetMemHandle");
  driver->MemGetInfo(&now, &total);
  EXPECT_EQ(before, now);
  EXPECT_ERROR(ExportedBlock::Allocate(api(), total * 2), StatusCode::kResourceExhausted, "cuMemAlloc");
  EXPECT_ERROR(ExportedBlock::Allocate(api(), 0), StatusCode::kInvalidArgument, "0 bytes");
  EXPECT_ERROR(ImportedBlock::Open(api(), "handle"), StatusCode::kInvalidArgument, "has 6 bytes");
}

TEST_F(HandlesTest, AnOlderDriverCannotListParameters) {
  KernelSource source = KernelSource::CpuCpp(
      "static void one(const tuneonce_block&, float* y) { *y = 1; }\nTUNEONCE_CPU_KERNEL(one);", "one");
  Result<Artifact> artifact =
      CommandToolchain(kHostCompiler, testing::Tools()).Compile(source, Hints(), Target::Of(*device_->Identity()));
  ASSERT_OK(artifact);
  DriverTable table = UnguardedTable(api());
  table.FuncGetParamInfo = nullptr;  // As a driver before 12.4.
  DriverApi old_driver(table, "old", true);
  Result<Library> library = Library::Load(old_driver, artifact->image);
  ASSERT_OK(library);
  Result<KernelHandle> kernel = library->GetKernel("one");
  ASSERT_OK(kernel);
  EXPECT_ERROR(kernel->ParameterSizes(), StatusCode::kUnimplemented, "12.4");
}

TEST_F(HandlesTest, AStreamIsOrderedBehindWhatAnotherHoldsAlready) {
  KernelSource source = KernelSource::CpuCpp(
      "static void held(const tuneonce_block&, const int* go, float* y) { while (__atomic_load_n(go, 2) == 0) {} *y = "
      "1; }\n"
      "TUNEONCE_CPU_KERNEL(held);",
      "held");
  Result<Artifact> artifact =
      CommandToolchain(kHostCompiler, testing::Tools()).Compile(source, Hints(), Target::Of(*device_->Identity()));
  ASSERT_OK(artifact);
  Result<Library> library = Library::Load(api(), artifact->image);
  ASSERT_OK(library);
  Result<KernelHandle> kernel = library->GetKernel("held");
  ASSERT_OK(kernel);
  Result<Stream> producer = Stream::Create(api());
  DeviceBuffer y = Floats({0});
  DeviceBuffer copy = Floats({0});
  int go = 0;
  const int* go_pointer = &go;
  void* y_pointer = y.data();
  void* parameters[] = {&go_pointer, &y_pointer};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = producer->get();
  RelaxedDriver driver(api());
  ASSERT_EQ(driver->LaunchKernelEx(&config, kernel->get(), parameters, nullptr), CUDA_SUCCESS);
  EXPECT_OK(OrderBehind(stream_->view(), producer->get()));
  ASSERT_EQ(driver->MemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(copy.data()), reinterpret_cast<CUdeviceptr>(y.data()),
                                    sizeof(float), stream_->get()),
            CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  __atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(Read(copy), std::vector<float>{1}) << "the copy waited";
}

TEST_F(HandlesTest, AStreamIsNotOrderedBehindItselfAndNotWhileItCaptures) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  const DriverApi& counted = (*faults)->api();
  EXPECT_OK(OrderBehind(StreamView(counted, stream_->get()), stream_->get()));
  EXPECT_OK(OrderBehind(StreamView(counted, nullptr), CU_STREAM_LEGACY));
  EXPECT_EQ((*faults)->CallCount("EventCreate"), 0);
  Result<Stream> producer = Stream::Create(api());
  DeviceBuffer buffer = Floats({0});
  EXPECT_OK(GraphExec::Capture(stream_->view(), [&](CUstream) {
    EXPECT_ERROR(OrderBehind(stream_->view(), producer->get()), StatusCode::kFailedPrecondition,
                 "another stream than the capturing one");
    return buffer.Fill(2);
  }));
}

}  // namespace
}  // namespace tuneonce
