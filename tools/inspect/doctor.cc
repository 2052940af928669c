#include "inspect/doctor.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/printable.h"
#include "compile/command_toolchain.h"
#include "compile/nvrtc_source.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/toolbox.h"
#include "cuda/cupti_api.h"
#include "cuda/driver_api.h"
#include "cuda/nvml_api.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string VersionString(int version) { return absl::StrFormat("%d.%d", version / 1000, version % 1000 / 10); }

std::string DeviceLine(const DeviceIdentity& d) {
  return absl::StrFormat(
      "%s, %s %d %s, %.1f GiB, L2 %.1f MiB, driver %s, %s", d.name,
      d.is_cpu_device ? "no compute capability," : absl::StrFormat("sm_%d%d,", d.capability_major, d.capability_minor),
      d.num_sms, d.is_cpu_device ? "cores" : "SMs", static_cast<double>(d.memory_bytes) / (1 << 30),
      static_cast<double>(d.l2_bytes) / (1 << 20), VersionString(d.driver_version), d.UuidString());
}

/// The driver itself, then each of its devices.
void AddDriver(const std::string& name, const Result<const DriverApi*>& api, const std::string& advice,
               std::vector<DoctorFinding>* findings) {
  if (!api.ok()) {
    findings->push_back(DoctorFinding{name, false, api.status().message(), advice});
    return;
  }
  Result<int> count = Device::Count(**api);
  findings->push_back(DoctorFinding{name, true, (*api)->library_path(), ""});
  for (int i = 0; count.ok() && i < *count; ++i) {
    Result<Device> device = Device::Get(**api, i);
    Result<DeviceIdentity> identity = device.ok() ? device->Identity() : Result<DeviceIdentity>(device.status());
    std::string label = absl::StrCat((*api)->is_cpu_device() ? "device cpu:" : "device cuda:", i);
    findings->push_back(identity.ok() ? DoctorFinding{label, true, DeviceLine(*identity), ""}
                                      : DoctorFinding{label, false, identity.status().message(), advice});
  }
}

DoctorFinding NvrtcFinding(const NvrtcToolchain& nvrtc) {
  std::string description = nvrtc.Description();
  bool found =
      description.find(" was not found") == std::string::npos && description.find(" is not NVRTC") == std::string::npos;
  return DoctorFinding{
      "NVRTC", found, description,
      found ? "" : "install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc, and set TUNEONCE_NVRTC if it is elsewhere"};
}

DoctorFinding CudaHeadersFinding(const NvrtcToolchain& nvrtc) {
  const CudaHeaders headers = nvrtc.Headers();
  DoctorFinding finding{"CUDA headers", !headers.folders.empty(), headers.ToString(), ""};
  if (!finding.found) {
    finding.advice = "without these headers CUDA C++ that includes any of them does not compile";
  } else if (!headers.has_cccl) {
    finding.advice = "CUB and libcu++ are missing: install the toolkit's CCCL, or PyPI's nvidia-cuda-cccl";
  }
  return finding;
}

DoctorFinding CuptiFinding(const Environment& environment) {
  Result<const CuptiApi*> cupti = LoadCupti(environment);
  if (!cupti.ok()) {
    return DoctorFinding{"CUPTI", false, cupti.status().message(),
                         "without CUPTI candidates are timed by events; it comes with the CUDA toolkit: set "
                         "TUNEONCE_CUPTI if it is elsewhere"};
  }
  std::uint32_t version = 0;
  (*cupti)->GetVersion(&version);
  return DoctorFinding{"CUPTI", true, absl::StrCat((*cupti)->library_path, " API ", version), ""};
}

DoctorFinding NvmlFinding(const Environment& environment) {
  Result<const NvmlApi*> nvml = LoadNvml(environment);
  if (nvml.ok()) return DoctorFinding{"NVML", true, "reports the device's clocks, for records and results", ""};
  return DoctorFinding{"NVML", false, nvml.status().message(),
                       "without NVML records lack the device's clocks; it comes with NVIDIA's driver"};
}

DoctorFinding WorkerFinding(const Environment& environment) {
  Result<std::string> worker = FindWorker(environment);
  if (worker.ok()) return DoctorFinding{"worker", true, *worker, ""};
  return DoctorFinding{"worker", false, worker.status().message(),
                       "without it candidates and NVRTC run in the process that searches (docs/verification.md)"};
}

/// Those that can be asked.
std::vector<DeviceIdentity> GpusOf(const Result<const DriverApi*>& api) {
  std::vector<DeviceIdentity> gpus;
  Result<int> count = api.ok() ? Device::Count(**api) : Result<int>(api.status());
  for (int i = 0; count.ok() && i < *count; ++i) {
    Result<Device> device = Device::Get(**api, i);
    Result<DeviceIdentity> identity = device.ok() ? device->Identity() : Result<DeviceIdentity>(device.status());
    if (identity.ok()) gpus.push_back(*identity);
  }
  return gpus;
}

DoctorFinding CompilerFinding(const std::string& name, const Toolchain& toolchain, const std::string& advice) {
  bool found = toolchain.Version().ok();
  return DoctorFinding{name, found, toolchain.Description(), found ? "" : advice};
}

/// tileiras starts ptxas: the one next to it, else the first in PATH, which may be too old for what it writes.
DoctorFinding TileirasFinding(const std::shared_ptr<const Toolbox>& tools) {
  DoctorFinding finding = CompilerFinding("tileiras", CommandToolchain(kTileiras, tools),
                                          "for Tile IR kernels: pip install nvidia-cuda-tileiras, or set "
                                          "TUNEONCE_TILEIRAS; without it their PTX variants are used");
  Result<Tool> tileiras = tools->Find("tileiras", tools->environment().tileiras);
  if (!tileiras.ok()) return finding;
  const std::string folder = tileiras->path.substr(0, tileiras->path.rfind('/') + 1);
  if (IsRegularFile(folder + "ptxas")) return finding;
  const Result<std::string> other = tools->VersionOf({"ptxas"});
  finding.advice = absl::StrCat(
      "ptxas is missing next to tileiras, which then uses the first ptxas in PATH, ",
      other.ok() ? absl::StrCat(*other, ", which fails if it is older than tileiras") : "where none was found",
      ": pip install nvidia-cuda-nvcc of the version of tileiras");
  return finding;
}

constexpr int kFirstDriver = 13000;  // That launches Tile IR: CUDA 13.0.
/// What tileiras 13.5 compiles for (its --help).
constexpr int kCapabilities[] = {80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121};
/// Source: docs/internal/performance_diary.md, "Tile IR compared with the other back ends".
constexpr const char* kGain =
    "with it, of ten bundles on an H200 layer_norm took 0.73 of the time that it took without, rope 0.77, attention "
    "0.88, the others 0.95 to 1.02 (docs/performance.md, 2dbbff9); `tuneonce compare NAME:tile NAME:cuda` says it of a "
    "kernel";

/// Empty if it runs Tile IR.
std::string WhyNot(const DeviceIdentity& device) {
  const int capability = 10 * device.capability_major + device.capability_minor;
  if (std::find(std::begin(kCapabilities), std::end(kCapabilities), capability) == std::end(kCapabilities)) {
    return absl::StrCat("tileiras does not compile for sm_", capability);
  }
  if (device.driver_version >= kFirstDriver) return "";
  return absl::StrCat("its driver is for CUDA ", device.driver_version / 1000, ".", device.driver_version % 1000 / 10,
                      ", older than 13.0");
}

}  // namespace

bool DoctorReport::can_tune() const {
  auto found = [&](const std::string& prefix) {
    return std::any_of(findings.begin(), findings.end(), [&](const DoctorFinding& f) {
      return f.found && f.name.compare(0, prefix.size(), prefix) == 0;
    });
  };
  return (found("device cuda:") && found("NVRTC")) || (found("device cpu:") && found("C++ compiler"));
}

std::string DoctorReport::ToString() const {
  std::string text;
  for (const DoctorFinding& finding : findings) {
    absl::StrAppend(&text, finding.found ? "[ok]      " : "[missing] ", finding.name, ": ", Printable(finding.detail),
                    "\n");
    if (!finding.advice.empty()) absl::StrAppend(&text, "          -> ", Printable(finding.advice), "\n");
  }
  return text;
}

DoctorReport RunDoctor(const Runtime& runtime) {
  const Environment& environment = runtime.environment();
  auto tools = std::make_shared<const Toolbox>(environment);
  DoctorReport report;
  AddDriver("CUDA driver", LoadCudaDriver(environment), "without an NVIDIA driver use the CPU device: --device cpu",
            &report.findings);
  AddDriver("CPU driver", LoadCpuDriver(environment),
            "reinstall tuneonce, or set TUNEONCE_CPU_DRIVER to libtuneonce_cpu_driver.so", &report.findings);
  report.findings.push_back(
      CompilerFinding("C++ compiler", CommandToolchain(kHostCompiler, tools), "install g++ to use the CPU device"));
  report.findings.push_back(NvrtcFinding(NvrtcToolchain(tools)));
  report.findings.push_back(CudaHeadersFinding(NvrtcToolchain(tools)));
  report.findings.push_back(CuptiFinding(environment));
  report.findings.push_back(NvmlFinding(environment));
  report.findings.push_back(WorkerFinding(environment));
  report.findings.push_back(TileirasFinding(tools));
  report.findings.push_back(TileIrFinding(CommandToolchain(kTileiras, tools).Version().ok(),
                                          GpusOf(LoadCudaDriver(environment)), environment.enable_tile));
  report.findings.push_back(CompilerFinding("CUDA Tile C++", TileCppToolchain(tools),
                                            "without it kernels with CUDA Tile C++ use their next variant"));
  report.findings.push_back(CompilerFinding("ptxas", CommandToolchain(kPtxas, tools),
                                            "for PTX kernels: install the CUDA toolkit, or set TUNEONCE_PTXAS"));
  return report;
}

DoctorFinding TileIrFinding(bool has_tileiras, const std::vector<DeviceIdentity>& devices, bool enable_tile) {
  std::vector<std::string> active, details;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::string why_not = WhyNot(devices[i]);
    if (why_not.empty()) active.push_back(absl::StrCat("cuda:", i));
    if (!why_not.empty()) details.push_back(absl::StrCat("not on cuda:", i, ": ", why_not));
  }
  DoctorFinding finding{"Tile IR", has_tileiras && enable_tile && !active.empty(), "", ""};
  if (devices.empty()) details.push_back("there is no GPU");
  if (!has_tileiras) details.push_back("tileiras was not found");
  if (!enable_tile) details.push_back("ENABLE_TILE=0, or TUNEONCE_ENABLE_TILE=0, disables it");
  if (finding.found) details.insert(details.begin(), absl::StrCat("active on ", absl::StrJoin(active, ", ")));
  if (!finding.found) details.insert(details.begin(), "not active");
  finding.detail = absl::StrJoin(details, "; ");
  if (!finding.found) finding.advice = kGain;
  return finding;
}

std::string DoctorJson(const DoctorReport& report) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["ok"] = report.can_tune();
  json["findings"] = Json::array();
  for (const DoctorFinding& finding : report.findings) {
    json["findings"].push_back({{"name", finding.name},
                                {"found", finding.found},
                                {"detail", finding.detail},
                                {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace tuneonce
