#include "inspect/tile_ir_finding.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kFirstDriver = 13000;  // That launches Tile IR: CUDA 13.0.
/// What tileiras 13.5 compiles for (its --help).
constexpr int kCapabilities[] = {80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121};
/// Source: docs/performance.md, "Tile IR compared with the other back ends".
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

}  // namespace v0
}  // namespace tuneonce
