// @ts-check
/** Numbers of vectors as a learner reads them: `−0.0425`, `1,204`, `3.1e−7`. */

/**
 * @param {number} value
 * @param {number} [digits] significant digits
 */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "–"
  if (value === 0) return "0"
  const size = Math.abs(value)
  const plain = size >= 1e-4 && size < 1e6
  const text = plain
    ? Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumSignificantDigits: digits })
    : value.toExponential(digits - 1)
  return text.replaceAll("-", "−")
}
