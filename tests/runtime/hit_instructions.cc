// Hits to count the instructions of, with the driver's launch replaced by nothing: `hit_instructions FEATURE...`. What
// hit_instructions.sh runs under callgrind, which collects inside CountHits alone and writes what it collected before
// EndOfHits. Without FEATURE: their names.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver_api.h"
#include "launch/device_table.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kHits = 1000;  // hit_instructions.sh divides by it.

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "hit_instructions: %s\n", status.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Check(Result<T> result) {
  Check(result.status());
  return *std::move(result);
}

bool launch_nothing = false;
DriverTable real_driver;
CUresult LaunchOrNothing(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return launch_nothing ? CUDA_SUCCESS : real_driver.LaunchKernelEx(config, function, parameters, extra);
}

/// Named on callgrind's command line.
template <typename Hit>
__attribute__((noinline)) bool CountHits(const Hit& hit) {
  bool ok = true;
  for (int i = 0; i < kHits; ++i) ok &= hit();
  return ok;
}

class Bench {
 public:
  Bench()
      : device_(Check(OpenDevice("cpu"))),
        context_(Check(Context::RetainPrimary(device_))),
        current_(context_.view()),
        stream_(Check(Stream::Create(device_.api()))),
        memory_(Check(DeviceBuffer::Allocate(stream_.view(), std::size_t{1} << 20))) {
    Check(memory_.Fill(0));
    DriverTable table = real_driver = UnguardedTable(device_.api());
    table.LaunchKernelEx = LaunchOrNothing;
    counted_.reset(new DriverApi(table, "counted", true));
  }

  CUstream stream() const { return stream_.get(); }
  /// A table of as many tensors, all in the same place.
  std::unique_ptr<DeviceTable> Table(std::size_t at, std::size_t count) const {
    const std::vector<TensorView> tensors(count, Tensor(at, DType::kFloat32, {1000}));
    return Check(DeviceTable::Create(tensors, stream_.view()));
  }
  /// The `at`-th of 16 places for a tensor, far apart.
  TensorView Tensor(std::size_t at, DType dtype, std::initializer_list<std::int64_t> shape) const {
    return TensorView::Contiguous(static_cast<char*>(memory_.data()) + (at << 16), dtype, shape);
  }
  TunedKernel Create(const KernelDefinition& definition, bool disabled = false) const {
    AutotunePolicy policy;
    if (disabled) policy.mode = AutotunePolicy::Mode::kFallbackOnly;
    policy.store = std::make_shared<MemoryStore>();
    policy.search.max_rounds = 1;
    policy.search.verify = Verify::kOff;  // The code writes nothing.
    return Check(TunedKernelOn::Create(Check(Device::Get(*counted_, 0)), definition, policy));
  }

  /// Makes what `launch` launches ready, and counts its hits.
  template <typename Launch>
  void Run(const TunedKernel& kernel, const Launch& launch) {
    for (int i = 0; i < 3; ++i) Check(launch());
    Check(stream_.view().Synchronize());
    std::int64_t tunes = kernel.counters().tunes;
    launch_nothing = true;
    for (int i = 0; i < 10; ++i) Check(launch());
    bool ok = CountHits([&] { return launch().ok(); });
    launch_nothing = false;
    if (!ok || kernel.counters().tunes != tunes) Check(InternalError("not every launch was a hit"));
  }
  /// The same of launches whose dims change: by turns each of these. What a launch leaves does not serve the next one.
  template <typename Launch>
  void RunByTurns(const TunedKernel& kernel, std::size_t num_launches, const Launch& launch) {
    std::size_t next = 0;
    Run(kernel, [&] {
      const std::size_t now = next;
      next = now + 1 == num_launches ? 0 : now + 1;
      return launch(now);
    });
    if (kernel.counters().hits < kHits) Check(InternalError("not every launch was a hit"));
  }

 private:
  Device device_;
  Context context_;
  ScopedContext current_;
  Stream stream_;
  DeviceBuffer memory_;
  std::unique_ptr<DriverApi> counted_;
};

/// The definition with this variant alone, its baseline alone, a key of exact extents, and code that does nothing:
/// valgrind does not know all instructions that a compiler may use for this machine.
KernelDefinition Reduced(const KernelDefinition& from, Variant variant, const std::string& types) {
  SearchSpace space = from.space();
  Config baseline = *space.baseline();
  space.Where("the baseline", [=](const Config& config) { return config == baseline; });
  variant.runs_on = OnCpuDevice();
  if (const AxisValue* backend = baseline.Find("backend")) variant.backend = std::get<std::string>(*backend);
  std::string text = "static void nothing(const tuneonce_block&, " + types + ") {}\nTUNEONCE_CPU_KERNEL(nothing);";
  variant.source = [=](const Config&, const Problem&) { return KernelSource::CpuCpp(text, "nothing"); };
  variant.hints = [](const Config&) { return Hints(); };
  KernelDefinition reduced = KernelDefinition(from.name()).Version(from.version());
  reduced.DimsInOrder(from.dims()).Parameters(from.parameters()).Space(space).AddVariant(variant);
  return reduced;
}

void VectorAdd(Bench& bench) {
  KernelDefinition bundle = Check(Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/vector_add")).definition();
  TunedKernel kernel =
      bench.Create(Reduced(bundle, bundle.variants().back(), "const void*, const void*, void*, long long"));
  TensorView x = bench.Tensor(0, DType::kFloat32, {1000}), y = bench.Tensor(1, DType::kFloat32, {1000});
  TensorView z = bench.Tensor(2, DType::kFloat32, {1000});
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, z); });
}

enum class MatmulVariant { kTileIr, kTriton, kCpu };

/// The matmul bundle's kernel parameters and assumptions: those of its Tile IR, its cubins by Triton, or the CPU
/// device's. `by_its_key`: with the bundle's own key, which rounds M, in place of an exact one.
KernelDefinition MatmulDefinition(MatmulVariant which, bool by_its_key) {
  KernelDefinition bundle = Check(Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/matmul")).definition();
  const std::string matrix = "void*, int, int, int, int";
  const std::map<MatmulVariant, std::pair<std::string, std::string>> variants = {
      {MatmulVariant::kTileIr, {"tile", matrix + ", " + matrix + ", " + matrix}},
      {MatmulVariant::kTriton, {"triton_sm90", "void*, void*, void*, int, int, int, void*, void*"}},
      {MatmulVariant::kCpu, {"cpu", "void*, void*, void*, int, int, int"}},
  };
  const auto& [name, types] = variants.at(which);
  auto variant = std::find_if(bundle.variants().begin(), bundle.variants().end(),
                              [&, &its_name = name](const Variant& each) { return each.name == its_name; });
  KernelDefinition definition = Reduced(bundle, *variant, types);
  if (by_its_key) definition.Key(bundle.key());
  return definition;
}

void Matmul(Bench& bench, MatmulVariant which, bool by_its_key) {
  TunedKernel kernel = bench.Create(MatmulDefinition(which, by_its_key));
  TensorView a = bench.Tensor(0, DType::kFloat16, {64, 64}), b = bench.Tensor(1, DType::kFloat16, {64, 64});
  TensorView c = bench.Tensor(2, DType::kFloat16, {64, 64});
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), a, b, c); });
}

/// y = x * factor, which does nothing: what each feature of a definition adds to `plain`.
struct Scale {
  std::vector<Parameter> parameters = {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                                       DimValue("N")};
  std::vector<std::string> dims = {"N"};
  std::vector<KeyPart> key;
  SearchSpace space;
  std::vector<Assumption> assumptions;
  Condition requirement;
  GeometryFn grid = Grid::OneD({"N", 64});
  std::string more;           // Types of further kernel parameters.
  bool with_general = false;  // Another variant, without assumptions.

  KernelDefinition Definition() const {
    KernelDefinition definition("scale");
    definition.DimsInOrder(dims).Parameters(parameters).Space(space);
    if (!key.empty()) definition.Key(key);
    std::string text = "static void scale(const tuneonce_block&, const void*, void*, float, int" + more +
                       ") {}\nTUNEONCE_CPU_KERNEL(scale);";
    Variant variant;
    variant.source = [=](const Config&, const Problem&) { return KernelSource::CpuCpp(text, "scale"); };
    variant.geometry = grid;
    variant.name = "assuming";
    variant.assumptions = assumptions;
    variant.Requires(requirement);
    definition.AddVariant(variant);
    variant.name = "general";
    variant.assumptions.clear();
    if (with_general) definition.AddVariant(variant);
    return definition;
  }
};

/// With another N at each launch.
void RunByTurns(Bench& bench, const Scale& scale, const std::vector<std::int64_t>& extents) {
  TunedKernel kernel = bench.Create(scale.Definition());
  std::vector<TensorView> x, y;
  for (std::int64_t n : extents) {
    x.push_back(bench.Tensor(0, DType::kFloat32, {n}));
    y.push_back(bench.Tensor(1, DType::kFloat32, {n}));
  }
  float factor = 2;
  bench.RunByTurns(kernel, extents.size(),
                   [&](std::size_t i) { return kernel.Launch(bench.stream(), x[i], y[i], factor); });
}

void RunScale(Bench& bench, const Scale& scale, bool disabled = false) {
  TunedKernel kernel = bench.Create(scale.Definition(), disabled);
  TensorView x = bench.Tensor(0, DType::kFloat32, {1000}), y = bench.Tensor(1, DType::kFloat32, {1000});
  float factor = 2;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, factor); });
}

Scale Bucket() {
  Scale scale;
  scale.key = {KeyOf("N").NextPow2()};
  return scale;
}
Scale Bounds() {
  Scale scale;
  scale.key = {KeyOf("N").Buckets({1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512, 1024})};
  return scale;
}
Scale Guard() {
  Scale scale = Bucket();
  scale.space.Where("any", [](const Config&, const Dims& dims) { return dims[Dim{0}] > 0; });
  return scale;
}
Scale ScalarKey() {
  Scale scale;
  scale.key = {KeyOf("N"), ValueOf("factor")};
  return scale;
}
Scale DTypeKey() {
  Scale scale;
  scale.parameters[0].dtype = scale.parameters[1].dtype = DType::kAny;
  return scale;
}
Scale Assuming() {
  Scale scale;
  scale.assumptions = {Aligned("x", 16), Aligned("y", 16), ExtentDivisibleBy("x", 0, 4), NoOverlap("x", "y")};
  return scale;
}

/// Its config needs aligned tensors. Tensors that are not have a key of their own, of another config.
void Requirement(Bench& bench, bool is_aligned) {
  Scale scale;
  IntAxis vec = scale.space.AddAxis("VEC", {1, 4});
  scale.requirement = vec == 1 || (Aligned("x", 4 * vec) && Aligned("y", 4 * vec));
  TunedKernel kernel = bench.Create(scale.Definition());
  TensorView x = bench.Tensor(0, DType::kFloat32, {1000}), y = bench.Tensor(1, DType::kFloat32, {1000});
  float factor = 2;
  Check(kernel.Pin({{"N", 1000}}, {{"VEC", 4}}));  // Both configs do nothing, so that either could win.
  Check(kernel.Launch(bench.stream(), x, y, factor));
  if (!is_aligned) x.data = static_cast<float*>(x.data) + 1;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, factor); });
}

void Rank3(Bench& bench) {
  Scale scale;
  scale.dims = {"N", "M", "K"};
  scale.parameters[0].dims = scale.parameters[1].dims = scale.dims;
  TunedKernel kernel = bench.Create(scale.Definition());
  TensorView x = bench.Tensor(0, DType::kFloat32, {4, 8, 16}), y = bench.Tensor(1, DType::kFloat32, {4, 8, 16});
  float factor = 2;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, factor); });
}

/// Tuned for aligned tensors, then launched with another: at dbfc7c4 a fallback ran, now what was tuned without the
/// first variant.
void Unaligned(Bench& bench) {
  Scale scale = Assuming();
  scale.with_general = true;
  TunedKernel kernel = bench.Create(scale.Definition());
  TensorView x = bench.Tensor(0, DType::kFloat32, {1000}), y = bench.Tensor(1, DType::kFloat32, {1000});
  float factor = 2;
  Check(kernel.Launch(bench.stream(), x, y, factor));
  x.data = static_cast<float*>(x.data) + 1;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, factor); });
}

Scale SameDType() {
  Scale scale;
  scale.parameters[0] = In("x", {"N"});
  scale.parameters[1] = Out("y", SameDTypeAs("x"), {"N"});
  return scale;
}
Scale Strided() {
  Scale scale;
  scale.parameters.push_back(StrideValue("x", 0));
  scale.parameters.push_back(StrideValue("y", 0, DType::kInt64));
  scale.more = ", int, long long";
  return scale;
}

/// A scalar decides the grid, a guard and which variant: at each launch, or per key.
Scale ByScalar(bool is_in_key) {
  Scale scale;
  scale.parameters[2] = Scalar<std::int32_t>("length");
  scale.grid = Grid::Fixed(CeilDiv("length", 64));
  scale.assumptions = {ScalarDivisibleBy("length", 2)};
  if (is_in_key) scale.key = {KeyOf("N"), ValueOf("length")};
  return scale;
}
void RunByScalar(Bench& bench, bool is_in_key) {
  TunedKernel kernel = bench.Create(ByScalar(is_in_key).Definition());
  TensorView x = bench.Tensor(0, DType::kFloat32, {1000}), y = bench.Tensor(1, DType::kFloat32, {1000});
  std::int32_t length = 1000;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, length); });
}
/// A grid that its key decides costs nothing, however it is computed.
Scale Flattened() {
  Scale scale;
  scale.grid = Grid::Fixed(Min(NumSms() * 4, CeilDiv("N", 64) * CeilDiv("N", 128)));
  return scale;
}
Scale DerivedValue() {
  Scale scale;
  scale.parameters.push_back(Derived("step", CeilDiv("N", 64)));
  scale.more = ", int";
  return scale;
}
/// A key that rounds N, and what is computed of N at each launch whose N is another.
Scale BucketOf(GeometryFn grid) {
  Scale scale = Bucket();
  scale.grid = std::move(grid);
  return scale;
}
/// Without NumSms: how it compares would be the machine's.
Scale BucketOfTerms() { return BucketOf(Grid::Fixed(Min(64, CeilDiv("N", 64) * CeilDiv("N", 128)))); }
Scale BucketOfFunction() {
  return BucketOf(GeometryFn([](const Config&, const Problem& problem) {
    Geometry geometry;
    geometry.grid.x = (problem.dims[Dim{0}] + 63) / 64;
    return geometry;
  }));
}
Scale BucketOfDerived() {
  Scale scale = DerivedValue();
  scale.key = Bucket().key;
  return scale;
}
/// The matmul bundle with its own key, which rounds M, and another M at each launch.
void MatmulByTurns(Bench& bench) {
  TunedKernel kernel = bench.Create(MatmulDefinition(MatmulVariant::kTileIr, /*by_its_key=*/true));
  const TensorView b = bench.Tensor(1, DType::kFloat16, {64, 64});
  std::vector<TensorView> a, c;
  for (std::int64_t m : {64, 48}) {
    a.push_back(bench.Tensor(0, DType::kFloat16, {m, 64}));
    c.push_back(bench.Tensor(2, DType::kFloat16, {m, 64}));
  }
  bench.RunByTurns(kernel, a.size(), [&](std::size_t i) { return kernel.Launch(bench.stream(), a[i], b, c[i]); });
}

/// A tensor map besides: remembered by address and shape.
void Maps(Bench& bench, bool is_by_map) {
  Scale scale;
  scale.dims = {"M", "N"};
  scale.parameters[0].dims = scale.parameters[1].dims = scale.dims;
  if (is_by_map) {
    scale.parameters.push_back(Descriptor("map", "x", TensorMap{{4, 8}}));
    scale.more = ", tuneonce_tensor_map";
  }
  TunedKernel kernel = bench.Create(scale.Definition());
  TensorView x = bench.Tensor(0, DType::kFloat32, {64, 64}), y = bench.Tensor(1, DType::kFloat32, {64, 64});
  float factor = 2;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x, y, factor); });
}

/// Of rank 2, as rank_2, by tables of pointers: it takes what it takes however many tensors there are.
void Pointers(Bench& bench, std::size_t count) {
  Scale scale;
  scale.dims = {"G", "N"};
  scale.parameters[0] = In("x", kFloat32, scale.dims).ByPointers();
  scale.parameters[1] = Out("y", kFloat32, scale.dims).ByPointers();
  TunedKernel kernel = bench.Create(scale.Definition());
  const std::unique_ptr<DeviceTable> x = bench.Table(0, count), y = bench.Table(1, count);
  float factor = 2;
  bench.Run(kernel, [&] { return kernel.Launch(bench.stream(), x->table(), y->table(), factor); });
}

struct Feature {
  const char* name;
  void (*run)(Bench&);
};
constexpr Feature kFeatures[] = {
    {"vector_add", VectorAdd},
    {"matmul", [](Bench& bench) { Matmul(bench, MatmulVariant::kTileIr, false); }},
    {"matmul_cpu", [](Bench& bench) { Matmul(bench, MatmulVariant::kCpu, false); }},
    // As the bundle is now: with a key that rounds M.
    {"matmul_pow2", [](Bench& bench) { Matmul(bench, MatmulVariant::kTileIr, true); }},
    {"matmul_triton", [](Bench& bench) { Matmul(bench, MatmulVariant::kTriton, true); }},
    // A kernel of two vectors, a scalar and a dim; and what each feature of a definition adds to it.
    {"plain", [](Bench& bench) { RunScale(bench, Scale()); }},
    {"disabled", [](Bench& bench) { RunScale(bench, Scale(), /*disabled=*/true); }},
    {"bucket", [](Bench& bench) { RunScale(bench, Bucket()); }},
    {"bounds", [](Bench& bench) { RunScale(bench, Bounds()); }},
    {"bucket_guard", [](Bench& bench) { RunScale(bench, Guard()); }},
    {"scalar_key", [](Bench& bench) { RunScale(bench, ScalarKey()); }},
    {"dtype_key", [](Bench& bench) { RunScale(bench, DTypeKey()); }},
    {"same_dtype", [](Bench& bench) { RunScale(bench, SameDType()); }},
    {"assumptions", [](Bench& bench) { RunScale(bench, Assuming()); }},
    {"requirement", [](Bench& bench) { Requirement(bench, /*is_aligned=*/true); }},
    {"requirement_unaligned", [](Bench& bench) { Requirement(bench, /*is_aligned=*/false); }},
    {"rank_3", Rank3},
    {"strided", [](Bench& bench) { RunScale(bench, Strided()); }},
    {"unaligned", Unaligned},
    {"terms", [](Bench& bench) { RunScale(bench, Flattened()); }},
    {"derived", [](Bench& bench) { RunScale(bench, DerivedValue()); }},
    {"scalar", [](Bench& bench) { RunByScalar(bench, false); }},
    {"scalar_in_key", [](Bench& bench) { RunByScalar(bench, true); }},
    {"rank_2", [](Bench& bench) { Maps(bench, false); }},
    {"tensor_map", [](Bench& bench) { Maps(bench, true); }},
    // Another N, or M, at each launch: of two exact keys, of one bucket, of two buckets.
    {"two_keys",
     [](Bench& bench) {
       RunByTurns(bench, Scale(), {1000, 900});
     }},
    {"in_bucket",
     [](Bench& bench) {
       RunByTurns(bench, Bucket(), {1000, 900});
     }},
    {"two_buckets",
     [](Bench& bench) {
       RunByTurns(bench, Bucket(), {1000, 300});
     }},
    {"in_bounds",
     [](Bench& bench) {
       RunByTurns(bench, Bounds(), {1000, 900, 800});
     }},
    {"in_guard",
     [](Bench& bench) {
       RunByTurns(bench, Guard(), {1000, 900});
     }},
    {"in_terms",
     [](Bench& bench) {
       RunByTurns(bench, BucketOfTerms(), {1000, 900});
     }},
    {"in_function",
     [](Bench& bench) {
       RunByTurns(bench, BucketOfFunction(), {1000, 900});
     }},
    {"in_derived",
     [](Bench& bench) {
       RunByTurns(bench, BucketOfDerived(), {1000, 900});
     }},
    {"in_matmul", MatmulByTurns},
    {"pointers_2", [](Bench& bench) { Pointers(bench, 2); }},
    {"pointers_256", [](Bench& bench) { Pointers(bench, 256); }},
};

}  // namespace
}  // namespace tuneonce

/// Named on callgrind's command line.
extern "C" __attribute__((noinline)) void EndOfHits() { asm volatile(""); }

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const tuneonce::Feature& feature : tuneonce::kFeatures) std::printf("%s\n", feature.name);
    return 0;
  }
  const auto* const end = std::end(tuneonce::kFeatures);
  for (int i = 1; i < argc; ++i) {
    const auto* const feature = std::find_if(std::begin(tuneonce::kFeatures), end, [&](const tuneonce::Feature& each) {
      return std::strcmp(argv[i], each.name) == 0;
    });
    if (feature == end) return 1;
    tuneonce::Bench bench;
    feature->run(bench);
    EndOfHits();
  }
  return 0;
}
