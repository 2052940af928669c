#ifndef TUNEONCE_BINDINGS_CLI_RECORDS_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_RECORDS_ARGUMENTS_H_

#include <string>
#include <vector>

#include "selections_file.h"
#include "tuneonce/status.h"

namespace tuneonce::cli {

/// The arguments of `tuneonce records ...`. Each command reads its own.
struct RecordsArguments {
  std::string store;
  std::string kernel;
  std::string file;
  std::string output;
  std::string device;
  std::string older_than_days;
  std::string selections;
  std::string bundle;
  SelectionMap map;
  bool any_device = false;
  std::string key;
  std::vector<std::string> shape;
  bool replace = false;
  bool with_code = false;
  std::vector<std::string> stores;  ///< For diff and merge.
  std::string by = "best";
  bool skip_damaged = false;
  bool json = false;
};

// The commands that have files of their own.
Status ExportRecords(const RecordsArguments& arguments);
Status ImportRecords(const RecordsArguments& arguments);
Status DiffRecords(const RecordsArguments& arguments);
Status MergeRecords(const RecordsArguments& arguments);
Status PackRecords(const RecordsArguments& arguments);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_RECORDS_ARGUMENTS_H_
