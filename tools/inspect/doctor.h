#ifndef TUNEONCE_TOOLS_INSPECT_DOCTOR_H_
#define TUNEONCE_TOOLS_INSPECT_DOCTOR_H_

#include <string>
#include <vector>

#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

/// One thing that the library can use: is it there, and what to do if not.
struct DoctorFinding {
  std::string name;  ///< "CUDA driver", "device", "CPU device", "C++ compiler", "NVRTC", "CUDA headers", "CUPTI",
                     ///< "ptxas", "tileiras", "Tile IR".
  bool found = false;
  std::string detail;  ///< Where and which version; or where we looked.
  std::string advice;  ///< What to do; empty if nothing is needed.
};

struct DoctorReport {
  std::vector<DoctorFinding> findings;

  /// True if some device can tune: a GPU with NVRTC, or the CPU device with a C++ compiler.
  bool can_tune() const;
  /// One line per finding, advice below it.
  std::string ToString() const;
};

class Runtime;

/// Looks at this machine, as a Runtime sees it. Starts the tools it finds to ask their version; loads drivers. Takes
/// about 0.1 s.
DoctorReport RunDoctor(const Runtime& runtime);

/// A doctor's findings as a JSON object {"ok", "findings": [...]}.
std::string DoctorJson(const DoctorReport& report);

/// Whether Tile IR kernels run here: `tileiras` compiles them, on a GPU that it compiles for, whose driver loads them.
/// `devices`: the GPUs, by number. `enable_tile`: Environment::enable_tile. A pure function.
DoctorFinding TileIrFinding(bool has_tileiras, const std::vector<DeviceIdentity>& devices, bool enable_tile);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_DOCTOR_H_
