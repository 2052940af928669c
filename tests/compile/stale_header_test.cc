// An artifact is served from a cache only while the headers that it was made of are as they were.
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <tuple>

#include "base/file.h"
#include "compile/command_toolchain.h"
#include "compile/nvrtc_source.h"
#include "shared/compile_cached.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

using testing::CpuTarget;

class StaleHeaderTest : public ::testing::Test {
 protected:
  StaleHeaderTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~StaleHeaderTest() override { EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0); }

  /// Writes folder/value.h; returns when the clock of files has gone on, so that a compile from now on is later.
  void WriteHeader(const std::string& text, const std::string& name = "value.h") {
    std::string path = folder_ + "/" + name;
    ASSERT_OK(WriteFile(path, text));
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    timespec now{};
    do {
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (std::tie(now.tv_sec, now.tv_nsec) <= std::tie(info.st_ctim.tv_sec, info.st_ctim.tv_nsec));
  }
  KernelSource Source(const std::string& before, std::vector<std::string> options) {
    KernelSource source = KernelSource::CpuCpp(
        before + "\nstatic void k(const tuneonce_block&, int* y) { *y = VALUE; }\nTUNEONCE_CPU_KERNEL(k);", "k");
    source.options = std::move(options);
    return source;
  }
  Fingerprint Compile(const KernelSource& source, bool* from_cache) {
    Result<Artifact> artifact = CompileCached(host_, cache_, source, Hints(), CpuTarget(), WaitLimits(), from_cache);
    EXPECT_OK(artifact);
    return artifact.ok() ? artifact->code_fingerprint : Fingerprint();
  }

  std::string folder_ = "/tmp/header test-XXXXXX";  // With a blank: rules quote it.
  CommandToolchain host_{kHostCompiler, testing::Tools()};
  MemoryStore cache_;
};

TEST_F(StaleHeaderTest, AChangeCountsWhateverTheWayToTheHeader) {
  struct Way {
    std::string source;
    std::vector<std::string> options;
  };
  const std::string header = folder_ + "/value.h";
  const std::string plain = "#include \"value.h\"";
  const Way ways[] = {
      {plain, {"-I" + folder_}},
      {plain, {"-I", folder_}},
      {plain, {"-isystem" + folder_}},
      {plain, {"-isystem", folder_}},
      {plain, {"-iquote" + folder_}},
      {plain, {"-iquote", folder_}},
      {plain, {"-idirafter" + folder_}},
      {"", {"-include", header}},
      {"", {"-imacros", header}},
      {"#include \"" + header + "\"", {}},
      {"#include <" + header + ">", {}},
      {"#include HEADER", {"-DHEADER=\"" + header + "\""}},
      {"#inc\\\nlude \"" + header + "\"", {}},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.source + (way.options.empty() ? "" : " " + way.options[0]));
    KernelSource source = Source(way.source, way.options);
    bool from_cache = true;
    WriteHeader("#define VALUE 1\n");
    Fingerprint one = Compile(source, &from_cache);
    EXPECT_EQ(Compile(source, &from_cache), one);
    EXPECT_TRUE(from_cache) << "nothing has changed";
    WriteHeader("#define VALUE 2\n");
    Fingerprint two = Compile(source, &from_cache);
    EXPECT_NE(two, one) << "a stale artifact";
    EXPECT_FALSE(from_cache);
    EXPECT_EQ(Compile(source, &from_cache), two);
    EXPECT_TRUE(from_cache) << "the new one is kept";
  }
}

TEST_F(StaleHeaderTest, AHeaderOfAHeaderCountsAndOneThatIsGone) {
  WriteHeader("#include \"inner.h\"\n");
  WriteHeader("#define VALUE 1\n", "inner.h");
  KernelSource source = Source("#include \"" + folder_ + "/value.h\"", {});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  WriteHeader("#define VALUE 2\n", "inner.h");
  EXPECT_NE(Compile(source, &from_cache), one);
  ASSERT_EQ(unlink((folder_ + "/inner.h").c_str()), 0);
  EXPECT_ERROR(CompileCached(host_, cache_, source, Hints(), CpuTarget(), WaitLimits(), &from_cache),
               StatusCode::kInvalidArgument, "inner.h");
}

TEST_F(StaleHeaderTest, AFileThatComesToBeCountsWhereTheSourceAsksForIt) {
  KernelSource source = Source(
      "#if __has_include(\"" + folder_ + "/value.h\")\n#define VALUE 2\n#else\n" + "#define VALUE 1\n#endif", {});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  WriteHeader("");
  EXPECT_NE(Compile(source, &from_cache), one);
}

TEST_F(StaleHeaderTest, WhatTheCompilerDoesNotListIsNotKept) {
  ASSERT_OK(WriteFile(folder_ + "/options", "-DVALUE=1"));
  KernelSource source = Source("", {"@" + folder_ + "/options"});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  ASSERT_OK(WriteFile(folder_ + "/options", "-DVALUE=2"));
  EXPECT_NE(Compile(source, &from_cache), one);
}

TEST_F(StaleHeaderTest, HarmlessOptionsAreKept) {
  KernelSource source = Source("", {"-O1", "-DVALUE=3", "-fno-inline", "-Wall", "-mno-avx", "-I" + folder_});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  EXPECT_EQ(Compile(source, &from_cache), one);
  EXPECT_TRUE(from_cache);
}

/// NVRTC lists no headers, but its time trace does: artifacts are kept whatever they include.
TEST_F(StaleHeaderTest, NvrtcSourcesAreKeptUntilAHeaderChanges) {
  NvrtcToolchain nvrtc(testing::Tools());
  const std::string header = folder_ + "/value.h";
  struct Way {
    std::string before;
    std::vector<std::string> options;
  };
  const Way ways[] = {
      {"#include \"value.h\"", {"-I" + folder_}},
      {"# inc\\\nlude <value.h>", {"-I" + folder_}},
      {"#include <outer.h>", {"-I" + folder_}},
      {"#include \"" + header + "\"", {}},
      {"#include HEADER", {"-DHEADER=\"" + header + "\""}},
      {"", {"-include=" + header}},
      {"#include <cuda_fp16.h>\n#include <value.h>", {"-I" + folder_}},
  };
  WriteHeader("#include \"value.h\"\n", "outer.h");
  for (const Way& way : ways) {
    SCOPED_TRACE(way.before);
    KernelSource source =
        KernelSource::CudaCpp(way.before + "\nextern \"C\" __global__ void k(int* y) { *y = VALUE; }", "k");
    source.options = way.options;
    bool from_cache = true;
    auto compile = [&] {
      Result<Artifact> artifact =
          CompileCached(nvrtc, cache_, source, Hints(), testing::Sm(90), WaitLimits(), &from_cache);
      return artifact.ok() ? artifact->code_fingerprint : Fingerprint();
    };
    WriteHeader("#define VALUE 1\n");
    Fingerprint one = compile();
    if (one == Fingerprint()) GTEST_SKIP() << "NVRTC OR ITS HEADERS ARE NOT INSTALLED";
    if (!nvrtc.Compile(source, Hints(), testing::Sm(90))->cacheable)
      GTEST_SKIP() << "NVRTC IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
    EXPECT_EQ(compile(), one);
    EXPECT_TRUE(from_cache) << "nothing has changed";
    WriteHeader("#define VALUE 2\n");
    Fingerprint two = compile();
    EXPECT_NE(two, one) << "a stale artifact";
    EXPECT_FALSE(from_cache);
    EXPECT_EQ(compile(), two);
    EXPECT_TRUE(from_cache) << "the new one is kept";
  }
}

TEST_F(StaleHeaderTest, NvrtcSourcesThatAskForAComputedNameAreNotKept) {
  NvrtcToolchain nvrtc(testing::Tools());
  WriteHeader("#define VALUE 1\n");
  for (const char* before : {"#define OTHER <other.h>\n#if __has_include(OTHER)\n#endif\n#include \"value.h\"",
                             "#define OTHER <other.h>\n#if __has_inc\\\nlude(OTHER)\n#endif\n#include \"value.h\""}) {
    KernelSource source =
        KernelSource::CudaCpp(std::string(before) + "\nextern \"C\" __global__ void k(int* y) { *y = VALUE; }", "k");
    source.Include(folder_);
    Result<Artifact> artifact = nvrtc.Compile(source, Hints(), testing::Sm(90));
    if (artifact.status().code() == StatusCode::kUnavailable) {
      GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << artifact.status().message();
    }
    ASSERT_OK(artifact);
    EXPECT_FALSE(artifact->cacheable) << before;
  }
}

/// NVRTC 13.0 loses events of headers in a process in which one did not compile: then it is not known what was read.
TEST_F(StaleHeaderTest, NothingIsKeptOnPartOfTheHeaders) {
  NvrtcToolchain nvrtc(testing::Tools());
  WriteHeader("#include <gone.h>\n", "broken.h");
  WriteHeader("#define VALUE 1\n");
  auto compile = [&](const std::string& header) {
    KernelSource source =
        KernelSource::CudaCpp("#include <" + header + ">\nextern \"C\" __global__ void k(int* y) { *y = VALUE; }", "k");
    return nvrtc.Compile(source.Include(folder_), Hints(), testing::Sm(90));
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(compile("broken.h").ok());
    Result<Artifact> artifact = compile("value.h");
    if (artifact.status().code() == StatusCode::kUnavailable) GTEST_SKIP() << "NVRTC IS NOT INSTALLED";
    ASSERT_OK(artifact);
    EXPECT_TRUE(!artifact->cacheable || artifact->dependencies.size() == 1);
  }
}

/// What a process kept, the next one finds, CUB's headers among it; and the text at another place is another thing,
/// since its folder is where headers are looked for.
TEST_F(StaleHeaderTest, NvrtcArtifactsOutliveTheProcessWithTheirHeaders) {
  SqliteStoreOptions options;
  ASSERT_EQ(mkdir((folder_ + "/store").c_str(), 0700), 0);
  options.path = folder_ + "/store/store.db";
  WriteHeader("#define VALUE 1\n");
  WriteHeader("#include <cub/warp/warp_reduce.cuh>\n#include \"value.h\"\n__global__ void k(int* y) { *y = VALUE; }\n",
              "k.cu");
  bool from_cache = true;
  auto compile = [&](const std::string& file) {  // With tools and a store of its own, as another process has them.
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    NvrtcToolchain nvrtc(testing::ToolsOf(Environment::Read()));
    return CompileCached(nvrtc, **store, KernelSource::FromFile(SourceKind::kCudaCpp, file, "k"), Hints(),
                         testing::Sm(90), WaitLimits(), &from_cache);
  };
  Result<Artifact> first = compile(folder_ + "/k.cu");
  if (!first.ok()) GTEST_SKIP() << "NVRTC OR CUB IS NOT INSTALLED: " << first.status().message();
  EXPECT_FALSE(from_cache);
  if (!first->cacheable) GTEST_SKIP() << "NVRTC IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
  EXPECT_GT(first->dependencies.size(), 50u);
  EXPECT_EQ(compile(folder_ + "/k.cu")->code_fingerprint, first->code_fingerprint);
  EXPECT_TRUE(from_cache);
  ASSERT_EQ(mkdir((folder_ + "/other").c_str(), 0700), 0);
  ASSERT_OK(WriteFile(folder_ + "/other/k.cu", *ReadFile(folder_ + "/k.cu")));
  ASSERT_OK(WriteFile(folder_ + "/other/value.h", "#define VALUE 2\n"));
  EXPECT_NE(compile(folder_ + "/other/k.cu")->code_fingerprint, first->code_fingerprint);
  EXPECT_FALSE(from_cache);
}

}  // namespace
}  // namespace tuneonce
