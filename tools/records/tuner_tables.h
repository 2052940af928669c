#ifndef TUNEONCE_TOOLS_RECORDS_TUNER_TABLES_H_
#define TUNEONCE_TOOLS_RECORDS_TUNER_TABLES_H_

#include <string>
#include <vector>

#include "records/selections_file.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The tuners whose files ReadTunerTable reads: "vllm", "sglang", "triton-cache", "tilegym", "flashinfer".
const std::vector<std::string>& TunerNames();

/// Reads what another tuner selected, by the public format of its files. Times are not read: they were measured for
/// another kernel. Formats:
/// - vllm, sglang: a table by the number of rows M, whose file's name has the other dims and the device.
/// - triton-cache: NAME.autotune.json of Triton's cache, the fastest config of one key.
/// - tilegym: the statistics of its autotuner's cache (get_cache_stats) as JSON.
/// - flashinfer: what `flashinfer.autotune(cache=...)` writes. A tactic is one number `tactic`, or `tactic0`,
/// `tactic1`. The numbers of a key without names are the extents `key0`, `key1` and so on, by their positions: each
/// entry counts, except for quoted words and names of dtypes in the text of a tuple. `operation` selects one of several
/// operations of a file; empty: the only one. Errors: InvalidArgument, naming file, line and field.
Result<SelectionsFile> ReadTunerTable(const std::string& tuner, const std::string& path, const std::string& operation);
/// Reads the content of such a file, as ReadTunerTable does. `path` is its name.
Result<SelectionsFile> ParseTunerTable(const std::string& tuner, const std::string& text, const std::string& path,
                                       const std::string& operation);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_RECORDS_TUNER_TABLES_H_
