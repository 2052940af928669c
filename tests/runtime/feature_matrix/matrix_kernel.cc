#include "runtime/feature_matrix/matrix_kernel.h"

#include <mutex>
#include <utility>

#include "base/file.h"
#include "testing/expect_status.h"
#include "testing/runtimes.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/runtime.h"

namespace tuneonce::testing {
namespace {

constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work, tuneonce_matrix_ran;
#if GENERAL && STRIDED
static void scale(const tuneonce_block& block, const T* x, T* y, float factor, int n, int stride) {
#elif GROUPS > 0
static void scale(const tuneonce_block& block, const T* const* xs, T* const* ys, float factor, int n) {
  const int stride = 1;
#else
static void scale(const tuneonce_block& block, const T* x, T* y, float factor, int n) {
  const int stride = 1;
#endif
  if (block.shared_bytes < SHARED) return;
  if (SHARED > 0) static_cast<volatile char*>(block.shared)[SHARED - 1] = 1;
#if GROUPS > 0
  for (int group = 0; group < GROUPS; ++group) {
    const T* const x = xs[group];
    T* const y = ys[group];
#else
  {
#endif
    for (int i = 0; i < n; ++i) y[i] = static_cast<T>(x[i * stride] * factor);
  }
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, WORK, __ATOMIC_RELAXED);
  if (&tuneonce_matrix_ran != nullptr) __atomic_store_n(&tuneonce_matrix_ran, WORK + GENERAL * 1000, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(scale);)";

const Toolchain& RealToolchain() { return **Runtime::Default()->toolchains().For(SourceKind::kCpuCpp); }

Target CpuTarget() {
  Target cpu;
  cpu.is_cpu_device = true;
  return cpu;
}

}  // namespace

Result<std::string> MemoToolchain::Version() const {
  if (is_missing_) return UnavailableError("no compiler here");
  return RealToolchain().Version();
}

Result<Artifact> MemoToolchain::DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                          const WaitLimits& limits) const {
  if (is_missing_) return UnavailableError("no compiler here");
  ++num_asked_;
  static std::mutex mutex;
  static auto* const made = new std::map<std::string, Artifact>();
  std::string name = source.content;
  for (const std::string& define : source.defines) name += "\n" + define;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = made->find(name);
  if (found == made->end()) {
    KernelSource host = source;
    host.kind = SourceKind::kCpuCpp;
    TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, RealToolchain().Compile(host, hints, target, limits));
    found = made->emplace(name, std::move(artifact)).first;
  }
  Artifact artifact = found->second;
  if (kind_ == SourceKind::kTileCpp) {
    const bool is_int = source.defines.front() == "T=int";
    const std::string element = is_int ? "i32" : "f32";
    artifact.parameters = {"tile<ptr<" + element + ">>", "tile<ptr<" + element + ">>", "tile<f32>", "tile<i32>"};
  }
  return artifact;
}

MatrixKernel::MatrixKernel(const Case& c, std::string folder)
    : case_(c), folder_(std::move(folder)), work_(space_.AddAxis("WORK", {100, 50, 1})) {
  space_.SetBaselines({{{{work_, 100}}}, {{{work_, 50}}}});
  if (case_.searched() == Searched::kGuided) space_.MaxConfigs(1);
  const Dim n{case_.tensors() == Tensors::kByPointers ? 1 : 0};
  if (case_.key() == KeyKind::kGuardOnWinner) {  // As data, like a manifest's: it is folded for each config.
    const Term step = Max(2 / Term(work_), 1);   // 2 for WORK = 1 alone.
    space_.Where("even N", Term(n) % step == 0);
  }
  if (case_.key() == KeyKind::kGuardOnBaseline) {  // By a function.
    space_.Where("even N", [work = work_, n](const Config& config, const Dims& dims) {
      return config[work] != 100 || dims[n] % 2 == 0;
    });
  }
}

KernelSource MatrixKernel::Source(std::int64_t work_value, bool is_int, bool is_general) const {
  KernelSource source = case_.variant() == VariantKind::kTileCpp ? KernelSource::TileCpp(kSource, "scale")
                                                                 : KernelSource::CpuCpp(kSource, "scale");
  return source.Define("T", std::string(is_int ? "int" : "float"))
      .Define("WORK", work_value)
      .Define("GENERAL", is_general)
      .Define("STRIDED", case_.variant() == VariantKind::kStrided)
      .Define("GROUPS", case_.tensors() == Tensors::kByPointers ? Case::kGroups : 0)
      .Define("SHARED", case_.shared() == SharedMemory::k64KiB ? kSharedBytes : 0);
}

Variant::SourceFn MatrixKernel::SourceOf(bool is_general) const {
  return [self = *this, is_general](const Config& config, const Problem& problem) {
    return self.Source(config[self.work_], problem.dtype(0) == DType::kInt32, is_general);
  };
}

void MatrixKernel::PrepareCallable(const Device& device) {
  Geometry geometry;
  geometry.shared_memory_bytes = case_.shared() == SharedMemory::k64KiB ? kSharedBytes : 0;
  static const auto* const runtime =
      new std::shared_ptr<Runtime>(RuntimeWith(std::make_shared<MemoToolchain>(/*is_missing=*/false)));
  for (std::int64_t work_value : {100, 50, 1}) {
    for (bool is_int : {false, true}) {
      if (is_int && case_.key() != KeyKind::kDType) continue;
      Result<CompiledKernel> kernel =
          CompiledKernel::Create(device, Source(work_value, is_int, false), Hints(), geometry, *runtime);
      ASSERT_OK(kernel);
      callable_.emplace(std::make_tuple(device.index(), work_value, is_int), *kernel);
    }
  }
}

Variant::LaunchFn MatrixKernel::Launcher() const {
  return [self = *this](CUstream stream, const Config& config, const CallArguments& arguments) -> Status {
    const TensorView& x = arguments.tensor("x");
    TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(OpenDevice("cpu")->api()));
    const void *from = x.data, *to = arguments.tensor("y").data;
    auto factor = arguments.scalar<float>("factor");
    auto n = static_cast<int>(arguments.dim("N"));
    void* parameters[] = {&from, &to, &factor, &n};
    return self.callable_.at({device.index(), config[self.work_], x.dtype == DType::kInt32}).Launch(stream, parameters);
  };
}

void MatrixKernel::WriteFiles() const {
  const MemoToolchain toolchain(/*is_missing=*/false);
  for (std::int64_t work_value : {100, 50, 1}) {
    Result<Artifact> artifact = toolchain.Compile(Source(work_value, false, false), Hints(), CpuTarget());
    ASSERT_OK(artifact);
    ASSERT_OK(WriteFile(folder_ + "/scale." + std::to_string(work_value) + ".so", artifact->image));
  }
}

KernelDefinition MatrixKernel::Definition() const {
  KernelDefinition definition("matrix");
  bool any_dtype = case_.key() == KeyKind::kDType;
  const bool is_by_pointers = case_.tensors() == Tensors::kByPointers;
  const std::vector<std::string> dims =
      is_by_pointers ? std::vector<std::string>{"G", "N"} : std::vector<std::string>{"N"};
  Parameter x = (any_dtype ? In("x", dims) : In("x", kFloat32, dims)).ForWarmup(3);
  Parameter y = any_dtype ? Out("y", SameDTypeAs("x"), dims) : Out("y", kFloat32, dims);
  if (is_by_pointers) x = std::move(x).ByPointers(), y = std::move(y).ByPointers();
  std::vector<Parameter> parameters = {std::move(x), std::move(y), Scalar<float>("factor").ForWarmup(2)};
  if (case_.variant() != VariantKind::kCallable) parameters.push_back(DimValue("N"));
  if (case_.variant() == VariantKind::kStrided) parameters.push_back(StrideValue("x", 0));
  definition.Parameters(std::move(parameters)).Space(space_);
  KeyPart n = case_.is_bucketed() ? KeyOf("N").NextPow2() : KeyOf("N");
  if (case_.key() == KeyKind::kBounds) n = KeyOf("N").Buckets({100, 1010, 5000});
  if (case_.key() == KeyKind::kNearest) n = KeyOf("N").Nearest({500, 990, 2000});
  std::vector<KeyPart> key = {n};
  if (is_by_pointers) key.insert(key.begin(), KeyOf("G"));
  if (case_.key() == KeyKind::kScalar) key.push_back(ValueOf("factor"));
  if (any_dtype) key.push_back(DTypeOf("x"));
  definition.Key(std::move(key));
  GeometryFn geometry = Grid::Fixed(1);
  if (case_.shared() == SharedMemory::k64KiB) geometry.SharedMemory(kSharedBytes);
  switch (case_.variant()) {
    case VariantKind::kSource:
    case VariantKind::kTileCpp:
      return definition.AddVariant(Variant(SourceOf(false)).Grid(geometry));
    case VariantKind::kFiles:
      return definition.AddVariant(Cubins(folder_ + "/scale.{WORK}.so", "scale").Grid(geometry));
    case VariantKind::kCallable:
      return definition.AddVariant(Callable(Launcher()));
    case VariantKind::kAssumption:
      return definition.AddVariant(Variant(SourceOf(false)).Grid(geometry).Named("fast").Assuming({Aligned("x", 16)}))
          .AddVariant(Variant(SourceOf(true)).Grid(geometry).Named("general"));
    case VariantKind::kRequirement:
      // Of 16 bytes for each config, so that every config of the first variant has the same atom.
      return definition
          .AddVariant(Variant(SourceOf(false))
                          .Grid(geometry)
                          .Named("fast")
                          .Requires(work_ == 7 || Aligned("x", Max(16, 16 * (Term(work_) / 100)))))
          .AddVariant(Variant(SourceOf(true)).Grid(geometry).Named("general"));
    case VariantKind::kStrided:
      return definition
          .AddVariant(Variant(SourceOf(false)).Grid(geometry).Named("fast").KernelArgs({"x", "y", "factor", "N"}))
          .AddVariant(Variant(SourceOf(true)).Grid(geometry).Named("general"));
  }
  return definition;
}

}  // namespace tuneonce::testing
