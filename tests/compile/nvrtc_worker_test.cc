// NVRTC in a process of its own: deadlines that act on its front end, crashes, and the same code as in this process.
#include "compile/nvrtc_worker.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/compile_slots.h"
#include "compile/nvrtc_source.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/toolbox.h"
#include "shared/compile_pool.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Sm;

/// Sum<1, 24> has 16 million instances, none of which NVRTC's limit of recursion ends.
constexpr char kSum[] =
    "template <int N, int DEPTH> struct Sum { static constexpr int value = Sum<2 * N, DEPTH - 1>::value + "
    "Sum<2 * N + 1, DEPTH - 1>::value; };\n"
    "template <int N> struct Sum<N, 0> { static constexpr int value = 1; };\n";

/// Fills with TILE ones. fill<512> has all the instances of Sum.
constexpr char kFill[] = R"(
#include "cuda_tile.h"
#include "cuda_fp16.h"
#include "sum.h"
template <int TILE>
__tile_global__ void fill(float* out, int n) {
  namespace tiles = ::cuda::tiles;
  int unused;
  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{n}}, tiles::shape<TILE>{}};
  constexpr int kOne = Sum<1, TILE == 512 ? 24 : 0>::value;
  outs.store_masked(tiles::full<tiles::tile<float, tiles::shape<TILE>>>(float(kOne)), tiles::bid().x);
}
)";

KernelSource Fill(int tile) {
  KernelSource source = KernelSource::TileCpp(kFill, "fill<TILE>");
  return source.Define("TILE", tile).Header("sum.h", kSum);
}

KernelSource Ones(int depth) {
  KernelSource source = KernelSource::CudaCpp(
      "#include <cuda_fp16.h>\n#include \"sum.h\"\ntemplate <int DEPTH> __global__ void ones(float* y) { int unused; "
      "y[threadIdx.x] = Sum<1, DEPTH>::value; }",
      "ones<DEPTH>");
  return source.Define("DEPTH", depth).Header("sum.h", kSum);
}

WaitLimits Within(int timeout_ms) {
  WaitLimits limits;
  limits.timeout_ms = timeout_ms;
  return limits;
}

/// Whether no process has `text` in its command line, by now or soon.
bool NoneIsLeft(const std::string& text) {
  for (const auto end = steady_clock::now() + std::chrono::seconds(2); steady_clock::now() < end;) {
    const std::vector<std::string> processes = NamesIn("/proc");
    const bool is_one_left = std::any_of(processes.begin(), processes.end(), [&](const std::string& process) {
      std::ifstream file("/proc/" + process + "/cmdline");
      return absl::StrContains(std::string(std::istreambuf_iterator<char>(file), {}), text);
    });
    if (!is_one_left) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

class NvrtcWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    environment_.temporary_folder = folder_->path();
    if (!FindWorker(environment_).ok()) GTEST_SKIP() << "tuneonce_worker WAS NOT BUILT";
    const NvrtcToolchain nvrtc(testing::ToolsOf(environment_));
    if (!nvrtc.Compile(Ones(0), Hints(), Sm(90)).ok()) GTEST_SKIP() << "NVRTC IS NOT INSTALLED";
  }

  std::string Script(const std::string& body) const {
    Result<std::string> path = folder_->WriteFile("script", "#!/bin/sh\n" + body + "\n");
    EXPECT_OK(path);
    EXPECT_EQ(chmod(path->c_str(), 0700), 0);
    return *path;
  }
  NvrtcToolchain CudaCpp() const { return NvrtcToolchain(testing::ToolsOf(environment_)); }
  /// Null where CUDA Tile C++ is not installed. Its tools have stated their versions, which takes time once.
  std::unique_ptr<TileCppToolchain> TileCpp() const {
    auto toolchain = std::make_unique<TileCppToolchain>(testing::ToolsOf(environment_), /*most_run_seconds=*/1e9);
    return toolchain->Version().ok() ? std::move(toolchain) : nullptr;
  }
  /// Compiles what takes minutes, and checks that it ends like this within two seconds after `timeout_ms`.
  void ExpectEnd(const Toolchain& toolchain, const KernelSource& source, const WaitLimits& limits, int timeout_ms,
                 StatusCode code, const std::string& message) {
    ASSERT_OK(toolchain.Version());
    const auto start = steady_clock::now();
    const Status status = toolchain.Compile(source, Hints(), Sm(90), limits).status();
    EXPECT_LT(steady_clock::now() - start, milliseconds(timeout_ms + 2000));
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), message);
    EXPECT_TRUE(NoneIsLeft(folder_->path()));
  }

  Result<TemporaryFolder> folder_ = testing::MakeFolder();
  Environment environment_ = Environment::Read();
};

TEST_F(NvrtcWorkerTest, AMillionInstancesOfATemplateEndAtTheDeadline) {
  const std::string message = "NVRTC did not finish within 1000 ms and was killed";
  ExpectEnd(CudaCpp(), Ones(24), Within(1000), 1000, StatusCode::kDeadlineExceeded, message);
  if (const auto tile = TileCpp()) {
    ExpectEnd(*tile, Fill(512), Within(1000), 1000, StatusCode::kDeadlineExceeded, message);
  }
}

TEST_F(NvrtcWorkerTest, TheyEndSoonAfterACancellation) {
  auto expect_end = [&](const Toolchain& toolchain, const KernelSource& source) {
    std::atomic<bool> cancelled{false};
    WaitLimits limits;
    limits.cancelled = &cancelled;
    std::thread canceller([&] {
      std::this_thread::sleep_for(milliseconds(500));
      cancelled = true;
    });
    ExpectEnd(toolchain, source, limits, 500, StatusCode::kCancelled, "NVRTC was cancelled and killed");
    canceller.join();
  };
  expect_end(CudaCpp(), Ones(24));
  if (const auto tile = TileCpp()) expect_end(*tile, Fill(512));
}

TEST_F(NvrtcWorkerTest, AnInstanceThatHangsFailsAloneAndThoseOfItsRunAreCompiled) {
  const auto tile = TileCpp();
  if (tile == nullptr) GTEST_SKIP() << "CUDA TILE C++ IS NOT INSTALLED";
  const std::vector<KernelSource> sources = {Fill(64), Fill(128), Fill(512), Fill(256)};
  std::vector<const KernelSource*> pointers;
  for (const KernelSource& source : sources) pointers.push_back(&source);
  const std::shared_ptr<void> announcement = tile->Announce(pointers, Sm(90));
  EXPECT_OK(tile->Compile(sources[0], Hints(), Sm(90), Within(60000)));
  EXPECT_OK(tile->Compile(sources[1], Hints(), Sm(90), Within(10000)));
  EXPECT_EQ(tile->num_front_end_runs(), 3) << "the run of the three others took half of the time";
  EXPECT_ERROR(tile->Compile(sources[2], Hints(), Sm(90), Within(1000)), StatusCode::kDeadlineExceeded, "1000 ms");
  EXPECT_OK(tile->Compile(sources[3], Hints(), Sm(90), Within(10000)));
}

TEST_F(NvrtcWorkerTest, ACrashIsTheFailureOfOneCandidateAndTheNextIsCompiled) {
  environment_.nvrtc = TUNEONCE_CACHING_NVRTC;
  ToolchainSet toolchains({std::make_shared<NvrtcToolchain>(testing::ToolsOf(environment_))});
  CompileSlots slots(1);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  std::vector<CompileJob> jobs(2);
  jobs[0].alternatives.push_back({KernelSource::CudaCpp("crash", "add"), Hints()});
  jobs[1].alternatives.push_back({KernelSource::CudaCpp("text", "add"), Hints()});
  CompilePool pool(slots, toolchains, Sm(90), jobs, options);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<CompiledJob> job = pool.Next();
    ASSERT_TRUE(job.has_value());
    if (job->job == 1) {
      EXPECT_OK(job->artifact);
      continue;
    }
    EXPECT_EQ(job->artifact.status().code(), StatusCode::kInternal);
    EXPECT_EQ(job->artifact.status().message(), "NVRTC was ended by signal 11 (SIGSEGV)");
  }
}

TEST_F(NvrtcWorkerTest, ItMakesWhatNvrtcMakesInThisProcess) {
  const std::string note = folder_->path() + "/note";
  const std::string worker =
      Script(absl::StrCat("echo x >> ", note, "; exec '", *FindWorker(environment_), "' \"$@\""));
  auto expect_same = [&](auto make_toolchain, const KernelSource& source) {
    environment_.worker = worker;
    Result<Artifact> in_worker = make_toolchain()->Compile(source, Hints(), Sm(90));
    ASSERT_OK(in_worker);
    const Result<std::string> noted = ReadFile(note);
    ASSERT_OK(noted);
    environment_.worker = "/none";
    Result<Artifact> here = make_toolchain()->Compile(source, Hints(), Sm(90));
    ASSERT_OK(here);
    EXPECT_EQ(*ReadFile(note), *noted) << "the second compile was to be in this process";
    EXPECT_TRUE(in_worker->image == here->image);
    EXPECT_EQ(in_worker->symbol, here->symbol);
    EXPECT_EQ(in_worker->log, here->log);
    EXPECT_NE(here->log.find("unused"), std::string::npos) << here->log;
    EXPECT_TRUE(in_worker->cacheable && here->cacheable);
    auto paths = [](const Artifact& artifact) {
      std::vector<std::string> all;
      for (const Dependency& each : artifact.dependencies) all.push_back(each.path);
      return all;
    };
    EXPECT_EQ(paths(*in_worker), paths(*here));
    EXPECT_FALSE(here->dependencies.empty());
    EXPECT_EQ(in_worker->absent, here->absent);
  };
  expect_same([&] { return std::make_unique<NvrtcToolchain>(testing::ToolsOf(environment_)); }, Ones(3));
  if (TileCpp() != nullptr) expect_same([&] { return TileCpp(); }, Fill(64));
}

TEST_F(NvrtcWorkerTest, WithoutAWorkerItRunsInThisProcessAndEndsAfterItsFrontEnd) {
  environment_.worker = "/none";
  EXPECT_OK(CudaCpp().Compile(Ones(3), Hints(), Sm(90)));
  EXPECT_ERROR(CudaCpp().Compile(Ones(3), Hints(), Sm(90), Within(1)), StatusCode::kDeadlineExceeded,
               "NVRTC did not finish within 1 ms");
  if (const auto tile = TileCpp()) {
    EXPECT_OK(tile->Compile(Fill(64), Hints(), Sm(90)));
  }
}

TEST_F(NvrtcWorkerTest, AnotherProgramAsTheWorkerIsAnErrorThatStatesWhatToDo) {
  environment_.worker = "/bin/true";
  EXPECT_ERROR(CudaCpp().Compile(Ones(3), Hints(), Sm(90)), StatusCode::kInternal,
               "'/bin/true' ended without an error, but left no output of NVRTC: it may be of another version");
  environment_.worker = Script("echo no licence; exit 3");
  EXPECT_ERROR(CudaCpp().Compile(Ones(3), Hints(), Sm(90)), StatusCode::kInternal,
               "NVRTC failed with exit code 3: no licence");
  environment_.worker = Script("'" + *FindWorker(Environment()) + "' \"$@\"; truncate -s 100 \"$2/output\"");
  EXPECT_ERROR(CudaCpp().Compile(Ones(3), Hints(), Sm(90)), StatusCode::kInternal, "a message ends after");
}

TEST(NvrtcMessagesTest, WhatIsCutOrOfAnotherVersionIsAnError) {
  NvrtcRequest request;
  request.library = "/libnvrtc.so.13";
  request.text = "text";
  request.headers = {{"a.h", "text of a"}, {"b.h", ""}};
  request.expressions = {"k<1>", "k<2>"};
  request.options = {"--std=c++17"};
  request.wants_headers = true;
  NvrtcOutput output;
  output.result = 6;
  output.log = "log";
  output.lowered_names = {{"k<1>", "_Z1k"}};
  output.cubin = std::string("\0cubin", 6);
  output.headers = std::vector<std::string>{"/a.h"};
  const std::string request_bytes = EncodeNvrtcRequest(request);
  const std::string output_bytes = EncodeNvrtcOutput(output);
  EXPECT_EQ(EncodeNvrtcRequest(*DecodeNvrtcRequest(request_bytes)), request_bytes);
  EXPECT_EQ(EncodeNvrtcOutput(*DecodeNvrtcOutput(output_bytes)), output_bytes);
  EXPECT_ERROR(DecodeNvrtcOutput(output_bytes)->LoweredName("k<2>"), StatusCode::kInternal, "'k<2>'");
  for (std::size_t size = 0; size < request_bytes.size(); ++size) {
    EXPECT_EQ(DecodeNvrtcRequest(request_bytes.substr(0, size)).status().code(), StatusCode::kInternal) << size;
  }
  for (std::size_t size = 0; size < output_bytes.size(); ++size) {
    EXPECT_EQ(DecodeNvrtcOutput(output_bytes.substr(0, size)).status().code(), StatusCode::kInternal) << size;
  }
  EXPECT_ERROR(DecodeNvrtcOutput("\x7f" + output_bytes.substr(1)), StatusCode::kInternal,
               "has version 127 instead of 1: install the library and its tuneonce_worker together");
}

}  // namespace
}  // namespace tuneonce
