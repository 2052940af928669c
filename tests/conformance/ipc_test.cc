// What every driver must do for memory that two processes share.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver_under_test.h"
#include "ipc_exporter.h"

namespace tuneonce::conformance {
namespace {

constexpr int kLast = IpcExporter::kCount - 1;

class IpcTest : public DriverTest {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // An exporter that died is seen by its answers.
    DriverTest::SetUp();
    const CUipcMemHandle none{};
    ASSERT_NE(std::memcmp(&exporter_.handle(), &none, sizeof(none)), 0) << "the other process could not export";
  }

  CUresult Open(CUdeviceptr* pointer) {
    return driver_.IpcOpenMemHandle(pointer, exporter_.handle(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  }
  float Last(CUdeviceptr memory) { return ReadFloat(memory + kLast * sizeof(float)); }

  IpcExporter exporter_;
};

TEST_F(IpcTest, BothProcessesSeeWhatEitherWrites) {
  exporter_.Fill(3);
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  EXPECT_EQ(ReadFloat(shared), 3);
  EXPECT_EQ(Last(shared), 3);
  exporter_.Fill(4);
  EXPECT_EQ(Last(shared), 4) << "written after it was opened";
  ASSERT_CUDA(Fill(shared, 5, IpcExporter::kCount, stream_));
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
  EXPECT_EQ(exporter_.Read(0), 5);
  EXPECT_EQ(exporter_.Read(kLast), 5);
  float seven = 7;
  ASSERT_CUDA(driver_.MemcpyHtoDAsync(shared, &seven, sizeof(seven), stream_));
  ASSERT_CUDA(driver_.MemcpyDtoDAsync(memory_, shared, sizeof(seven), stream_));
  EXPECT_EQ(ReadFloat(memory_), 7);
  EXPECT_EQ(exporter_.Read(0), 7);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
}

TEST_F(IpcTest, WhatWasThereBeforeTheExportStays) {
  ASSERT_CUDA(Fill(memory_, 6, kCount, stream_));
  CUipcMemHandle first{};
  CUipcMemHandle second{};
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
  ASSERT_CUDA(driver_.IpcGetMemHandle(&first, memory_));
  EXPECT_EQ(ReadFloat(memory_ + (kCount - 1) * sizeof(float)), 6);
  ASSERT_CUDA(Fill(memory_, 8, 1, stream_));
  EXPECT_EQ(ReadFloat(memory_), 8) << "it is memory as before";
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcGetMemHandle(&second, memory_)) << "as often as one likes";
}

TEST_F(IpcTest, ImportedMemoryIsDeviceMemoryOfTheDevice) {
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  unsigned kind = 0;
  ASSERT_CUDA(driver_.PointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, shared));
  EXPECT_EQ(kind, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  int device = -1;
  ASSERT_CUDA(driver_.PointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, shared));
  EXPECT_EQ(device, 0);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
}

TEST_F(IpcTest, AnImportTakesNoMemoryOfItsOwn) {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));  // The first may make room for what mappings need.
  ASSERT_CUDA(driver_.IpcCloseMemHandle(shared));
  ASSERT_CUDA(driver_.MemGetInfo(&before, &total));
  for (int i = 0; i < 20; ++i) {
    ASSERT_CUDA(Open(&shared));
    ASSERT_CUDA(driver_.IpcCloseMemHandle(shared));
  }
  ASSERT_CUDA(driver_.MemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(IpcTest, OpeningTwiceGivesOneMappingThatIsClosedTwice) {
  exporter_.Fill(2);
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  ASSERT_CUDA(Open(&first));
  ASSERT_CUDA(Open(&second));
  EXPECT_EQ(first, second);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(first));
  EXPECT_EQ(ReadFloat(second), 2);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(second));
  EXPECT_NE(driver_.IpcCloseMemHandle(second), CUDA_SUCCESS) << "it is closed";
}

TEST_F(IpcTest, OneContextOfAProcessOpensAHandle) {
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  CUcontext other = nullptr;
  ASSERT_CUDA(driver_.CtxCreate(&other, 0, 0));
  CUdeviceptr again = 0;
  EXPECT_NE(Open(&again), CUDA_SUCCESS);
  ASSERT_CUDA(driver_.CtxDestroy(other));
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
}

TEST_F(IpcTest, AHandleIsNotOpenedInTheProcessThatMadeIt) {
  CUipcMemHandle handle{};
  ASSERT_CUDA(driver_.IpcGetMemHandle(&handle, memory_));
  CUdeviceptr shared = 0;
  EXPECT_NE(driver_.IpcOpenMemHandle(&shared, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
  EXPECT_CUDA(CUDA_SUCCESS, Fill(memory_, 1, 1, stream_)) << "and nothing is broken";
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamSynchronize(stream_));
}

TEST_F(IpcTest, WhatIsNoAllocationOfCuMemAllocHasNoHandle) {
  CUipcMemHandle handle{};
  EXPECT_NE(driver_.IpcGetMemHandle(&handle, 0x10000), CUDA_SUCCESS);
  CUdeviceptr ordered = 0;
  ASSERT_CUDA(driver_.MemAllocAsync(&ordered, 4096, stream_));
  EXPECT_NE(driver_.IpcGetMemHandle(&handle, ordered), CUDA_SUCCESS) << "memory of a stream";
  ASSERT_CUDA(driver_.MemFreeAsync(ordered, stream_));
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  EXPECT_NE(driver_.IpcGetMemHandle(&handle, shared), CUDA_SUCCESS) << "another process's memory";
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
}

TEST_F(IpcTest, MemoryIsGivenBackByTheCallThatBelongsToIt) {
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  EXPECT_NE(driver_.MemFree(shared), CUDA_SUCCESS) << "it is the other process's";
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
  EXPECT_NE(driver_.IpcCloseMemHandle(memory_), CUDA_SUCCESS) << "it is this process's";
  EXPECT_EQ(exporter_.Read(0), 0) << "the exporter still has it";
}

TEST_F(IpcTest, ACloseEndsNothingButTheMapping) {
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  ASSERT_CUDA(Fill(shared, 9, IpcExporter::kCount, stream_));
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
  ASSERT_CUDA(driver_.IpcCloseMemHandle(shared));
  EXPECT_EQ(exporter_.Read(kLast), 9);
  ASSERT_CUDA(Open(&shared));
  EXPECT_EQ(Last(shared), 9);
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
}

TEST_F(IpcTest, TheExportersEndHarmsNoOne) {
  exporter_.Fill(3);
  CUdeviceptr shared = 0;
  ASSERT_CUDA(Open(&shared));
  exporter_.Kill();
  ASSERT_CUDA(Fill(memory_, 1, kCount, stream_));
  EXPECT_EQ(ReadFloat(memory_), 1) << "the context computes";
  EXPECT_EQ(Last(shared), 3) << "the memory lives until it is closed";
  EXPECT_CUDA(CUDA_SUCCESS, driver_.IpcCloseMemHandle(shared));
  EXPECT_EQ(ReadFloat(memory_), 1);
  EXPECT_NE(Open(&shared), CUDA_SUCCESS) << "there is nothing left to open";
}

TEST_F(IpcTest, WhatTheExporterFreedIsNotOpenedAnyMore) {
  exporter_.Free();
  CUdeviceptr shared = 0;
  EXPECT_NE(Open(&shared), CUDA_SUCCESS);
  EXPECT_CUDA(CUDA_SUCCESS, Fill(memory_, 1, 1, stream_));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamSynchronize(stream_));
}

/// In a process of its own, since the context does not survive it.
void FaultAndReport(const DriverTable& driver, CUstream stream, CUdeviceptr memory, CUipcMemHandle handle) {
  driver.StreamSynchronize(stream);
  CUdeviceptr shared = 0;
  CUresult opened = driver.IpcOpenMemHandle(&shared, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  CUresult exported = driver.IpcGetMemHandle(&handle, memory);
  std::fprintf(stderr, "open %d, export %d\n", static_cast<int>(opened), static_cast<int>(exported));
  std::_Exit(0);
}

TEST_F(IpcTest, AfterAFaultTheyHaveItsError) {
  CUdeviceptr nowhere = 0x10000;
  void* parameters[] = {&nowhere};
  EXPECT_EXIT(
      {
        Launch(fault_, stream_, 1, parameters);
        FaultAndReport(driver_, stream_, memory_, exporter_.handle());
      },
      ::testing::ExitedWithCode(0), "open 700, export 700");
}

TEST_F(IpcTest, WhatIsNoHandleIsAnError) {
  CUipcMemHandle garbage{};
  std::memset(garbage.reserved, 0x5a, sizeof(garbage.reserved));
  CUdeviceptr shared = 0;
  EXPECT_NE(driver_.IpcOpenMemHandle(&shared, garbage, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.IpcOpenMemHandle(&shared, exporter_.handle(), 0)) << "without its flag";
  EXPECT_CUDA(CUDA_SUCCESS, Fill(memory_, 1, 1, stream_));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamSynchronize(stream_));
}

TEST_F(IpcTest, WithoutAContextThereIsNothingToOpenItIn) {
  ASSERT_CUDA(driver_.CtxSetCurrent(nullptr));
  CUdeviceptr shared = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Open(&shared));
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
}

}  // namespace
}  // namespace tuneonce::conformance
