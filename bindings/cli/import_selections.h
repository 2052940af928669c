#ifndef TUNEONCE_BINDINGS_CLI_IMPORT_SELECTIONS_H_
#define TUNEONCE_BINDINGS_CLI_IMPORT_SELECTIONS_H_

#include <string>
#include <vector>

#include "selections_file.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {

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
/// has no value.
Result<std::vector<TuningRecord>> RecordsOf(const SelectionsFile& file, const SelectionMap& map, const Bundle& bundle,
                                            const Device& device);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_IMPORT_SELECTIONS_H_
