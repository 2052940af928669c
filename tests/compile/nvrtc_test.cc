// CUDA C++ as it is found in the wild: with the toolkit's headers, CUB, templates, headers that are no files.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>

#include "base/environment.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/header_search.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_log.h"
#include "compile/nvrtc_program.h"
#include "compile/nvrtc_source.h"
#include "definition/compiler_option.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

using testing::Sm;

constexpr char kCubReduce[] = R"(
#include <cub/block/block_reduce.cuh>
namespace sums {
template <int BLOCK, int ITEMS, typename T>
__global__ void reduce(const T* x, T* y, int n) {
  using Reduce = cub::BlockReduce<T, BLOCK>;
  __shared__ typename Reduce::TempStorage scratch;
  T sum = 0;
  for (int i = 0; i < ITEMS; ++i) {
    int at = (blockIdx.x * ITEMS + i) * BLOCK + threadIdx.x;
    if (at < n) sum += x[at];
  }
  sum = Reduce(scratch).Sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
}  // namespace sums
)";

Result<Artifact> Compile(const KernelSource& source) {
  return NvrtcToolchain(testing::Tools()).Compile(source, Hints(), Sm(90));
}

/// NVRTC and the toolkit's headers need no GPU; without them these tests say so.
class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Artifact> artifact = Compile(KernelSource::CudaCpp("#include <cuda_fp16.h>\n__global__ void k() {}", "k"));
    if (!artifact.ok()) GTEST_SKIP() << "NVRTC OR ITS HEADERS ARE NOT INSTALLED: " << artifact.status().message();
    if (!artifact->cacheable) GTEST_SKIP() << "NVRTC IS OLDER THAN 13";
  }
  void NeedsCub() {
    Result<Artifact> artifact =
        Compile(KernelSource::CudaCpp("#include <cub/block/block_reduce.cuh>\n__global__ void k() {}", "k"));
    if (!artifact.ok()) GTEST_SKIP() << "CUB IS NOT INSTALLED: " << artifact.status().message();
  }
};

TEST_F(NvrtcTest, TheToolkitsHeadersAreFoundWithoutAWord) {
  Result<Artifact> artifact = Compile(KernelSource::CudaCpp(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void half_one(__half* x, __nv_bfloat16* y) {
  x[0] = __float2half(1.f); y[0] = __float2bfloat16(1.f); }
)",
                                                            "half_one"));
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "half_one");
  auto ends_well = [](const Dependency& header) {
    const std::string name = "/cuda_fp16.h";
    return header.path.size() > name.size() &&
           header.path.compare(header.path.size() - name.size(), name.size(), name) == 0;
  };
  EXPECT_TRUE(artifact->cacheable);
  EXPECT_EQ(std::count_if(artifact->dependencies.begin(), artifact->dependencies.end(), ends_well), 1);
}

TEST_F(NvrtcTest, ACompileIsCancelledAndEndsAtItsDeadline) {
  const NvrtcToolchain nvrtc(testing::Tools());
  const KernelSource source = KernelSource::CudaCpp("__global__ void k(float* x) { *x = 1; }", "k");
  WaitLimits limits;
  limits.timeout_ms = 1;  // NVRTC takes 10 ms to parse its own header.
  EXPECT_ERROR(nvrtc.Compile(source, Hints(), Sm(90), limits), StatusCode::kDeadlineExceeded,
               "NVRTC did not finish within 1 ms");
  const std::atomic<bool> cancelled{true};
  limits = WaitLimits();
  limits.cancelled = &cancelled;
  EXPECT_ERROR(nvrtc.Compile(source, Hints(), Sm(90), limits), StatusCode::kCancelled, "cancelled");
  EXPECT_OK(nvrtc.Compile(source, Hints(), Sm(90)));
}

TEST_F(NvrtcTest, ATemplateIsInstantiatedByItsNameAndAKernelOfCubCompiles) {
  NeedsCub();
  if (IsSkipped()) return;
  std::vector<Fingerprint> code;
  for (int block : {64, 256}) {
    KernelSource source = KernelSource::CudaCpp(kCubReduce, "sums::reduce<BLOCK, ITEMS, T>");
    source.Define("BLOCK", block).Define("ITEMS", 4).DefineType("T", kFloat32);
    Result<Artifact> artifact = Compile(source);
    ASSERT_OK(artifact);
    EXPECT_EQ(artifact->symbol, "_ZN4sums6reduceILi" + std::to_string(block) + "ELi4EfEEvPKT1_PS1_i");
    EXPECT_GT(artifact->resources.shared_bytes, 0);
    EXPECT_GT(artifact->dependencies.size(), 50u) << "CUB's own headers are part of it";
    code.push_back(artifact->code_fingerprint);
  }
  EXPECT_NE(code[0], code[1]);
}

TEST_F(NvrtcTest, AMacroOfTheKernelsNameIsNoMacroOfTheText) {
  // With -DT=float this text would not compile, and neither would CUB.
  const char text[] = "template <typename T, int N> __global__ void k(T* x) { x[0] = N * SCALE; }";
  KernelSource source = KernelSource::CudaCpp(text, "k<T, N>");
  source.DefineType("T", kInt64).Define("N", 3).Define("SCALE", 2);
  Result<Artifact> artifact = Compile(source);
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_Z1kIxLi3EEvPT_");
  KernelSource reads_it =
      KernelSource::CudaCpp("template <int M> __global__ void k(int* x) { x[0] = TILE; }", "k<TILE>");
  reads_it.Define("TILE", 64);
  EXPECT_ERROR(Compile(reads_it), StatusCode::kInvalidArgument,
               "TILE is a template argument in the kernel's name 'k<TILE>' and not a macro of the source");
  EXPECT_ERROR(Compile(KernelSource::CudaCpp(text, "none<1>")), StatusCode::kInvalidArgument,
               "the kernel's name 'none<1>'");
}

TEST_F(NvrtcTest, MacrosAreOfTheTextAndNotOfWhatNvrtcReadsBeforeIt) {
  // NVRTC's own header before each text has templates over T and N, which -DT=double would break.
  KernelSource source = KernelSource::CudaCpp("extern \"C\" __global__ void k(T* x) { x[0] = N; }\nint a = b;", "k");
  source.DefineType("T", kFloat64).Define("N", 3);
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "k.cu(2): error: identifier \"b\" is undefined");
  source.content.resize(source.content.find('\n'));
  EXPECT_OK(Compile(source));
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  source.content = "extern \"C\" __global__ void k(double* x) { x[0] = BEFORE; }";
  source.options = {"-include=" + *folder->WriteFile("before.h", "constexpr int BEFORE = N;\n")};
  source.defines = {"N=3"};
  EXPECT_OK(Compile(source));  // There they are options.
}

TEST_F(NvrtcTest, AKernelNeedsNoExternC) {
  Result<Artifact> artifact = Compile(KernelSource::CudaCpp("__global__ void scale(float* x) { *x *= 2; }", "scale"));
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_Z5scalePf");
  EXPECT_ERROR(Compile(KernelSource::CudaCpp(
                   "__global__ void scale(float* x) { *x *= 2; } __global__ void scale(int* x) { *x *= 2; }", "scale")),
               StatusCode::kInvalidArgument, "no kernel 'scale' in the image; its kernels are: ");
  EXPECT_ERROR(Compile(KernelSource::CudaCpp("__global__ void scales(float* x) { *x *= 2; }", "scale")),
               StatusCode::kInvalidArgument, "its kernels are: _Z6scalesPf");
}

TEST_F(NvrtcTest, HeadersThatAreNoFilesAreIncludedAndPartOfTheIdentity) {
  auto source = [](const std::string& value) {
    KernelSource made = KernelSource::CudaCpp(
        "#include <my/value.h>\n#include \"twice.h\"\nextern \"C\" __global__ void k(int* y) { *y = TWICE; }", "k");
    made.Header("my/value.h", "#define VALUE " + value).Header("twice.h", "#define TWICE (2 * VALUE)");
    return made;
  };
  Result<Artifact> three = Compile(source("3"));
  Result<Artifact> four = Compile(source("4"));
  ASSERT_OK(three);
  ASSERT_OK(four);
  EXPECT_NE(three->code_fingerprint, four->code_fingerprint);
  EXPECT_NE(source("3").Fingerprint(), source("4").Fingerprint());
  EXPECT_TRUE(three->cacheable);
  EXPECT_TRUE(three->dependencies.empty()) << "what is no file cannot be looked at again";
  KernelSource asks = source("3");
  asks.content = "#if __has_include(<other.h>)\n#endif\n" + asks.content;
  Result<Artifact> asked = Compile(asks);
  ASSERT_OK(asked);
  EXPECT_TRUE(asked->cacheable);
  EXPECT_FALSE(asked->absent.empty()) << "a file that appears would change it";
}

TEST_F(NvrtcTest, AMissingHeaderNamesFileLineHeaderAndWhereItWasLookedFor) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  const std::string file = folder->path() + "/my kernel.cu";
  ASSERT_OK(WriteFile(file, "\n\n#include \"outer.h\"\nextern \"C\" __global__ void k() {}\n"));
  KernelSource source = KernelSource::FromFile(SourceKind::kCudaCpp, file, "k");
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, file + "(3): the header \"outer.h\" was not found");
  source.Include("/no/such/folder");
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "looked in /no/such/folder, ");
  ASSERT_OK(WriteFile(folder->path() + "/outer.h", "#include <gone.h>\n"));
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "/outer.h(1): the header \"gone.h\" was not found");
  ASSERT_OK(WriteFile(folder->path() + "/outer.h", "#define OUTER\n"));
  EXPECT_OK(Compile(source));  // A file's own folder is looked in first.
  EXPECT_ERROR(Compile(KernelSource::CudaCpp("\n__global__ void k() { int a = b; }", "k")),
               StatusCode::kInvalidArgument, "k.cu(2): error: identifier \"b\" is undefined");
}

TEST_F(NvrtcTest, AHeaderThatNvrtcCannotHaveNamesWhatToIncludeInstead) {
  NeedsCub();
  auto failure = [](const std::string& include) {
    return Compile(KernelSource::CudaCpp("#include " + include + "\n__global__ void k() {}", "k"));
  };
  EXPECT_ERROR(
      failure("<cub/cub.cuh>"), StatusCode::kInvalidArgument,
      "are host code, which NVRTC cannot compile: include only what the kernel needs from cub/block, cub/warp and "
      "cub/thread");
  EXPECT_ERROR(failure("<cstdint>"), StatusCode::kInvalidArgument,
               "NVRTC has no C++ standard library; include <cuda/std/cstdint> of libcu++");
  EXPECT_OK(failure("<cuda/std/cstdint>"));
  EXPECT_TRUE(LacksHeader(failure("<cub/cub.cuh>").status()));
  EXPECT_TRUE(LacksHeader(failure("<no_such_header.h>").status()));
  EXPECT_FALSE(LacksHeader(Compile(KernelSource::CudaCpp("int a = b;", "k")).status()));
}

TEST_F(NvrtcTest, WithoutAToolkitTheMessageSaysWhatToInstall) {
  Environment environment = Environment::Read();
  environment.cuda_include = "/no/such/folder";
  Result<Artifact> artifact = NvrtcToolchain(testing::ToolsOf(environment))
                                  .Compile(KernelSource::CudaCpp("#include <cuda_fp16.h>", "k"), Hints(), Sm(90));
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument, "k.cu(1): the header \"cuda_fp16.h\" was not found");
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument,
               "looked for cuda_fp16.h in /no/such/folder: install the toolkit");
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument, "TUNEONCE_CUDA_INCLUDE or CUDA_HOME");
}

TEST_F(NvrtcTest, OptionsOfTheStandardAndOfCodeAreTaken) {
  KernelSource source = KernelSource::CudaCpp(
      "template <class T> concept Any = true;\nextern \"C\" __global__ void k(float* x) { x[0] = x[1] / x[2]; }", "k");
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "k.cu(1)");
  source.options = {"--std=c++20"};
  Result<Artifact> exact = Compile(source);
  ASSERT_OK(exact);
  EXPECT_EQ(exact->log, "") << "the default standard is not given beside it";
  source.options.push_back("--prec-div=false");
  EXPECT_NE(Compile(source)->code_fingerprint, exact->code_fingerprint);
  source.options.push_back("--no-such-option");
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "--no-such-option");
}

TEST_F(NvrtcTest, EveryOptionThatCanBeAnAxisIsTakenAndWhatChangesNothingIsTheSameCode) {
  struct Case {
    const char* name;
    AxisValue value;
    bool changes_code;
  };
  const Case cases[] = {{"maxrregcount", std::int64_t{64}, false},
                        {"maxrregcount", std::int64_t{0}, false},
                        {"maxrregcount", std::int64_t{24}, true},
                        {"ftz", false, false},
                        {"ftz", true, true},
                        {"approx", false, false},
                        {"approx", true, true},
                        {"prec-div", true, false},
                        {"prec-div", false, true},
                        {"prec-sqrt", false, true},
                        {"fmad", false, true},
                        {"use_fast_math", true, true},
                        {"use_fast_math", false, false},
                        {"extra-device-vectorization", true, false},
                        {"def-load-cache", std::string("cg"), true},
                        {"def-store-cache", std::string("cs"), true},
                        {"opt-level", std::int64_t{1}, false},
                        {"allow-expensive-optimizations", true, false}};
  const KernelSource source = KernelSource::CudaCpp(
      "__global__ void k(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i] / y[i] + sqrtf(x[i]) * y[i]; }",
      "k");
  Result<Artifact> plain = Compile(source);
  ASSERT_OK(plain);
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.name) + "=" + AxisValueString(each.value));
    KernelSource with = source;
    AddAxisOptions(Config::Of({{each.name, AxisKind::kOption, each.value}}), &with);
    Result<Artifact> artifact = Compile(with);
    ASSERT_OK(artifact);
    EXPECT_EQ(artifact->code_fingerprint != plain->code_fingerprint, each.changes_code);
  }
  KernelSource both = source;
  both.options = {"--ftz=true"};
  AddAxisOptions(Config::Of({{"ftz", AxisKind::kOption, true}}), &both);
  EXPECT_ERROR(Compile(both), StatusCode::kInvalidArgument,
               "the option '--ftz=' is given both by the source and by an axis: remove one of them");
}

/// y = x^T by CuTe's layouts; the headers are those of a CUTLASS that lies where TUNEONCE_TEST_CUTLASS says (a
/// checkout's include, or of PyPI's nvidia-cutlass cutlass_library/source/include).
TEST_F(NvrtcTest, AKernelOfCutlassCompilesByAFolderOfHeaders) {
  const char* folder = std::getenv("TUNEONCE_TEST_CUTLASS");
  if (folder == nullptr) GTEST_SKIP() << "CUTLASS IS NOT HERE: TUNEONCE_TEST_CUTLASS names no folder";
  KernelSource source = KernelSource::CudaCpp(R"(
#include <cute/tensor.hpp>
template <int TILE, typename T>
__global__ void transpose(const T* x, T* y, int m, int n) {
  using namespace cute;
  using Square = Shape<Int<TILE>, Int<TILE>>;
  Tensor from = make_tensor(make_gmem_ptr(x), make_layout(make_shape(m, n), make_stride(n, Int<1>{})));
  Tensor to = make_tensor(make_gmem_ptr(y), make_layout(make_shape(n, m), make_stride(m, Int<1>{})));
  __shared__ T memory[TILE * (TILE + 1)];
  Tensor tile = make_tensor(make_smem_ptr(memory), make_layout(Square{}, make_stride(Int<TILE + 1>{}, Int<1>{})));
  Tensor source = local_tile(from, Square{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor target = local_tile(to, Square{}, make_coord(blockIdx.x, blockIdx.y));
  for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) tile(i / TILE, i % TILE) = source(i / TILE, i % TILE);
  __syncthreads();
  for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) target(i / TILE, i % TILE) = tile(i % TILE, i / TILE);
})",
                                              "transpose<TILE, T>");
  source.Include(folder).Define("TILE", 32).DefineType("T", kFloat32);
  Result<Artifact> artifact = Compile(source);
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_Z9transposeILi32EfEvPKT0_PS0_ii");
  EXPECT_GE(artifact->resources.shared_bytes, 32 * 33 * 4);
  EXPECT_TRUE(artifact->cacheable);
}

TEST_F(NvrtcTest, ErrorsStandBeforeWarningsAndTheMessageIsText) {
  std::string text = "extern \"C\" __global__ void k(float* y) {\n  __shared__ float s[13000];\n";
  for (int i = 0; i < 10; ++i) text += "  int unused" + std::to_string(i) + ";\n";
  const std::string end = "  s[threadIdx.x] = 1; __syncthreads(); y[0] = s[threadIdx.x ^ 1];\n}\n";
  Status by_ptxas = Compile(KernelSource::CudaCpp(text + end, "k")).status();
  Status by_front_end = Compile(KernelSource::CudaCpp(text + "  int b = not_declared;\n" + end, "k")).status();
  EXPECT_EQ(by_ptxas.message().find("NVRTC for sm_90: ptxas error   : Entry function 'k' uses too much shared data"),
            0u)
      << by_ptxas.message();
  EXPECT_EQ(by_front_end.message().find("NVRTC for sm_90: k.cu(13): error: identifier \"not_declared\" is undefined"),
            0u)
      << by_front_end.message();
  EXPECT_LT(by_front_end.message().find("1 error detected"), by_front_end.message().find("warning"));
  for (const Status& status : {by_ptxas, by_front_end}) {
    EXPECT_EQ(status.message().find('\0'), std::string::npos);
    EXPECT_NE(status.message().find("variable \"unused9\""), std::string::npos) << status.message();
  }
}

TEST_F(NvrtcTest, AByteOrderMarkIsNoPartOfATextOrItsHeaders) {
  const std::string mark = "\xef\xbb\xbf";
  KernelSource source = KernelSource::CudaCpp(
      mark +
          "#include <cuda_fp16.h>\n#include \"value.h\"\nextern \"C\" __global__ void k(__half* y) { y[0] = "
          "__float2half(TILE + VALUE); }",
      "k");
  source.Header("value.h", mark + "#define VALUE 1\n");
  EXPECT_OK(Compile(source.Define("TILE", 64)));
  source = KernelSource::CudaCpp(mark + "__global__ void k(float* y) { y[0] = b; }", "k");
  EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, "k.cu(1): error: identifier \"b\"");
}

TEST_F(NvrtcTest, AHeaderFileWithAByteOrderMarkIsNamedWithWhatToDo) {
  TemporaryFolder folder = *testing::MakeFolder();
  const std::string header = folder.path() + "/value.h";
  const std::string text = "#define VALUE 1\n";
  ASSERT_OK(WriteFile(header, "\xef\xbb\xbf" + text));
  KernelSource source =
      KernelSource::CudaCpp("#include \"value.h\"\n__global__ void k(float* y) { y[0] = VALUE; }", "k");
  source.Include(folder.path());
  const Status compiled = Compile(source).status();
  EXPECT_ERROR(compiled, StatusCode::kInvalidArgument,
               "NVRTC for sm_90: " + header +
                   "(1): the header begins with a byte-order mark, which NVRTC refuses; save "
                   "it without one");
  EXPECT_EQ(compiled.message().find('\n'), std::string::npos) << compiled.message();
  ASSERT_OK(WriteFile(header, text));
  EXPECT_OK(Compile(source));
}

TEST_F(NvrtcTest, AMessageHasTheFirstErrorsAndTheirNumber) {
  std::string text;
  for (int i = 0; i < 90; ++i) text += "int a" + std::to_string(i) + " = not_declared_" + std::to_string(i) + ";\n";
  Result<Artifact> artifact = Compile(KernelSource::CudaCpp(text, "k"));
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument, "k.cu(1): error");
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument, "90 errors detected");
  EXPECT_LT(artifact.status().message().size(), 8192u);
}

/// A toolkit, or a wheel, as far as it is looked at.
void MakeHeaders(const std::string& include, bool has_cccl) {
  std::string path;
  for (std::size_t end = include.find('/', 1); end != std::string::npos; end = include.find('/', end + 1)) {
    mkdir(include.substr(0, end).c_str(), 0700);
  }
  mkdir(include.c_str(), 0700);
  ASSERT_OK(WriteFile(include + "/cuda_fp16.h", ""));
  if (!has_cccl) return;
  mkdir((include + "/cccl").c_str(), 0700);
  mkdir((include + "/cccl/cub").c_str(), 0700);
  ASSERT_OK(WriteFile(include + "/cccl/cub/cub.cuh", ""));
}

TEST(CudaHeadersTest, TheFirstOfTheDocumentedPlacesCounts) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  const std::string root = RealPath(folder->path());
  MakeHeaders(root + "/option", false);
  MakeHeaders(root + "/home/include", true);
  MakeHeaders(root + "/beside/include", true);
  MakeHeaders(root + "/wheel/nvidia/cuda_runtime/include", false);
  mkdir((root + "/wheel/nvidia/cuda_cccl").c_str(), 0700);
  mkdir((root + "/wheel/nvidia/cuda_cccl/include").c_str(), 0700);
  for (const char* lib : {"/beside/lib64", "/wheel/nvidia/cuda_nvrtc"}) mkdir((root + lib).c_str(), 0700);
  mkdir((root + "/wheel/nvidia/cuda_nvrtc/lib").c_str(), 0700);
  struct Case {
    std::string option, home, nvrtc_folder;
    std::vector<std::string> folders;
  };
  const std::string wheels = root + "/wheel/nvidia/";
  const Case cases[] = {
      {root + "/option:/none", root + "/home", root + "/beside/lib64", {root + "/option"}},
      {"", root + "/home", root + "/beside/lib64", {root + "/beside/include", root + "/beside/include/cccl"}},
      {"", root + "/home", root + "/none/lib64", {root + "/home/include", root + "/home/include/cccl"}},
      {"", "", wheels + "cuda_nvrtc/lib", {wheels + "cuda_runtime/include", wheels + "cuda_cccl/include"}},
  };
  for (const Case& each : cases) {
    Environment environment;
    environment.cuda_include = each.option;
    environment.cuda_home = each.home;
    CudaHeaders found = CudaHeaders::Find(environment, each.nvrtc_folder);
    EXPECT_EQ(found.folders, each.folders);
    bool has_cccl = each.folders.size() == 2 && each.folders[1].find("/cccl") != std::string::npos;
    EXPECT_EQ(found.has_cccl, has_cccl);
  }
  Environment nothing;
  nothing.cuda_include = "/none:/neither";
  EXPECT_NE(CudaHeaders::Find(nothing, "").ToString().find("in /none, /neither: install"), std::string::npos);
}

TEST(HeaderTraceTest, ReadsTheHeadersAndNothingElse) {
  auto trace = [](const std::string& events) {
    return "{\"otherData\" : {}, \"traceEvents\" : [ {}, " + events + "]}";
  };
  auto header = [](const std::string& path) {
    return "{\"args\":{\"detail\":\"" + path + "\"},\"dur\":9,\"name\":\"Processing Header File\",\"ph\":\"X\"}";
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(HeadersInTrace(trace(header("__nv_nvrtc_builtin_header.h") + "," + header("/a b/c.h") + "," +
                                 "{\"args\":{\"detail\":\"f()\"},\"dur\":9,\"name\":\"OptFunction\"}, " +
                                 header("d\\\\e\\\"f.h"))),
            (Names{"/a b/c.h", "d\\e\"f.h"}));
  EXPECT_EQ(HeadersInTrace(trace(header("__nv_nvrtc_builtin_header.h"))), Names{});
  auto of_sm_100 = [](const std::string& path) {  // There the events have another order.
    return "{\"pid\":0,\"ph\":\"X\",\"dur\":9,\"name\":\"Processing Header File\",\"args\":{\"detail\":\"" + path +
           "\"}}";
  };
  EXPECT_EQ(HeadersInTrace(trace(of_sm_100("__nv_nvrtc_builtin_header.h") + "," + of_sm_100("/a b/c.h") + "," +
                                 "{\"pid\":0,\"name\":\"OptFunction\",\"args\":{\"detail\":\"f()\"}}")),
            Names{"/a b/c.h"});
  EXPECT_EQ(HeadersInTrace(trace("{}")), std::nullopt) << "NVRTC 12.9 has a trace, but no events of headers";
  EXPECT_EQ(HeadersInTrace(trace(header("/a.h"))), std::nullopt) << "its own header is always read";
  for (const std::string& other :
       {std::string(), std::string("{}"), trace("\"Processing Header File\""), trace(header("a\\u0041.h")),
        trace("{\"args\":{},\"name\":\"Processing Header File\"}")}) {
    EXPECT_EQ(HeadersInTrace(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace tuneonce
