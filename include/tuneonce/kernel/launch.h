#ifndef TUNEONCE_KERNEL_LAUNCH_H_
#define TUNEONCE_KERNEL_LAUNCH_H_

#include <cuda.h>

#include "tuneonce/cuda/driver_api.h"
#include "tuneonce/kernel/geometry.h"

namespace tuneonce {

/// The one place that fills a CUlaunchConfig: trials are launched exactly as production is.
/// REQUIRES: geometry.IsLaunchable().
inline CUresult LaunchKernel(const DriverApi::LaunchPath& driver, CUfunction function, const Geometry& geometry,
                             CUstream stream, void** parameters) {
  CUlaunchAttribute attributes[2];
  unsigned num_attributes = 0;
  if (geometry.cluster.x != 1 || geometry.cluster.y != 1 || geometry.cluster.z != 1) {
    CUlaunchAttribute& cluster = attributes[num_attributes++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(geometry.cluster.x);
    cluster.value.clusterDim.y = static_cast<unsigned>(geometry.cluster.y);
    cluster.value.clusterDim.z = static_cast<unsigned>(geometry.cluster.z);
  }
  if (geometry.programmatic_launch) {
    CUlaunchAttribute& programmatic = attributes[num_attributes++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config;
  config.gridDimX = static_cast<unsigned>(geometry.grid.x);
  config.gridDimY = static_cast<unsigned>(geometry.grid.y);
  config.gridDimZ = static_cast<unsigned>(geometry.grid.z);
  config.blockDimX = static_cast<unsigned>(geometry.block.x);
  config.blockDimY = static_cast<unsigned>(geometry.block.y);
  config.blockDimZ = static_cast<unsigned>(geometry.block.z);
  config.sharedMemBytes = static_cast<unsigned>(geometry.shared_memory_bytes);
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = num_attributes;
  return driver.LaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_LAUNCH_H_
