#ifndef TUNEONCE_TOOLS_AUTHORING_BUNDLE_ACTIONS_H_
#define TUNEONCE_TOOLS_AUTHORING_BUNDLE_ACTIONS_H_

#include <string>
#include <vector>

#include "records/records_store.h"
#include "tuneonce/result.h"

// What an author does with a bundle: each function prints its result, as text or JSON. A bundle is named by its folder
// or its name.

namespace tuneonce {
inline namespace v0 {

struct BundleCheckOptions {
  std::vector<std::string> targets;  ///< That it is to have code for; empty: those that it was compiled for.
  std::vector<std::string> dtypes;   ///< ProblemsOf.
  std::string device;                ///< To run every config on; empty: none.
  std::vector<std::string> shape;    ///< In the form of `tune`.
  std::vector<std::string> scalars;
};

/// Checks a bundle (CheckBundle) and prints the findings. Errors: those of reading the bundle and of the options;
/// InvalidArgument if an error was found.
Status CheckAndPrint(const std::string& folder_or_name, const BundleCheckOptions& options, bool json);

struct BundleClassifyOptions {
  std::string target;              ///< Empty: ClassifiedBundle's selection.
  std::vector<std::string> shape;  ///< NAME=EXTENT, for the arithmetic intensity; else the example's.
};

/// Prints which family the bundle is of, why, and where its space departs (ClassifiedBundle). That no family is found
/// is an answer, and no error. Errors: those of the options, of reading the bundle, and of ClassifiedBundle::Of.
Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json);

struct BundleCompileOptions {
  std::vector<std::string> targets;
  std::string selections;  ///< A store's file; empty: none.
  bool only_decided = false;
  bool no_sources = false;
  std::vector<std::string> dtypes;    ///< ProblemsOf.
  std::vector<std::string> variants;  ///< Those whose code travels (VariantsNamed); empty: all.
  std::string output;                 ///< A folder that is not there, or empty. Not used by a dry run.
  bool is_dry_run = false;            ///< Compile and write nothing: only find out what would be compiled.
  std::chrono::milliseconds timeout{0};  ///< Limits one compile; 0 selects the default of CompileOptions::timeout.
};

/// Compiles a bundle (CompileBundle) and prints what was compiled. Errors: those of reading the bundle and of
/// CompileBundle.
Status CompileAndPrint(const std::string& folder_or_name, const BundleCompileOptions& options, bool json);

/// Prints a bundle's variants, its code for targets, and its selected configs. Errors: those of reading the bundle.
Status ShowAndPrint(const std::string& folder_or_name, bool json);

/// Returns the paths of the files that a bundle consists of. Errors: those of reading the bundle.
Result<std::vector<std::string>> FilesOfBundle(const std::string& folder_or_name);

/// Writes a store as one small read-only file, or with `arguments.bundle` that bundle with the code and the selections
/// of the devices that the store has records of. Errors: InvalidArgument for arguments that exclude each other; those
/// of the store, the bundle and the output.
Status PackRecords(const RecordsArguments& arguments);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_AUTHORING_BUNDLE_ACTIONS_H_
