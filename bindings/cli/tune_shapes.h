#ifndef TUNEONCE_BINDINGS_CLI_TUNE_SHAPES_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_SHAPES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tune_job.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {

/// A line of a file of shapes: a bundle, and at which shape it is to be tuned.
struct WantedShape {
  std::size_t line = 0;  ///< From 1 on.
  std::string bundle;    ///< By which it is found.
  TuneJob job;
  Status wrong;  ///< What is wrong with the line, of which there is no job.
};

struct WantedShapes {
  std::map<std::string, Bundle> bundles;  ///< Those that lines name, by that name.
  std::vector<WantedShape> shapes;        ///< In the file's order; of lines that say the same the first.
  std::size_t num_of_others = 0;          ///< Lines of other kernels than the one that was asked for.
};

/// Reads a file of shapes, as a process records them (TUNEONCE_RECORD_SHAPES) or a person writes them: "M=64 N=4096",
/// or "matmul M=64 N=4096". `bundle`: whose lines are wanted, and those without a kernel; empty: all lines, each of
/// which names its kernel. `shape` and `scalars` are for all lines, which win. Errors: those of reading the file;
/// InvalidArgument, for a line that is none or a file without one; those of Bundle::Load for `bundle`. What is wrong
/// with a shape its line says.
Result<WantedShapes> ReadShapes(const std::string& path, const std::string& bundle, const Device& device,
                                const std::vector<std::string>& shape, const std::vector<std::string>& scalars,
                                const std::shared_ptr<Runtime>& runtime);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_SHAPES_H_
