// out[t] = table[rows[t]]: a block per row, VECTOR half-precision numbers per load. A half is its bits.
struct alignas(2 * VECTOR) Piece {
  unsigned short values[VECTOR];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    gather_rows(const Piece* table, const int* rows, Piece* out, int w) {
  const int pieces = w / VECTOR;
  const Piece* from = table + static_cast<long long>(rows[blockIdx.x]) * pieces;
  Piece* to = out + static_cast<long long>(blockIdx.x) * pieces;
  for (int i = threadIdx.x; i < pieces; i += THREADS) to[i] = from[i];
}
