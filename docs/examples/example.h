#ifndef TUNEONCE_DOCS_EXAMPLES_EXAMPLE_H_
#define TUNEONCE_DOCS_EXAMPLES_EXAMPLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce::examples {

/// Values of an example's dims, by name, in the definition's order.
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

/// A kernel that can be tuned from the command line: its definition for the CPU device and for GPUs, and what its
/// output must be. All tensors are float32.
struct Example {
  std::string name;
  std::string summary;
  Shape default_shape;
  KernelDefinition (*define)();
  /// `tensors`: one per tensor parameter, as before the launch; changes those that the kernel writes.
  void (*reference)(const Dims& dims, std::vector<std::vector<float>>& tensors);
  /// Values of the scalar parameters (float32), in order.
  std::vector<float> scalars;
  /// |output - reference| must be at most this times (1 + |reference|).
  double tolerance;
  /// For an in-place kernel: a fixed launch of the baseline comes before the tuned one, on the same buffer.
  bool fixed_launch_first = false;
};

/// matmul, rms_norm, rope, vector_add.
const std::vector<Example>& AllExamples();
/// Errors: InvalidArgument, listing the examples there are.
Result<const Example*> FindExample(const std::string& name);

/// "K=V" settings over the example's default shape. Errors: InvalidArgument for an unknown dim, or a value that is no
/// positive integer.
Result<Shape> ParseShape(const Example& example, const std::vector<std::string>& settings);

struct ExampleReport {
  TuningResult result;
  std::string device_name;
  std::string shape;       ///< "M=64, N=32"
  double max_error = 0;    ///< Largest |output - reference| / (1 + |reference|) of the tuned launch.
  double hit_host_us = 0;  ///< Host time of a launch once tuned.
};

/// The main job: random data on the device, Create, a first Launch that tunes, a check of the output against the
/// reference, and further launches as hits. Errors: what any step fails with; Internal if the output is wrong.
Result<ExampleReport> RunExample(const Example& example, const Device& device, const Shape& shape,
                                 AutotunePolicy policy = {});

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_EXAMPLE_H_
