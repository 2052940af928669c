#include <cstdio>

#include "tuneonce/mpi_rank_group.h"

int main() {
  if (tuneonce::MakeMpiRank().status().code() != tuneonce::StatusCode::kFailedPrecondition) return 1;
  std::printf("mpi component: ok\n");
}
