// The CPU device where the system gives no threads, no memory, or no place to run code from. Each case is a process of
// its own: the driver starts there.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>

#include "base/temporary_folder.h"
#include "compile/command_toolchain.h"
#include "cuda/driver_api.h"
#include "cuda/ipc_memory.h"
#include "cuda/library.h"
#include "launch/launch.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "testing/runtimes.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

using testing::InChild;
using testing::kCannotBeTested;

/// The current context of the child's own driver, by the environment as it is now, and a kernel that sets y[block] = 7.
struct Host {
  Device device = *testing::MakeRuntime({})->OpenDevice("cpu");
  Context context = *Context::RetainPrimary(device);
  ScopedContext current{context.view()};
};

class ScarceSystemTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Artifact> artifact =
        CommandToolchain(kHostCompiler, testing::Tools())
            .Compile(KernelSource::CpuCpp("static void k(const tuneonce_block& block, float* y) { y[block.x] = 7; }\n"
                                          "TUNEONCE_CPU_KERNEL(k);",
                                          "k"),
                     Hints(), testing::CpuTarget());
    ASSERT_OK(artifact);
    image_ = new std::string(artifact->image);
  }

  /// Loads the kernel, runs 64 blocks and looks at what they wrote.
  static void RunTheKernel(Host& host, const Stream& stream) {
    Result<Library> library = Library::Load(host.device.api(), *image_);
    ASSERT_OK(library);
    Result<DeviceBuffer> y = DeviceBuffer::Allocate(stream.view(), 64 * sizeof(float));
    ASSERT_OK(y);
    auto pointer = y->get();
    void* parameters[] = {&pointer};
    Geometry geometry;
    geometry.grid = {64, 1, 1};
    EXPECT_EQ(LaunchKernel(host.device.api().launch_path(), library->GetKernel("k")->get(), geometry, stream.get(),
                           parameters),
              CUDA_SUCCESS);
    std::vector<float> values(64);
    EXPECT_OK(y->CopyToHost(values.data(), y->bytes()));
    EXPECT_OK(stream.view().Synchronize());
    EXPECT_EQ(values, std::vector<float>(64, 7));
  }

  static std::string* image_;
};
std::string* ScarceSystemTest::image_ = nullptr;

TEST_F(ScarceSystemTest, AStreamWithoutAThreadIsAnError) {
  int result = InChild([] {
    Host host;
    testing::LimitThreads(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_ERROR(Stream::Create(host.device.api()), StatusCode::kResourceExhausted, "out of memory");
    }
  });
  if (result == kCannotBeTested) GTEST_SKIP() << "the number of threads cannot be limited here";
  EXPECT_EQ(result, 0);
}

TEST_F(ScarceSystemTest, BlocksRunWithoutAPoolOfThreads) {
  int result = InChild([] {
    Host host;
    Result<Stream> stream = Stream::Create(host.device.api());
    ASSERT_OK(stream);
    testing::LimitThreads(1);  // The stream has its thread; the pool starts at the first launch.
    RunTheKernel(host, *stream);
  });
  if (result == kCannotBeTested) GTEST_SKIP() << "the number of threads cannot be limited here";
  EXPECT_EQ(result, 0);
}

/// Makes streams until the system gives no more room for their stacks.
TEST_F(ScarceSystemTest, OutOfMemoryIsAnErrorAndPasses) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer ends a process without memory";
  EXPECT_EQ(InChild([] {
              Host host;
              Result<Stream> first = Stream::Create(host.device.api());
              ASSERT_OK(first);
              std::int64_t pages = 0;
              std::ifstream("/proc/self/statm") >> pages;
              const auto room = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (256 << 20));
              const rlimit limit{room, room};
              ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
              {
                std::vector<Stream> streams;
                Status status;
                while (status.ok() && streams.size() < 10000) {
                  Result<Stream> stream = Stream::Create(host.device.api());
                  status = stream.status();
                  if (stream.ok()) streams.push_back(*std::move(stream));
                }
                EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
              }
              RunTheKernel(host, *first);
            }),
            0);
}

/// From here on this process makes no file in memory.
void ForbidMemoryFiles() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(kCannotBeTested);
  }
}

/// TMPDIR is `folder`, with a file system of its own, from which nothing may be run.
void UseNoexecTmpdir(const std::string& folder) {
  bool own_mounts = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  if (!own_mounts || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", folder.c_str(), "tmpfs", MS_NOEXEC, nullptr) != 0) {
    _exit(kCannotBeTested);
  }
  setenv("TMPDIR", folder.c_str(), 1);
}

/// Memory cannot be shared, and that is all that is wrong.
void ExpectAnExportIsAnError(const Host& host) {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  UnguardedTable(host.device.api()).MemGetInfo(&before, &total);
  EXPECT_ERROR(ExportedBlock::Allocate(host.device.api(), 1 << 20), StatusCode::kResourceExhausted,
               "cuIpcGetMemHandle");
  UnguardedTable(host.device.api()).MemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
}

TEST_F(ScarceSystemTest, MemoryThatCannotBeSharedIsAnErrorAndTheRestWorks) {
  int result = InChild([] {
    Host host;
    ForbidMemoryFiles();
    ExpectAnExportIsAnError(host);
    RunTheKernel(host, *Stream::Create(host.device.api()));
  });
  EXPECT_TRUE(result == 0 || result == kCannotBeTested) << result;
  EXPECT_EQ(InChild([] {
              Host host;
              const rlimit limit{1 << 20, 1 << 20};  // Beyond it the system would end the process.
              ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
              ExpectAnExportIsAnError(host);
            }),
            0);
}

TEST_F(ScarceSystemTest, CodeRunsWhateverTmpdirIs) {
  TemporaryFolder folder = *testing::MakeFolder();
  int result = InChild([&] {
    UseNoexecTmpdir(folder.path());
    Host host;
    RunTheKernel(host, *Stream::Create(host.device.api()));
  });
  if (result == kCannotBeTested) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(result, 0) << "noexec";
  EXPECT_EQ(InChild([] {
              setenv("TMPDIR", "/no/such/folder", 1);
              Host host;
              RunTheKernel(host, *Stream::Create(host.device.api()));
            }),
            0)
      << "missing";
}

TEST_F(ScarceSystemTest, WithoutMemoryFilesCodeRunsFromTmpdir) {
  int result = InChild([] {
    ForbidMemoryFiles();
    Host host;
    RunTheKernel(host, *Stream::Create(host.device.api()));
  });
  if (result == kCannotBeTested) GTEST_SKIP() << "seccomp is not allowed here";
  EXPECT_EQ(result, 0);
  TemporaryFolder folder = *testing::MakeFolder();
  result = InChild([&] {
    UseNoexecTmpdir(folder.path());
    ForbidMemoryFiles();
    Host host;
    EXPECT_ERROR(Library::Load(host.device.api(), *image_), StatusCode::kUnavailable,
                 "TMPDIR, which is mounted noexec");
  });
  if (result == kCannotBeTested) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(result, 0);
}

TEST_F(ScarceSystemTest, AnImageThatIsCutIsNotLoaded) {
  const std::size_t size = image_->size();
  for (std::size_t left : {std::size_t{1}, std::size_t{4}, std::size_t{20}, std::size_t{63}, std::size_t{64}, size / 4,
                           size / 2, size - 4096, size - 1}) {
    EXPECT_EQ(InChild([&] {
                Host host;
                std::string cut = image_->substr(0, left);
                cut.shrink_to_fit();
                EXPECT_EQ(Library::Load(host.device.api(), cut).ok(), false);
              }),
              0)
        << left << " of " << size << " bytes";
  }
}

/// A module that dlclose cannot unload keeps its name for the loader: the next one must not be taken for it.
TEST_F(ScarceSystemTest, AModuleThatStaysLoadedIsNotTakenForTheNext) {
  std::string images[2];
  for (int value : {0, 1}) {
    KernelSource source = KernelSource::CpuCpp(
        "static void k(const tuneonce_block&, float* y) { *y = VALUE; }\nTUNEONCE_CPU_KERNEL(k);", "k");
    source.Define("VALUE", value).options = {"-Wl,-z,nodelete"};
    Result<Artifact> artifact =
        CommandToolchain(kHostCompiler, testing::Tools()).Compile(source, Hints(), testing::CpuTarget());
    ASSERT_OK(artifact);
    images[value] = artifact->image;
  }
  EXPECT_EQ(InChild([&] {
              Host host;
              Result<Stream> stream = Stream::Create(host.device.api());
              Result<DeviceBuffer> y = DeviceBuffer::Allocate(stream->view(), sizeof(float));
              for (int i = 0; i < 6; ++i) {
                Result<Library> library = Library::Load(host.device.api(), images[i % 2]);
                ASSERT_OK(library);
                auto pointer = y->get();
                void* parameters[] = {&pointer};
                EXPECT_EQ(LaunchKernel(host.device.api().launch_path(), library->GetKernel("k")->get(), Geometry(),
                                       stream->get(), parameters),
                          CUDA_SUCCESS);
                float value = -1;
                EXPECT_OK(y->CopyToHost(&value, sizeof(value)));
                EXPECT_OK(stream->view().Synchronize());
                EXPECT_EQ(value, static_cast<float>(i % 2));
              }
            }),
            0);
}

}  // namespace
}  // namespace tuneonce
