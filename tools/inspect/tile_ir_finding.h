#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_FINDING_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_FINDING_H_

#include <vector>

#include "inspect/doctor.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

/// Whether Tile IR kernels run here: `tileiras` compiles them, on a GPU that it compiles for, whose driver loads them.
/// `devices`: the GPUs, by number. `enable_tile`: Environment::enable_tile. A pure function.
DoctorFinding TileIrFinding(bool has_tileiras, const std::vector<DeviceIdentity>& devices, bool enable_tile);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_FINDING_H_
