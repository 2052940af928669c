#ifndef TUNEONCE_LIB_LAUNCH_LAUNCH_H_
#define TUNEONCE_LIB_LAUNCH_LAUNCH_H_

#include <cuda.h>

#include "cuda/driver_api.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
inline namespace v0 {

/// A CUlaunchConfig for a geometry, with the attributes that it points to. All launches use it, so that trials are
/// launched exactly like production. Not copyable; immutable after construction. Thread rule: any thread.
class LaunchSetup {
 public:
  /// REQUIRES: geometry.IsLaunchable().
  explicit LaunchSetup(const Geometry& geometry) {
    unsigned num_attributes = 0;
    if (geometry.cluster.x != 1 || geometry.cluster.y != 1 || geometry.cluster.z != 1) {
      CUlaunchAttribute& cluster = attributes_[num_attributes++];
      cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      cluster.value.clusterDim.x = static_cast<unsigned>(geometry.cluster.x);
      cluster.value.clusterDim.y = static_cast<unsigned>(geometry.cluster.y);
      cluster.value.clusterDim.z = static_cast<unsigned>(geometry.cluster.z);
    }
    if (geometry.programmatic_launch) {
      CUlaunchAttribute& programmatic = attributes_[num_attributes++];
      programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      programmatic.value.programmaticStreamSerializationAllowed = 1;
    }
    config_.gridDimX = static_cast<unsigned>(geometry.grid.x);
    config_.gridDimY = static_cast<unsigned>(geometry.grid.y);
    config_.gridDimZ = static_cast<unsigned>(geometry.grid.z);
    config_.blockDimX = static_cast<unsigned>(geometry.block.x);
    config_.blockDimY = static_cast<unsigned>(geometry.block.y);
    config_.blockDimZ = static_cast<unsigned>(geometry.block.z);
    config_.sharedMemBytes = static_cast<unsigned>(geometry.shared_memory_bytes);
    config_.hStream = nullptr;
    config_.attrs = attributes_;
    config_.numAttrs = num_attributes;
  }
  LaunchSetup(const LaunchSetup&) = delete;
  LaunchSetup& operator=(const LaunchSetup&) = delete;

  CUresult Launch(const DriverApi::LaunchPath& driver, CUfunction function, CUstream stream, void** parameters) const {
    CUlaunchConfig config = config_;
    config.hStream = stream;
    return driver.LaunchKernelEx(&config, function, parameters, nullptr);
  }
  /// Launches with another grid.
  CUresult Launch(const DriverApi::LaunchPath& driver, CUfunction function, const std::uint32_t (&grid)[3],
                  CUstream stream, void** parameters) const {
    CUlaunchConfig config = config_;
    config.gridDimX = grid[0];
    config.gridDimY = grid[1];
    config.gridDimZ = grid[2];
    config.hStream = stream;
    return driver.LaunchKernelEx(&config, function, parameters, nullptr);
  }

 private:
  CUlaunchConfig config_;
  CUlaunchAttribute attributes_[2];  // The first numAttrs are set.
};

/// REQUIRES: geometry.IsLaunchable().
inline CUresult LaunchKernel(const DriverApi::LaunchPath& driver, CUfunction function, const Geometry& geometry,
                             CUstream stream, void** parameters) {
  return LaunchSetup(geometry).Launch(driver, function, stream, parameters);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_LAUNCH_H_
