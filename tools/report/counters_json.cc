#include <nlohmann/json.hpp>

#include "runtime/counter_fields.h"
#include "tuneonce/report.h"

namespace tuneonce {
inline namespace v0 {

std::string CountersJson(const Counters& counters) {
  nlohmann::ordered_json json;
  auto add = [&](const char* name, auto value) { json[name] = value; };
  VisitFields(add, counters);
  return json.dump(2);
}

}  // namespace v0
}  // namespace tuneonce
