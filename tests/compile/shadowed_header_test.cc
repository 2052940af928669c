// An artifact is served from a cache only while no file has appeared that the compiler would now read instead, or that
// the text asks for by __has_include.
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <tuple>

#include "absl/strings/str_replace.h"
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

/// A compile before and after a file appears. "%" stands for the test's folder.
struct Appearance {
  const char* what;
  std::string before;                                        // The lines in front of the kernel.
  std::vector<std::string> options;                          // Folders of headers, as a rule.
  std::vector<std::pair<std::string, std::string>> headers;  // Files that exist from the start.
  std::string name;                                          // The file that appears,
  std::string text = "#define VALUE 2\n";                    // and its text.
};

const char kOne[] = "#define VALUE 1\n";
const char kAsks[] = "#if __has_include(\"asked.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n";
const char kAsksAngled[] = "#if __has_include(<asked.h>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n";

const Appearance kAppearances[] = {
    {"in an earlier folder, quoted", "#include \"value.h\"", {"-I%/a", "-I%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
    {"in an earlier folder, angled", "#include <value.h>", {"-I%/a", "-I%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
    {"in a folder that did not exist",
     "#include <value.h>",
     {"-I%/x/y", "-I%/b"},
     {{"b/value.h", kOne}},
     "x/y/value.h"},
    {"in a subfolder that did not exist",
     "#include <s/t/value.h>",
     {"-I%/a", "-I%/b"},
     {{"b/s/t/value.h", kOne}},
     "a/s/t/value.h"},
    {"in a subfolder that exists",
     "#include <s/value.h>",
     {"-I%/a", "-I%/b"},
     {{"a/s/other.h", ""}, {"b/s/value.h", kOne}},
     "a/s/value.h"},
    {"where a folder has the name of the header",
     "#include <value.h>",
     {"-I%/a", "-I%/c", "-I%/b"},
     {{"a/value.h/other.h", ""}, {"b/value.h", kOne}},
     "c/value.h"},
    {"in the folder of the including header",
     "#include <outer.h>",
     {"-I%/b", "-I%/a"},
     {{"a/outer.h", "#include \"value.h\"\n"}, {"b/value.h", kOne}},
     "a/value.h"},
    {"in the folder of a header that includes what another one included before",
     "#include <first.h>\n#include <s/second.h>",
     {"-I%/a"},
     {{"a/first.h", "#include \"value.h\"\n"},
      {"a/s/second.h", "#include \"value.h\"\n"},
      {"a/value.h", "#ifndef VALUE\n#define VALUE 1\n#endif\n"}},
     "a/s/value.h",
     "#undef VALUE\n#define VALUE 2\n"},
    {"above the folder that is named by ..",
     "#include <s/outer.h>",
     {"-I%/a", "-I%/b/u"},
     {{"a/s/outer.h", "#include \"../value.h\"\n"}, {"b/value.h", kOne}, {"b/u/other.h", ""}},
     "a/value.h"},
    {"behind the folder of the file that includes the next",
     "#include <value.h>",
     {"-I%/a", "-I%/b", "-I%/c"},
     {{"a/value.h", "#include_next <value.h>\n"}, {"c/value.h", kOne}},
     "b/value.h"},
    {"by a macro that the text defines",
     "#define HEADER <value.h>\n#include HEADER",
     {"-I%/a", "-I%/b"},
     {{"b/value.h", kOne}},
     "a/value.h"},
    {"by a macro in a header",
     "#define FOLDER s\n#include <outer.h>",
     {"-I%/a", "-I%/b"},
     {{"a/outer.h", "#define HEADER <FOLDER/value.h>\n#include HEADER\n"}, {"b/s/value.h", kOne}},
     "a/s/value.h"},
    {"by a directive that is cut in two",
     "# inc\\\nlude \\\n /* why */ \"value.h\"",
     {"-I%/a", "-I%/b"},
     {{"b/value.h", kOne}},
     "a/value.h"},
    {"behind text that looks like a comment or a string",
     "// it's /*\n#if 0\nisn't\n#endif\nstatic const char* q = \"/*\"; static const char c = '\"';\n"
     "static const char* r = R\"(#include \"other.h\" /*)\"; static const int m = 1'0/**/;\n%:include \"value.h\"",
     {"-I%/a", "-I%/b"},
     {{"b/value.h", kOne}},
     "a/value.h"},
    {"where the source asks, quoted", kAsks, {"-I%/a"}, {}, "a/asked.h", ""},
    {"where the source asks, angled", kAsksAngled, {"-I%/a", "-I%/b"}, {}, "b/asked.h", ""},
    {"where the source asks by a path",
     "#if __has_include(\"%/asked.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif",
     {},
     {},
     "asked.h",
     ""},
    {"where the question is cut in two",
     "#if __has_inc\\\nlude ( /**/ <asked.h> )\n#define VALUE 2\n#else\n#define VALUE 1\n#endif",
     {"-I%/a"},
     {},
     "a/asked.h",
     ""},
    {"where a header asks", "#include \"outer.h\"", {"-I%/a"}, {{"a/outer.h", kAsks}}, "a/asked.h", ""},
    {"where a header of a header asks",
     "#include <outer.h>",
     {"-I%/a", "-I%/b"},
     {{"a/outer.h", "#include <inner.h>\n"}, {"b/inner.h", kAsksAngled}},
     "a/asked.h",
     ""},
    {"where a macro asks",
     "#define HAS(name) __has_include(name)\n#define HAS_TOO( name) HAS(name)\n#include <outer.h>",
     {"-I%/a"},
     {{"a/outer.h", "#if HAS_TOO(<asked.h>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n"}},
     "a/asked.h",
     ""},
    {"where the source asks if it can, and where not",
     "#if defined(__has_include) && !defined HAS\n#if __has_include(<asked.h>)\n#define VALUE 2\n#endif\n#endif\n"
     "#ifndef __has_include\n#define __has_include(x) 0\n#endif\n#ifndef VALUE\n#define VALUE 1\n#endif",
     {"-I%/a"},
     {},
     "a/asked.h",
     ""},
    {"where a header asks for the next one",
     "#include <value.h>",
     {"-I%/a", "-I%/b"},
     {{"a/value.h", "#if __has_include_next(<value.h>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n"}},
     "b/value.h",
     ""},
};

class ShadowedHeaderTest : public ::testing::Test {
 protected:
  ShadowedHeaderTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~ShadowedHeaderTest() override { EXPECT_EQ(system(("rm -rf '" + folder_ + "'").c_str()), 0); }

  std::string In(const std::string& text) const { return absl::StrReplaceAll(text, {{"%/", folder_ + "/"}}); }
  /// Writes a file and its folders; returns when the clock of files has gone on, so that a compile from now on is
  /// later.
  void Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      mkdir(path.substr(0, at).c_str(), 0700);
    }
    ASSERT_OK(WriteFile(path, text));
    WaitForClock(path);
  }
  void Remove(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    ASSERT_EQ(unlink(path.c_str()), 0) << path;
    WaitForClock(path.substr(0, path.rfind('/')));
  }
  static void WaitForClock(const std::string& path) {
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    timespec now{};
    do {
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (std::tie(now.tv_sec, now.tv_nsec) <= std::tie(info.st_ctim.tv_sec, info.st_ctim.tv_nsec));
  }
  void StartOver() {
    ASSERT_EQ(system(("rm -rf '" + folder_ + "'").c_str()), 0);
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    WaitForClock(folder_);
  }

  KernelSource HostSource(const std::string& before, const std::vector<std::string>& options) const {
    return With(options,
                KernelSource::CpuCpp(In(before) + "\nstatic void k(const tuneonce_block&, int* y) { *y = VALUE; }\n"
                                                  "TUNEONCE_CPU_KERNEL(k);",
                                     "k"));
  }
  KernelSource CudaSource(const std::string& before, const std::vector<std::string>& options) const {
    return With(options,
                KernelSource::CudaCpp(In(before) + "\nextern \"C\" __global__ void k(int* y) { *y = VALUE; }\n", "k"));
  }
  KernelSource With(const std::vector<std::string>& options, KernelSource source) const {
    for (const std::string& option : options) source.options.push_back(In(option));
    return source;
  }

  /// The code, through the cache; nothing if NVRTC or a list of what it reads is missing.
  Fingerprint Compile(const KernelSource& source, bool* from_cache) {
    const bool is_host = source.kind == SourceKind::kCpuCpp;
    const Toolchain& toolchain = is_host ? static_cast<const Toolchain&>(host_) : nvrtc_;
    Result<Artifact> artifact = CompileCached(
        toolchain, cache_, source, Hints(), is_host ? testing::CpuTarget() : testing::Sm(90), WaitLimits(), from_cache);
    if (artifact.status().code() == StatusCode::kUnavailable) return Fingerprint();
    EXPECT_OK(artifact);
    return artifact.ok() ? artifact->code_fingerprint : Fingerprint();
  }
  bool HasNvrtc() {
    Write("nvrtc.h", "");
    Result<Artifact> artifact =
        nvrtc_.Compile(CudaSource("#include <nvrtc.h>\n#define VALUE 1", {"-I%/."}), Hints(), testing::Sm(90));
    return artifact.ok() && artifact->cacheable;
  }
  /// Code is kept, is another one once the file has appeared, and the first again when it is gone.
  void Check(const KernelSource& source, const std::string& name, const std::string& text) {
    bool from_cache = true;
    const Fingerprint one = Compile(source, &from_cache);
    EXPECT_EQ(Compile(source, &from_cache), one);
    EXPECT_TRUE(from_cache) << "nothing has changed";
    Write(name, text);
    const Fingerprint two = Compile(source, &from_cache);
    EXPECT_NE(two, one) << "a stale artifact";
    EXPECT_FALSE(from_cache);
    EXPECT_EQ(Compile(source, &from_cache), two);
    EXPECT_TRUE(from_cache) << "the new one is kept";
    Remove(name);
    EXPECT_EQ(Compile(source, &from_cache), one) << "a stale artifact of a file that is gone";
    EXPECT_EQ(Compile(source, &from_cache), one);
    EXPECT_TRUE(from_cache) << "the old one is kept again";
  }

  std::string folder_ = "/tmp/shadow test-XXXXXX";  // With a blank: rules quote it.
  CommandToolchain host_{kHostCompiler, testing::Tools()};
  NvrtcToolchain nvrtc_{testing::Tools()};
  MemoryStore cache_;
};

TEST_F(ShadowedHeaderTest, AHeaderThatAppearsIsNoticedByCpuCpp) {
  for (const Appearance& each : kAppearances) {
    SCOPED_TRACE(each.what);
    StartOver();
    for (const auto& [name, text] : each.headers) Write(name, text);
    Check(HostSource(each.before, each.options), each.name, each.text);
  }
}

TEST_F(ShadowedHeaderTest, AHeaderThatAppearsIsNoticedByNvrtc) {
  if (!HasNvrtc())
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED, IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
  for (const Appearance& each : kAppearances) {
    SCOPED_TRACE(each.what);
    StartOver();
    for (const auto& [name, text] : each.headers) Write(name, text);
    Check(CudaSource(each.before, each.options), each.name, each.text);
  }
}

TEST_F(ShadowedHeaderTest, EveryOptionThatNamesAFolderOrAHeaderCountsInCpuCpp) {
  const Appearance ways[] = {
      {"-iquote", "#include \"value.h\"", {"-iquote", "%/a", "-I", "%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"-isystem", "#include <value.h>", {"-isystem", "%/a", "-isystem%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"-idirafter", "#include <value.h>", {"-idirafter", "%/a", "-idirafter%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"-I before -isystem", "#include <value.h>", {"-isystem%/b", "-I%/a"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"-include", "", {"-I%/a", "-I%/b", "-include", "value.h"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"-imacros", "", {"-I%/a", "-I%/b", "-imacrosvalue.h"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"a header of the system",
       "#include <cstddef>\n#ifndef VALUE\n#define VALUE 1\n#endif",
       {"-I%/a"},
       {},
       "a/stddef.h",
       "#define VALUE 2\n#include_next <stddef.h>\n"},
  };
  for (const Appearance& each : ways) {
    SCOPED_TRACE(each.what);
    StartOver();
    for (const auto& [name, text] : each.headers) Write(name, text);
    Check(HostSource(each.before, each.options), each.name, each.text);
  }
}

TEST_F(ShadowedHeaderTest, AHeaderThatNoTextIncludesCountsWhereTheCompilerReadsIt) {
  const KernelSource source = HostSource("#ifndef VALUE\n#define VALUE 1\n#endif", {"-I%/a"});
  Result<Artifact> artifact = host_.Compile(source, Hints(), testing::CpuTarget());
  ASSERT_OK(artifact);
  if (artifact->dependencies.empty()) GTEST_SKIP() << "THE COMPILER IS NOT GCC";
  Check(source, "a/stdc-predef.h", "#define VALUE 2\n");
}

TEST_F(ShadowedHeaderTest, EveryOptionThatNamesAFolderOrAHeaderCountsInNvrtc) {
  if (!HasNvrtc())
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED, IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
  const Appearance ways[] = {
      {"-I", "#include \"value.h\"", {"-I", "%/a", "-I%/b"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"--include-path",
       "#include <value.h>",
       {"--include-path=%/a", "--include-path", "%/b"},
       {{"b/value.h", kOne}},
       "a/value.h"},
      {"-include", "", {"-I%/a", "-I%/b", "-include=value.h"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"--pre-include", "", {"-I%/a", "-I%/b", "--pre-include", "value.h"}, {{"b/value.h", kOne}}, "a/value.h"},
      {"a header of the toolkit",
       "#include <cuda_fp16.h>\n#ifndef VALUE\n#define VALUE 1\n#endif",
       {"-I%/a"},
       {},
       "a/cuda_fp16.h",
       "#define VALUE 2\n#include_next <cuda_fp16.h>\n"},
  };
  for (const Appearance& each : ways) {
    SCOPED_TRACE(each.what);
    StartOver();
    for (const auto& [name, text] : each.headers) Write(name, text);
    Check(CudaSource(each.before, each.options), each.name, each.text);
  }
}

TEST_F(ShadowedHeaderTest, NvrtcLooksBesideTheSourceFirstAndThenInTheWorkingDirectory) {
  if (!HasNvrtc())
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED, IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
  Write("b/value.h", kOne);
  Write("src/k.cu", "");
  KernelSource source = CudaSource("#include \"value.h\"", {"-I%/b"});
  source.file = folder_ + "/src/k.cu";
  Check(source, "src/value.h", "#define VALUE 2\n");
  char* here = get_current_dir_name();
  ASSERT_EQ(chdir((folder_ + "/src").c_str()), 0);
  Check(CudaSource("#include \"value.h\"", {"-I%/b"}), "src/value.h", "#define VALUE 3\n");
  KernelSource of_memory = CudaSource("#include <my/tile.h>", {"-I%/b"});
  of_memory.Header("my/tile.h", "#include \"value.h\"\n");
  Check(of_memory, "src/my/value.h", "#define VALUE 4\n");
  ASSERT_EQ(chdir(here), 0);
  free(here);
}

TEST_F(ShadowedHeaderTest, AFileThatWasThereIsMissed) {
  const bool has_nvrtc = HasNvrtc();
  for (const KernelSource& source : {HostSource(kAsksAngled, {"-I%/a"}), CudaSource(kAsksAngled, {"-I%/a"})}) {
    if (source.kind == SourceKind::kCudaCpp && !has_nvrtc) continue;
    Write("a/asked.h", "");
    bool from_cache = true;
    const Fingerprint there = Compile(source, &from_cache);
    EXPECT_EQ(Compile(source, &from_cache), there);
    EXPECT_TRUE(from_cache);
    Remove("a/asked.h");
    EXPECT_NE(Compile(source, &from_cache), there) << "a stale artifact";
  }
}

TEST_F(ShadowedHeaderTest, ALinkToAHeaderThatWasReadIsFollowedAnew) {
  const bool has_nvrtc = HasNvrtc();
  Write("a/one.h", "#pragma once\n#define VALUE 1\n");
  Write("b/other.h", "#undef VALUE\n#define VALUE 2\n");
  const std::string link = folder_ + "/b/link.h";
  for (const char* kind : {"host", "cuda"}) {
    const std::string before = "#include <one.h>\n#include <link.h>";
    const bool is_host = std::string(kind) == "host";
    if (!is_host && !has_nvrtc) continue;
    const KernelSource source =
        is_host ? HostSource(before, {"-I%/a", "-I%/b"}) : CudaSource(before, {"-I%/a", "-I%/b"});
    (void)unlink(link.c_str());
    ASSERT_EQ(symlink((folder_ + "/a/one.h").c_str(), link.c_str()), 0);
    WaitForClock(folder_ + "/b");
    bool from_cache = true;
    const Fingerprint one = Compile(source, &from_cache);
    EXPECT_EQ(Compile(source, &from_cache), one);
    EXPECT_TRUE(from_cache) << kind;
    Remove("b/link.h");
    ASSERT_EQ(symlink((folder_ + "/b/other.h").c_str(), link.c_str()), 0);
    EXPECT_NE(Compile(source, &from_cache), one) << kind << ": a stale artifact";
  }
}

TEST_F(ShadowedHeaderTest, WhatCannotBeComputedIsCompiledEachTime) {
  const bool has_nvrtc = HasNvrtc();
  Write("a/asks.h", "#define NAME <asked.h>\n#if __has_include(NAME)\n#endif\n");
  Write("a/alias.h", "#define HAS __has_include\n#if HAS(<asked.h>)\n#endif\n");
  Write("a/bytes.h", "#if 0\nasm(\".incbin \\\"bytes\\\"\");\n#endif\n");
  Write("a/embed.h", "#if 0\n#embed \"bytes\"\n#endif\n");
  Write("a/trigraph.h",
        "// ?"
        "?=include <asked.h>\n");
  for (const char* header : {"asks.h", "alias.h", "bytes.h", "embed.h", "trigraph.h"}) {
    SCOPED_TRACE(header);
    const std::string before = std::string("#include <") + header + ">\n#define VALUE 1";
    Result<Artifact> host = host_.Compile(HostSource(before, {"-I%/a"}), Hints(), testing::CpuTarget());
    ASSERT_OK(host);
    EXPECT_FALSE(host->cacheable);
    if (!has_nvrtc) continue;
    Result<Artifact> cuda = nvrtc_.Compile(CudaSource(before, {"-I%/a"}), Hints(), testing::Sm(90));
    ASSERT_OK(cuda);
    EXPECT_FALSE(cuda->cacheable);
  }
}

/// The headers of the standard library and of CUDA ask each other by __has_include.
TEST_F(ShadowedHeaderTest, WhatHeadersOfTheSystemAskIsKept) {
  Write("a/other.h", "");
  bool from_cache = true;
  const KernelSource host = HostSource("#include <algorithm>\n#include <thread>\n#define VALUE 1", {"-I%/a"});
  Compile(host, &from_cache);
  Compile(host, &from_cache);
  EXPECT_TRUE(from_cache);
  Write("a/tbb/tbb.h", "");
  Compile(host, &from_cache);
  EXPECT_FALSE(from_cache) << "libstdc++ asks for it";
  if (!HasNvrtc()) return;
  const KernelSource cuda = CudaSource("#include <cub/block/block_reduce.cuh>\n#define VALUE 1", {"-I%/a"});
  if (Compile(cuda, &from_cache) == Fingerprint()) GTEST_SKIP() << "CUB IS NOT INSTALLED";
  Compile(cuda, &from_cache);
  EXPECT_TRUE(from_cache);
}

/// As another process would find it, on a disk.
TEST_F(ShadowedHeaderTest, AStoreKeepsWhatWasNotThere) {
  Write("b/value.h", kOne);
  Write("store/other", "");
  SqliteStoreOptions options;
  options.path = folder_ + "/store/store.db";
  bool from_cache = true;
  auto compile = [&] {
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    return CompileCached(host_, **store, HostSource("#include <value.h>", {"-I%/a", "-I%/b"}), Hints(),
                         testing::CpuTarget(), WaitLimits(), &from_cache)
        ->code_fingerprint;
  };
  const Fingerprint one = compile();
  EXPECT_EQ(compile(), one);
  EXPECT_TRUE(from_cache);
  Write("a/value.h", "#define VALUE 2\n");
  EXPECT_NE(compile(), one) << "a stale artifact";
}

}  // namespace
}  // namespace tuneonce
