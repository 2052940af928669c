// y (m, n) = a (m, k) b (n, k)^T of 8-bit floats with scales of blocks, as fp8_block_matmul_declared.py says it, summed
// in float: one tile of y per block.
static int smaller(int a, int b) { return a < b ? a : b; }

/// e4m3: a sign, 4 bits of exponent less 7, 3 of mantissa, no infinity, all ones is NaN (OCP 8-bit floating point
/// specification 1.0). As a half, whose exponent is less 15, it is 2^-8 of that.
static float from_e4m3(unsigned char byte) {
  if ((byte & 0x7f) == 0x7f) return __builtin_nanf("");
  const auto bits = static_cast<unsigned short>((byte & 0x80) << 8 | (byte & 0x7f) << 7);
  _Float16 half;
  __builtin_memcpy(&half, &bits, sizeof(half));
  return static_cast<float>(half) * 256;
}

/// The upper half of a float, rounded to nearest even.
static unsigned short to_bfloat16(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  if (value != value) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void fp8_block_matmul(const tuneonce_block& block, const unsigned char* a, const unsigned char* b,
                             const float* scale_a, const float* scale_b, unsigned short* y, int m, int n, int k,
                             int kb) {
  constexpr int kOfScale = 128;
  const int row_end = smaller((static_cast<int>(block.x) + 1) * TILE_M, m);
  const int col_end = smaller((static_cast<int>(block.y) + 1) * TILE_N, n);
  float numbers[256];
  for (int byte = 0; byte < 256; ++byte) numbers[byte] = from_e4m3(static_cast<unsigned char>(byte));
  for (int row = static_cast<int>(block.x) * TILE_M; row < row_end; ++row) {
    const float* of_row = scale_a + static_cast<long>(row) * kb;
    for (int col = static_cast<int>(block.y) * TILE_N; col < col_end; ++col) {
      const float* of_col = scale_b + static_cast<long>(col / kOfScale) * kb;
      const unsigned char *x = a + static_cast<long>(row) * k, *w = b + static_cast<long>(col) * k;
      float sum = 0;
      for (int part = 0; part < kb; ++part) {
        float products = 0;
        const int end = smaller((part + 1) * kOfScale, k);
        for (int p = part * kOfScale; p < end; ++p) products += numbers[x[p]] * numbers[w[p]];
        sum += products * (of_row[part] * of_col[part]);
      }
      y[static_cast<long>(row) * n + col] = to_bfloat16(sum);
    }
  }
}
TUNEONCE_CPU_KERNEL(fp8_block_matmul);
