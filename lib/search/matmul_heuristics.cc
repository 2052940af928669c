#include "search/matmul_heuristics.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "compile/toolbox.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// The parts of nvMatmulHeuristics.h, version 0.1, that are used here.
constexpr int kSuccess = 1;
constexpr int kTargetTriton = 3;
/// Ranks proposals by the library's performance model (NVMMH_FLAG_PERF_MODEL_BASED_AUTO_TUNING).
constexpr unsigned kRankByModel = 1 << 3;

/// Its layouts are counted: bit 0 for a B, bit 1 for an A that is transposed while it is loaded, row-major.
std::uint8_t LayoutOf(const MatmulProblem& problem) {
  return static_cast<std::uint8_t>((problem.a_is_transposed ? 2 : 0) + (problem.b_is_transposed ? 1 : 0));
}

/// Its number of a GPU: by name, else a large one of that capability.
int GpuOf(const DeviceIdentity& device) {
  static constexpr struct {
    int capability;
    const char* name;
    int gpu;
  } kGpus[] = {
      {80, "A30", 8002},  {80, "PCI", 8001},    {80, "", 8000},       {86, "A10", 8003},     {86, "A40", 8600},
      {86, "3090", 8601}, {86, "", 8602},       {89, "L20", 8900},    {89, "L40S", 8902},    {89, "L40", 8901},
      {89, "L4", 8903},   {89, "4090", 8904},   {89, "", 8905},       {90, "H200", 9003},    {90, "H20", 9004},
      {90, "PCI", 9001},  {90, "NVL", 9002},    {90, "", 9000},       {100, "GB200", 10001}, {100, "", 10000},
      {103, "", 10300},   {120, "5080", 12000}, {120, "5090", 12001}, {120, "", 12002},
  };
  const int capability = 10 * device.capability_major + device.capability_minor;
  for (const auto& each : kGpus) {
    if (each.capability == capability && absl::StrContains(device.name, each.name)) return each.gpu;
  }
  return 0;
}

std::vector<std::string> Places(const Environment& environment) {
  if (!environment.matmul_heuristics.empty()) return {environment.matmul_heuristics};
  constexpr char kName[] = "libnvMatmulHeuristics.so.0";
  std::vector<std::string> places;
  for (const std::string& folder : PythonPackageFolders(environment)) {
    places.push_back(absl::StrCat(folder, "/nvidia/nvMatmulHeuristics/lib/", kName));
  }
  places.push_back(kName);
  return places;
}

/// |log2(a / b)|; 0 where one of them is nothing to compare.
double Apart(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

std::int64_t ValueOf(const Config& config, const std::string& axis) {
  const AxisValue* value = config.Find(axis);
  const std::int64_t* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

double Distance(const Config& config, const MatmulParts& parts, const MatmulProposal& proposal) {
  constexpr double kWeightOfSchedule = 0.125;
  auto apart = [&](const std::string& axis, std::int64_t proposed) { return Apart(ValueOf(config, axis), proposed); };
  return apart(parts.tile_m, proposal.tile_m) + apart(parts.tile_n, proposal.tile_n) +
         apart(parts.tile_k, proposal.tile_k) +
         kWeightOfSchedule *
             (apart(parts.num_stages, proposal.num_stages) + apart(parts.num_warps, proposal.num_warps) +
              apart(parts.split_k, proposal.split_k) + apart(parts.num_ctas, proposal.num_ctas));
}

MatmulProblem MatmulOf(const KernelDefinition& definition, const MatmulParts& parts, const Problem& problem) {
  MatmulProblem matmul;
  matmul.m = problem[definition.DimOf(parts.m)];
  matmul.n = problem[definition.DimOf(parts.n)];
  matmul.k = problem[definition.DimOf(parts.k)];
  if (!parts.batch.empty()) matmul.batch = problem[definition.DimOf(parts.batch)];
  matmul.a_is_transposed = parts.a_is_transposed;
  matmul.b_is_transposed = parts.b_is_transposed;
  auto dtype = [&](const std::string& tensor) { return problem.dtypes[*definition.FindParameter(tensor)]; };
  matmul.a = dtype(parts.a);
  matmul.b = dtype(parts.b);
  matmul.c = dtype(parts.c);
  return matmul;
}

Result<std::vector<MatmulProposal>> Ask(const Environment& environment, const MatmulProblem& problem,
                                        const DeviceIdentity& device, int most, std::string* version) {
  TUNEONCE_ASSIGN_OR_RETURN(MatmulHeuristics model, MatmulHeuristics::Load(environment));
  *version = model.version();
  return model.Propose(problem, device, most);
}

}  // namespace

struct MatmulHeuristics::Calls {
  using Handle = void*;
  struct Problem {
    std::uint32_t m, n, k, batch;
    std::uint8_t layout;
  };
  struct KernelConfiguration {
    std::uint16_t cta[3];
    std::uint16_t warp[3];
    std::uint16_t instruction[3];
    std::uint16_t split_k;
    std::uint8_t load_stages;
    std::uint8_t grid_swizzle;
    std::uint8_t cta_order;
    std::uint8_t cluster[2];
  };

  Mutex mutex;  ///< Its handle's state is used by one thread at a time.
  /// Made at the first question, and never destroyed: nvMatmulHeuristicsDestroy of 0.1.0.27 crashes on a machine
  /// without a CUDA driver.
  Handle handle TUNEONCE_GUARDED_BY(mutex) = nullptr;
  std::map<int, void*> hardware TUNEONCE_GUARDED_BY(mutex);  ///< By GPU.

  unsigned (*VersionMajor)();
  unsigned (*VersionMinor)();
  unsigned (*VersionPatch)();
  int (*Create)(Handle*);
  int (*CreateHardware)(void**);
  int (*SetPredefinedGpu)(void*, int);
  int (*LoadInternalDiscoverySet)(Handle, const char*, int target, int layout, void* hardware);
  unsigned (*GetGemmConfig)(Handle, const char*, unsigned flags, int target, const Problem*, KernelConfiguration*,
                            unsigned count, void* hardware);

  Result<void*> HardwareOf(int gpu) TUNEONCE_REQUIRES(mutex) {
    if (handle == nullptr && Create(&handle) != kSuccess)
      return UnavailableError("nvMatmulHeuristics could not create a handle");
    void*& descriptor = hardware[gpu];
    if (descriptor == nullptr &&
        (CreateHardware(&descriptor) != kSuccess || SetPredefinedGpu(descriptor, gpu) != kSuccess)) {
      hardware.erase(gpu);
      return UnavailableError(absl::StrCat("nvMatmulHeuristics could not use its predefined GPU ", gpu));
    }
    return descriptor;
  }

  static MatmulProposal ProposalOf(const KernelConfiguration& given) {
    MatmulProposal proposal;
    proposal.tile_m = given.cta[0];
    proposal.tile_n = given.cta[1];
    proposal.tile_k = given.cta[2];
    proposal.num_stages = std::max<std::int64_t>(1, given.load_stages);
    const auto parts = [&](int i) { return given.warp[i] == 0 ? 1 : given.cta[i] / given.warp[i]; };
    proposal.num_warps = std::max(1, parts(0) * parts(1));
    proposal.split_k = std::max<std::int64_t>(1, given.split_k);
    proposal.num_ctas = std::max(1, given.cluster[0] * given.cluster[1]);
    return proposal;
  }

  static constexpr char kPrefix[] = "nvMatmulHeuristics";
  bool Find(void* library) {
    auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(
          dlsym(library, absl::StrCat(kPrefix, name).c_str()));
      return *function != nullptr;
    };
    return find("GetVersionMajor", &VersionMajor) && find("GetVersionMinor", &VersionMinor) &&
           find("GetVersionPatch", &VersionPatch) && find("Create", &Create) &&
           find("HardwareDescriptorCreate", &CreateHardware) &&
           find("HardwareDescriptorSetPredefinedGpu", &SetPredefinedGpu) &&
           find("LoadInternalDiscoverySet", &LoadInternalDiscoverySet) && find("GetGemmConfig", &GetGemmConfig);
  }
};

std::string PrecisionOf(DType a, DType b, DType c) {
  auto letter = [](DType dtype) -> std::string {
    constexpr std::string_view kLetters = "QRHTSD";  // In the order of the floating-point dtypes.
    if (dtype < DType::kFloat8E4M3) return "";
    return std::string(1, kLetters[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(DType::kFloat8E4M3)]);
  };
  const std::string of_a = letter(a), of_b = letter(b), of_c = letter(c);
  if (of_a.empty() || of_b.empty() || of_c.empty()) return "";
  const bool is_float8 = absl::StrContains("QR", of_a) && absl::StrContains("QR", of_b);
  if (is_float8) return absl::StrCat(of_a, of_b, absl::StrContains("QR", of_c) ? "T" : of_c, "S", of_c);
  if (a != b) return "";
  if (a == DType::kFloat64) return c == a ? "DDD" : "";
  if (a == DType::kFloat32) return c == a ? "SFS" : "";  // Tensor cores compute it as TF32.
  return c == a || c == DType::kFloat32 ? absl::StrCat(of_a, "S", of_c) : "";
}

Result<MatmulHeuristics> MatmulHeuristics::Load(const Environment& environment) {
  if (environment.matmul_heuristics == "off") {
    return UnavailableError("nvMatmulHeuristics is disabled by TUNEONCE_MATMUL_HEURISTICS");
  }
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(Places(environment), "nvMatmulHeuristics"));
  static auto* const loaded = new std::map<void*, std::unique_ptr<Calls>>;  // By the loader's handle.
  static Mutex* const mutex = new Mutex;
  MutexLock lock(*mutex);
  std::unique_ptr<Calls>& calls = (*loaded)[library.handle];
  if (calls == nullptr) {
    auto found = std::make_unique<Calls>();
    if (!found->Find(library.handle)) {
      return UnimplementedError(
          absl::StrCat(library.path, " is not nvMatmulHeuristics 0.1: some of its functions are missing"));
    }
    calls = std::move(found);
  }
  const std::string version =
      absl::StrCat(calls->VersionMajor(), ".", calls->VersionMinor(), ".", calls->VersionPatch());
  if (calls->VersionMajor() != 0 || calls->VersionMinor() != 1) {
    return UnimplementedError(absl::StrCat(library.path, " is version ", version, ", but only 0.1 is supported"));
  }
  return MatmulHeuristics(calls.get(), version);
}

Result<std::vector<MatmulProposal>> MatmulHeuristics::Propose(const MatmulProblem& problem,
                                                              const DeviceIdentity& device, int most) const {
  const std::string precision = PrecisionOf(problem.a, problem.b, problem.c);
  if (precision.empty()) return UnimplementedError("nvMatmulHeuristics does not support these dtypes");
  const int gpu = GpuOf(device);
  if (gpu == 0) return UnimplementedError("nvMatmulHeuristics does not know the device " + device.name);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t extent : {problem.m, problem.n, problem.k, problem.batch}) {
    if (extent < 1 || extent > kMost) return UnimplementedError("nvMatmulHeuristics does not support these extents");
  }
  MutexLock lock(calls_->mutex);
  TUNEONCE_ASSIGN_OR_RETURN(void* hardware, calls_->HardwareOf(gpu));
  const std::uint8_t layout = LayoutOf(problem);
  // Loads the library's own measurements for such a device. It also proposes without them.
  (void)calls_->LoadInternalDiscoverySet(calls_->handle, precision.c_str(), kTargetTriton, layout, hardware);
  const Calls::Problem asked{static_cast<std::uint32_t>(problem.m), static_cast<std::uint32_t>(problem.n),
                             static_cast<std::uint32_t>(problem.k), static_cast<std::uint32_t>(problem.batch), layout};
  std::vector<Calls::KernelConfiguration> found(static_cast<std::size_t>(most));
  const unsigned count = calls_->GetGemmConfig(calls_->handle, precision.c_str(), kRankByModel, kTargetTriton, &asked,
                                               found.data(), static_cast<unsigned>(most), hardware);
  found.resize(std::min<std::size_t>(count, found.size()));
  if (found.empty())
    return UnavailableError("nvMatmulHeuristics has no proposals for this problem (precision '" + precision + "')");
  std::vector<MatmulProposal> proposals;
  std::transform(found.begin(), found.end(), std::back_inserter(proposals), Calls::ProposalOf);
  return proposals;
}

std::vector<Config> NearestTo(const std::vector<MatmulProposal>& proposals, const MatmulParts& parts,
                              const std::vector<Config>& configs, std::size_t most) {
  std::vector<std::tuple<double, std::size_t, std::size_t>> ranked;  // Distance, proposal, place in `configs`.
  for (std::size_t i = 0; i < configs.size(); ++i) {
    std::pair<double, std::size_t> nearest(HUGE_VAL, 0);
    for (std::size_t p = 0; p < proposals.size(); ++p) {
      nearest = std::min(nearest, {Distance(configs[i], parts, proposals[p]), p});
    }
    ranked.emplace_back(nearest.first, nearest.second, i);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(most, ranked.size()));
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return std::get<2>(a) < std::get<2>(b); });
  std::vector<Config> nearest;
  for (const auto& each : ranked) nearest.push_back(configs[std::get<2>(each)]);
  return nearest;
}

ProposedConfigs ProposeConfigs(const KernelDefinition& definition, const Problem& problem, const DeviceIdentity& device,
                               std::vector<Config> configs, const std::optional<Config>& baseline, int max_proposed,
                               const Environment& environment) {
  const std::optional<MatmulParts>& parts = definition.matmul();
  const bool is_asked = parts && max_proposed > 0 && configs.size() > static_cast<std::size_t>(max_proposed);
  if (!is_asked || device.is_cpu_device) return ProposedConfigs{std::move(configs), ""};
  std::string version;
  Result<std::vector<MatmulProposal>> proposals =
      Ask(environment, MatmulOf(definition, *parts, problem), device, max_proposed, &version);
  if (!proposals.ok()) {
    return ProposedConfigs{std::move(configs), absl::StrCat("all configs are tried: ", proposals.status().message())};
  }
  std::vector<Config> tried = NearestTo(*proposals, *parts, configs, static_cast<std::size_t>(max_proposed));
  if (baseline && std::find(tried.begin(), tried.end(), *baseline) == tried.end()) tried.push_back(*baseline);
  std::string note = absl::StrCat("only ", tried.size(), " of ", configs.size(),
                                  " configs are tried: those nearest to the proposals of nvMatmulHeuristics ", version,
                                  ", and the baseline (SearchOptions::max_proposed)");
  return ProposedConfigs{std::move(tried), std::move(note)};
}

}  // namespace v0
}  // namespace tuneonce
