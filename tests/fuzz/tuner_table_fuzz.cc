// The files of other tuners: what is accepted has a selection, and each selection has a config.
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
        if (name.empty() || extent < 1) std::abort();
      }
    }
  }
  return 0;
}
