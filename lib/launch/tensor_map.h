#ifndef TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_
#define TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_

#include <cuda.h>

#include "cuda/driver_api.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes `tensor` as a CUtensorMap, by the driver. `map`: resolved, with an entry per dimension of the tensor.
/// Errors: InvalidArgument, saying what of the tensor or the config no tensor map can have; Unimplemented from a driver without
/// such (before 12.0).
TUNEONCE_API Status EncodeTensorMap(const DriverApi& api, const TensorView& tensor, const TensorMap& map,
                                    const Config& config, CUtensorMap* encoded);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_
