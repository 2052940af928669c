#include "bundle/bundle_matmul.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tuneonce {
inline namespace v0 {

Result<MatmulParts> ReadMatmul(const ManifestNode& node) {
  MatmulParts parts;
  const std::pair<std::string_view, std::string*> names[] = {{"a", &parts.a},
                                                             {"b", &parts.b},
                                                             {"c", &parts.c},
                                                             {"m", &parts.m},
                                                             {"n", &parts.n},
                                                             {"k", &parts.k},
                                                             {"batch", &parts.batch},
                                                             {"tile_m", &parts.tile_m},
                                                             {"tile_n", &parts.tile_n},
                                                             {"tile_k", &parts.tile_k},
                                                             {"num_stages", &parts.num_stages},
                                                             {"num_warps", &parts.num_warps},
                                                             {"split_k", &parts.split_k},
                                                             {"num_ctas", &parts.num_ctas}};
  std::vector<std::string_view> fields = {"a_is_transposed", "b_is_transposed"};
  for (const auto& [field, value] : names) {
    fields.push_back(field);
    if (const ManifestNode* given = node.Find(field)) {
      TUNEONCE_ASSIGN_OR_RETURN(*value, given->String());
    }
  }
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields(fields));
  for (auto [field, value] :
       {std::pair("a_is_transposed", &parts.a_is_transposed), std::pair("b_is_transposed", &parts.b_is_transposed)}) {
    if (const ManifestNode* given = node.Find(field)) {
      TUNEONCE_ASSIGN_OR_RETURN(*value, given->Bool());
    }
  }
  return parts;
}

}  // namespace v0
}  // namespace tuneonce
