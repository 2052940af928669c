#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_CLASSIFY_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_CLASSIFY_H_

#include <string>
#include <vector>

#include "tuneonce/status.h"

namespace tuneonce::cli {

struct BundleClassifyOptions {
  std::string target;              ///< Empty: ClassifiedBundle's selection.
  std::vector<std::string> shape;  ///< NAME=EXTENT, for the arithmetic intensity; else the example's.
};

/// Prints which family the bundle is of, why, and where its space departs (ClassifiedBundle). That no family is found
/// is an answer, and no error. Errors: those of the options, of reading the bundle, and of ClassifiedBundle::Of.
Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_CLASSIFY_H_
