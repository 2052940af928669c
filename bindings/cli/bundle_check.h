#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_

#include <string>
#include <vector>

#include "bundle_folder.h"
#include "tuneonce/status.h"

namespace tuneonce::cli {

struct BundleCheckOptions {
  std::vector<std::string> targets;  ///< That it is to have code for; empty: those that it was compiled for.
  std::vector<std::string> dtypes;   ///< ProblemsOf.
  std::string device;                ///< To run every config on; empty: none.
  std::vector<std::string> shape;    ///< In the form of `tune`.
  std::vector<std::string> scalars;
};

/// Something that is wrong with a bundle, or looks as if it were.
struct BundleFinding {
  bool is_error = false;  ///< It will fail. Otherwise it may be intended.
  std::string text;
};

/// Finds mistakes that reading a bundle does not: an artifact without the declared kernel (Bundle::CheckSources); code
/// that is damaged, lacks a kernel or takes other parameters (by the cubins' own tables); targets without code; grids
/// that omit elements; axes without effect; unused files; and errors when every config runs. Errors: those of the
/// options.
Result<std::vector<BundleFinding>> CheckBundle(const BundleFolder& folder, const BundleCheckOptions& options);

struct BundleClassifyOptions {
  std::string target;              ///< Empty: ClassifiedBundle's selection.
  std::vector<std::string> shape;  ///< NAME=EXTENT, for the arithmetic intensity; else the example's.
};

/// Prints which family the bundle is of, why, and where its space departs (ClassifiedBundle). That no family is found
/// is an answer, and no error. Errors: those of the options, of reading the bundle, and of ClassifiedBundle::Of.
Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_
