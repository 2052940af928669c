// c = a b, a block per tile of TILE_M x TILE_N, TILE_K at a time. ORDER: rows or columns of the tile outside.
static int least(int a, int b) { return a < b ? a : b; }

static void named_space(const tuneonce_block& block, const float* a, const float* b, float* c, int m, int n,
                        int depth) {
  const int x = static_cast<int>(block.x), y = static_cast<int>(block.y);
  const int rows = least(TILE_M, m - x * TILE_M), columns = least(TILE_N, n - y * TILE_N);
  for (int outer = 0; outer < (ORDER ? columns : rows); ++outer) {
    for (int inner = 0; inner < (ORDER ? rows : columns); ++inner) {
      const int row = x * TILE_M + (ORDER ? inner : outer), column = y * TILE_N + (ORDER ? outer : inner);
      float sum = 0;
      for (int from = 0; from < depth; from += TILE_K) {
        for (int k = from; k < least(from + TILE_K, depth); ++k) sum += a[row * depth + k] * b[k * n + column];
      }
      c[row * n + column] = sum;
    }
  }
}
TUNEONCE_CPU_KERNEL(named_space);
