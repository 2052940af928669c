#include <gtest/gtest.h>

#include "cuda/ipc_memory.h"
#include "testing/device_test.h"
#include "testing/process_monitor.h"
#include "worker/obedient_worker.h"

namespace tuneonce {
namespace {

using WorkerMemoryTest = testing::CpuDeviceTest;

TEST_F(WorkerMemoryTest, AWorkersBlockIsMappedIntoTheHost) {
  Result<std::unique_ptr<WorkerProcess>> worker = testing::StartObedient();
  ASSERT_OK(worker);
  Result<std::string> handle = testing::Ask(**worker, "export");
  ASSERT_OK(handle);
  {
    Result<ImportedBlock> block = ImportedBlock::Open(api(), *handle);
    ASSERT_OK(block);
    Result<std::vector<char>> bytes = ReadDeviceMemory(stream_->view(), block->address(), 4096);
    ASSERT_OK(bytes);
    EXPECT_EQ(*bytes, std::vector<char>(4096, 7));
    EXPECT_TRUE(testing::IsMapped("tuneonce-cpu-device"));
    (*worker)->Kill();
    EXPECT_EQ((*ReadDeviceMemory(stream_->view(), block->address(), 1))[0], 7) << "until it is closed";
  }
  EXPECT_FALSE(testing::IsMapped("tuneonce-cpu-device"));
  EXPECT_FALSE(ImportedBlock::Open(api(), *handle).ok()) << "it went with its process";
}

}  // namespace
}  // namespace tuneonce
