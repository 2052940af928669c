#ifndef TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_
#define TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_

#include <cuda.h>

#include "cuda/driver_api.h"
#include "tuneonce/arguments.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes `tensor` as a CUtensorMap by the driver. `map` is resolved and has an entry for each dimension of the
/// tensor. Errors: InvalidArgument, naming the property of the tensor or config that a tensor map cannot have;
/// Unimplemented for a driver without tensor maps (before 12.0).
Status EncodeTensorMap(const DriverApi& api, const TensorView& tensor, const TensorMap& map, const Config& config,
                       CUtensorMap* encoded);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_TENSOR_MAP_H_
