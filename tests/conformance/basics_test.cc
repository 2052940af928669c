// What every driver must do: launches, parameters, memory, events, contexts, errors.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "driver_under_test.h"

namespace tuneonce::conformance {
namespace {

TEST_F(DriverTest, ALaunchWritesMemoryInStreamOrder) {
  ASSERT_CUDA(Fill(memory_, 1, kCount, stream_));
  ASSERT_CUDA(Fill(memory_, 2, 1, stream_));
  EXPECT_EQ(ReadFloat(memory_), 2);
  EXPECT_EQ(ReadFloat(memory_ + 4), 1);
}

TEST_F(DriverTest, ParametersOfAllSizesArrive) {
  char a = 1;
  double b = 2.5;
  short c = 3;
  int e = 4;
  void* parameters[] = {&a, &b, &c, &memory_, &e};
  ASSERT_CUDA(Launch(mixed_, stream_, 1, parameters));
  EXPECT_EQ(ReadFloat(memory_), 10.5f);
}

TEST_F(DriverTest, ParametersAreListedWithOffsetAndSize) {
  const std::vector<std::pair<std::size_t, std::size_t>> expected = {{0, 1}, {8, 8}, {16, 2}, {24, 8}, {32, 4}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    ASSERT_CUDA(driver_.FuncGetParamInfo(mixed_, i, &offset, &size));
    EXPECT_EQ(offset, expected[i].first) << i;
    EXPECT_EQ(size, expected[i].second) << i;
  }
  std::size_t offset = 0;
  std::size_t size = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.FuncGetParamInfo(mixed_, expected.size(), &offset, &size));
}

TEST_F(DriverTest, ParametersAreCopiedAtTheLaunch) {
  ASSERT_CUDA(Spin(20, stream_));
  float value = 5;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  ASSERT_CUDA(Launch(fill_, stream_, 1, parameters));
  value = 6;
  EXPECT_EQ(ReadFloat(memory_), 5);
}

TEST_F(DriverTest, ALaunchThatCannotRunIsRefused) {
  float value = 0;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Launch(fill_, stream_, 0, parameters));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Launch(fill_, stream_, 1, parameters, 64 * 1024));
}

TEST_F(DriverTest, MoreSharedMemoryMustBeAskedFor) {
  float value = 3;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  ASSERT_CUDA(driver_.FuncSetAttribute(fill_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
  ASSERT_CUDA(Launch(fill_, stream_, 1, parameters, 64 * 1024));
  EXPECT_EQ(ReadFloat(memory_), 3);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.FuncSetAttribute(fill_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24));
}

TEST_F(DriverTest, MissingCodeIsNotFound) {
  CUfunction function = nullptr;
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, driver_.ModuleGetFunction(&function, module_, "no_such_kernel"));
  CUmodule module = nullptr;
  std::string garbage(4096, 'x');
  CUresult result = driver_.ModuleLoadData(&module, garbage.data());
  EXPECT_NE(result, CUDA_SUCCESS);
}

TEST_F(DriverTest, LibrariesGiveTheSameKernels) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(LoadFill(&library, &kernel, &function));
  float value = 8;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  ASSERT_CUDA(Launch(function, stream_, 1, parameters));
  EXPECT_EQ(ReadFloat(memory_), 8);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.LibraryUnload(library));
}

TEST_F(DriverTest, CopiesAndFillsWork) {
  std::vector<float> host(kCount, 7.0f);
  ASSERT_CUDA(driver_.MemcpyHtoD(memory_, host.data(), kCount * sizeof(float)));
  ASSERT_CUDA(driver_.StreamSynchronize(nullptr));  // A copy from pageable memory may return before it has arrived.
  EXPECT_EQ(ReadFloat(memory_ + 4 * (kCount - 1)), 7);
  ASSERT_CUDA(driver_.MemsetD32Async(memory_, 0x40000000, 2, stream_));
  ASSERT_CUDA(driver_.MemcpyDtoDAsync(memory_ + 64, memory_, 4, stream_));
  EXPECT_EQ(ReadFloat(memory_ + 64), 2.0f);
  ASSERT_CUDA(driver_.MemsetD8(memory_, 0, 4));
  ASSERT_CUDA(driver_.StreamSynchronize(nullptr));  // Asynchronous, too.
  EXPECT_EQ(ReadFloat(memory_), 0.0f);
  EXPECT_EQ(ReadFloat(memory_ + 4), 2.0f);
  unsigned type = 0;
  ASSERT_CUDA(driver_.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory_));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
}

TEST_F(DriverTest, MemoryIsLimitedAndCounted) {
  std::size_t free_before = 0;
  std::size_t total = 0;
  ASSERT_CUDA(driver_.MemGetInfo(&free_before, &total));
  EXPECT_LE(free_before, total);
  CUdeviceptr large = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.MemAlloc(&large, total + (1u << 30)));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.MemAllocAsync(&large, total + (1u << 30), stream_));
  constexpr std::size_t kBytes = 64u << 20;
  ASSERT_CUDA(driver_.MemAlloc(&large, kBytes));
  std::size_t free_after = 0;
  ASSERT_CUDA(driver_.MemGetInfo(&free_after, &total));
  EXPECT_LE(free_after + kBytes, free_before);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.MemFree(large));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.MemAlloc(&large, 0));
}

TEST_F(DriverTest, StreamOrderedMemoryIsUsableInItsStream) {
  CUdeviceptr scratch = 0;
  ASSERT_CUDA(driver_.MemAllocAsync(&scratch, 256, stream_));
  ASSERT_CUDA(Fill(scratch, 9, 4, stream_));
  ASSERT_CUDA(driver_.MemcpyDtoDAsync(memory_, scratch, 16, stream_));
  ASSERT_CUDA(driver_.MemFreeAsync(scratch, stream_));
  EXPECT_EQ(ReadFloat(memory_ + 12), 9);
}

TEST_F(DriverTest, EventsOrderStreamsAndTakeTimes) {
  CUevent start = nullptr;
  CUevent end = nullptr;
  CUstream other = nullptr;
  ASSERT_CUDA(driver_.EventCreate(&start, CU_EVENT_DEFAULT));
  ASSERT_CUDA(driver_.EventCreate(&end, CU_EVENT_DEFAULT));
  ASSERT_CUDA(driver_.StreamCreate(&other, CU_STREAM_NON_BLOCKING));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.EventQuery(start)) << "an event never recorded is complete";
  ASSERT_CUDA(driver_.EventRecord(start, stream_));
  ASSERT_CUDA(Spin(30, stream_));
  ASSERT_CUDA(Fill(memory_, 4, 1, stream_));
  ASSERT_CUDA(driver_.EventRecord(end, stream_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.EventQuery(end));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.StreamQuery(stream_));
  float ms = 0;
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.EventElapsedTime(&ms, start, end));
  ASSERT_CUDA(driver_.StreamWaitEvent(other, end, 0));
  ASSERT_CUDA(driver_.MemcpyDtoDAsync(memory_ + 4, memory_, 4, other));
  ASSERT_CUDA(driver_.StreamSynchronize(other));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.EventQuery(end));
  EXPECT_EQ(ReadFloat(memory_ + 4), 4);
  ASSERT_CUDA(driver_.EventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 29.0f) << "the kernel spins that long";
  ASSERT_CUDA(driver_.EventDestroy(start));
  ASSERT_CUDA(driver_.EventDestroy(end));
  ASSERT_CUDA(driver_.StreamDestroy(other));
}

TEST_F(DriverTest, StreamsRunAtTheSameTime) {
  CUstream other = nullptr;
  CUevent done = nullptr;
  ASSERT_CUDA(driver_.StreamCreate(&other, CU_STREAM_NON_BLOCKING));
  ASSERT_CUDA(driver_.EventCreate(&done, CU_EVENT_DISABLE_TIMING));
  ASSERT_CUDA(Spin(300, stream_));
  ASSERT_CUDA(Fill(memory_, 1, 1, other));
  ASSERT_CUDA(driver_.EventRecord(done, other));
  ASSERT_CUDA(driver_.EventSynchronize(done));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.StreamQuery(stream_)) << "the other stream's kernel still spins";
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
  ASSERT_CUDA(driver_.EventDestroy(done));
  ASSERT_CUDA(driver_.StreamDestroy(other));
}

TEST_F(DriverTest, TheLegacyStreamIsOrderedWithBlockingStreams) {
  CUstream blocking = nullptr;
  ASSERT_CUDA(driver_.StreamCreate(&blocking, CU_STREAM_DEFAULT));
  ASSERT_CUDA(Spin(20, blocking));
  ASSERT_CUDA(Fill(memory_, 1, 1, blocking));
  ASSERT_CUDA(Fill(memory_, 2, 1, nullptr));
  ASSERT_CUDA(Fill(memory_, 3, 1, blocking));
  ASSERT_CUDA(driver_.StreamSynchronize(blocking));
  EXPECT_EQ(ReadFloat(memory_), 3);
  ASSERT_CUDA(driver_.StreamDestroy(blocking));
}

TEST_F(DriverTest, AContextOfItsOwnWorksAndEndsCleanly) {
  CUcontext own = nullptr;
  ASSERT_CUDA(driver_.CtxCreate(&own, 0, 0));
  CUcontext current = nullptr;
  ASSERT_CUDA(driver_.CtxGetCurrent(&current));
  EXPECT_EQ(current, own);
  CUstream stream = nullptr;
  ASSERT_CUDA(driver_.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUcontext owner = nullptr;
  ASSERT_CUDA(driver_.StreamGetCtx(stream, &owner));
  EXPECT_EQ(owner, own);
  CUcontext popped = nullptr;
  ASSERT_CUDA(driver_.CtxPopCurrent(&popped));
  EXPECT_EQ(popped, own);
  // A kernel of the primary context does not go into a stream of this one.
  float value = 0;
  int count = 1;
  void* parameters[] = {&memory_, &value, &count};
  CUresult foreign = Launch(fill_, stream, 1, parameters);
  EXPECT_TRUE(foreign == CUDA_ERROR_INVALID_HANDLE || foreign == CUDA_ERROR_INVALID_CONTEXT) << foreign;
  EXPECT_CUDA(CUDA_SUCCESS, driver_.CtxDestroy(own));
}

TEST_F(DriverTest, AContextsIdNeverComesBack) {
  unsigned long long primary = 0, id = 0, again = 0;
  ASSERT_CUDA(driver_.CtxGetId(nullptr, &primary));
  ASSERT_CUDA(driver_.CtxGetId(context_, &id));
  EXPECT_EQ(id, primary);
  CUcontext own = nullptr;
  ASSERT_CUDA(driver_.CtxCreate(&own, 0, 0));
  ASSERT_CUDA(driver_.CtxGetId(nullptr, &id));
  EXPECT_NE(id, primary);
  std::thread([&] { EXPECT_CUDA(CUDA_SUCCESS, driver_.CtxDestroy(own)); }).join();
  EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, driver_.CtxGetId(nullptr, &again));
  CUcontext popped = nullptr;
  driver_.CtxPopCurrent(&popped);
  CUcontext next = nullptr;
  ASSERT_CUDA(driver_.CtxCreate(&next, 0, 0));
  ASSERT_CUDA(driver_.CtxGetId(nullptr, &again));
  EXPECT_NE(again, id) << (next == own ? "at the same address" : "");
  ASSERT_CUDA(driver_.CtxDestroy(next));
  ASSERT_CUDA(driver_.CtxSetCurrent(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.CtxGetId(nullptr, &again));
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
}

TEST_F(DriverTest, AKernelOfALibraryRunsInEveryContext) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(LoadFill(&library, &kernel, &function));
  ASSERT_CUDA(driver_.KernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024, kernel, 0));
  auto works_here = [&] {
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    ASSERT_CUDA(driver_.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_CUDA(driver_.MemAlloc(&memory, 4 * sizeof(float)));
    float value = 7, read[4] = {};
    int count = 4;
    void* parameters[] = {&memory, &value, &count};
    // The attribute, 64 KiB of shared memory, holds in contexts that were made later.
    EXPECT_CUDA(CUDA_SUCCESS,
                Launch(reinterpret_cast<CUfunction>(kernel), stream, 1, parameters, /*shared_bytes=*/64 * 1024));
    EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamSynchronize(stream));
    EXPECT_CUDA(CUDA_SUCCESS, driver_.MemcpyDtoH(read, memory, sizeof(read)));
    EXPECT_EQ(read[0], 7);
    EXPECT_CUDA(CUDA_SUCCESS, driver_.MemFree(memory));
    EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamDestroy(stream));
  };
  works_here();
  for (int i = 0; i < 3; ++i) {  // As a rule the second's address comes back.
    CUcontext own = nullptr;
    ASSERT_CUDA(driver_.CtxCreate(&own, 0, 0));
    works_here();
    ASSERT_CUDA(driver_.CtxDestroy(own));
  }
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
  works_here();
  EXPECT_CUDA(CUDA_SUCCESS, driver_.LibraryUnload(library));
}

TEST_F(DriverTest, AForkedChildCannotUseTheDriver) {
  pid_t child = fork();
  if (child == 0) {
    unsigned long long id = 0;
    bool refused = driver_.CtxGetId(nullptr, &id) == CUDA_ERROR_NOT_INITIALIZED;
    float value = 0;
    int count = 1;
    void* parameters[] = {&memory_, &value, &count};
    refused &= Launch(fill_, stream_, 1, parameters) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_CUDA(CUDA_SUCCESS, Fill(memory_, 1, 1, stream_));
}

TEST_F(DriverTest, WithoutAContextCallsSaySo) {
  ASSERT_CUDA(driver_.CtxSetCurrent(nullptr));
  CUdeviceptr pointer = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.MemAlloc(&pointer, 16));
  CUdevice device = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.CtxGetDevice(&device));
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
}

TEST_F(DriverTest, DevicesDescribeThemselves) {
  int count = 0;
  ASSERT_CUDA(driver_.DeviceGetCount(&count));
  EXPECT_GE(count, 1);
  CUdevice device = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.DeviceGet(&device, count));
  int sms = 0;
  ASSERT_CUDA(driver_.DeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_GE(sms, 1);
  const char* name = nullptr;
  ASSERT_CUDA(driver_.GetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.GetErrorName(static_cast<CUresult>(1023), &name));
}

/// In a process of its own, since the context does not survive it.
void FaultAndReport(const DriverTable& driver, CUresult launched, CUstream stream) {
  if (launched != CUDA_SUCCESS) std::exit(2);
  CUresult first = driver.StreamSynchronize(stream);
  CUdeviceptr pointer = 0;
  CUresult second = driver.MemAlloc(&pointer, 16);
  std::fprintf(stderr, "first %d, then %d\n", static_cast<int>(first), static_cast<int>(second));
  std::_Exit(0);
}

TEST_F(DriverTest, AFaultIsStickyErrorSevenHundred) {
  CUdeviceptr nowhere = 0x10000;
  void* parameters[] = {&nowhere};
  EXPECT_EXIT(FaultAndReport(driver_, Launch(fault_, stream_, 1, parameters), stream_), ::testing::ExitedWithCode(0),
              "first 700, then 700");
}

}  // namespace
}  // namespace tuneonce::conformance
