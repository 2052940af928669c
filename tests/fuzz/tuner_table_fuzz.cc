// The files of other tuners: what is accepted has a selection, and extents of named dims are at least 1. An entry of a
// key without names (`key0`) may be any number: it is an extent only once `--dim` names its dim.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "records/tuner_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const std::string& tuner : tuneonce::TunerNames()) {
    const auto file = tuneonce::ParseTunerTable(tuner, text, "E=8,N=64,device_name=A.json", "");
    if (!file.ok()) continue;
    if (file->selections.empty() || !file->is_of_tuner) std::abort();
    for (const auto& selection : file->selections) {
      for (const auto& [name, extent] : selection.extents) {
        const bool is_of_unnamed_key = name.rfind("key", 0) == 0;
        if (name.empty() || (extent < 1 && !is_of_unnamed_key)) std::abort();
      }
    }
  }
  return 0;
}
