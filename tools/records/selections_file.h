#ifndef TUNEONCE_TOOLS_RECORDS_SELECTIONS_FILE_H_
#define TUNEONCE_TOOLS_RECORDS_SELECTIONS_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/bundle.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Selected configs that were made elsewhere, as their file states them.
struct SelectionsFile {
  /// For these extents, this config.
  struct Selection {
    std::string where;  ///< "FILE:12: selections[0]", for messages.
    /// By dim, at least 1. The entries of a key without names, `key0` and so on (ReadTunerTable), are any numbers.
    std::map<std::string, std::int64_t> extents;
    std::vector<std::pair<std::string, AxisValue>> config;
  };

  std::string kernel;                        ///< The bundle. Empty if the file does not name it.
  std::string device;                        ///< The device that they are for. Empty if the file does not name it.
  std::string nearest;                       ///< The dim by which the nearest selection serves; empty: none.
  std::string toolchain;                     ///< The compiler of the kernel that they were made with. May be empty.
  std::map<std::string, std::string> about;  ///< Other parts of the file's name: {"dtype", "fp8_w8a8"}.
  std::vector<Selection> selections;         ///< At least one.
  /// Whether another tuner wrote it for a kernel of its own (ReadTunerTable). Names that are common are then
  /// translated, names that mean nothing to this kernel are dropped, and selections that it has no config for, or that
  /// another one of the same key precedes, are skipped.
  bool is_of_tuner = false;
  std::vector<std::string> notes;  ///< What was skipped while the file was read, one line each.
};

class ManifestNode;

/// Reads a file in this library's format, or a table of vLLM's fused MoE kernel, whose name contains a part of it
/// ("E=8,N=14336,device_name=NVIDIA_H200.json"). docs/cli.md describes both. Errors: InvalidArgument, naming file, line
/// and field.
Result<SelectionsFile> ReadSelections(const std::string& path);

/// Reads a value of a config. Errors: InvalidArgument unless it is a number, a boolean or a string.
Result<AxisValue> ReadAxisValue(const ManifestNode& node);

/// Reads a table of configs by the number of rows M: {"16": {"BLOCK_SIZE_M": 64, ...}, ...}. Errors: as ReadSelections.
Result<SelectionsFile> ReadRowTable(const ManifestNode& root, const std::string& path);

/// How the words of a file of selections become a bundle's, each as "NAME=VALUE" but `ignored`.
struct SelectionMap {
  std::vector<std::string> axes;     ///< THEIRS=OURS for axes. An axis that is not listed keeps its name.
  std::vector<std::string> dims;     ///< THEIRS=OURS for dims. A dim that is not listed keeps its name.
  std::vector<std::string> values;   ///< AXIS=VALUE of ours, which the file does not have.
  std::vector<std::string> shape;    ///< DIM=EXTENT of ours, which the file does not have.
  std::vector<std::string> dtypes;   ///< TENSOR=DTYPE, which the bundle leaves open.
  std::vector<std::string> ignored;  ///< Names of the file's that mean nothing to this kernel.
};

/// The file's selections as records of the bundle's kernel on this device: one for each, or where the nearest serves
/// one for each table. Errors: InvalidArgument, naming the selection and what cannot be mapped, is not in the space, or
/// has no value. For a file of another tuner, `notes` gets a line for each name that was dropped and each selection
/// that was skipped, and it is an error if all are.
Result<std::vector<TuningRecord>> RecordsOf(const SelectionsFile& file, const SelectionMap& map, const Bundle& bundle,
                                            const Device& device, std::vector<std::string>* notes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_RECORDS_SELECTIONS_FILE_H_
